// The extension module: one bind_* function per stage, each in the stage's own file.
#include "base/matrix.hpp"

namespace nb = nanobind;

// Each stage has a bind_* function; what others take comes before them.
// clang-format off
#define CUTWISE_STAGES(X) \
  X(encode) X(group_rows) X(distances) X(sums) X(means) X(medians) X(lloyd) X(seeds) \
  X(apply) X(pack) X(histogram) X(mistakes) X(surrogate) X(levels) X(sets) X(modes) X(cliques) X(ties) X(induced) \
  X(two_nearest) X(partition) X(tallies) X(ranks) X(intervals) X(feature_table) X(feature_cuts) \
  X(optimal_means) X(optimal_medians) X(row_hashes) X(grid_rows) X(directions) X(sample_bins) X(tree_search) \
  X(polish)
// clang-format on

#define DECLARE(stage) void bind_##stage(nb::module_ &m);
CUTWISE_STAGES(DECLARE)

NB_MODULE(_core, m) {
  using namespace cutwise;
  nb::class_<Matrix>(
      m, "Matrix",
      R"(A caller's table, read in place and kept alive: dense with any strides, or CSR (cutwise.core.as_matrix makes one).

derived: columns made, as they are read, of float64 values (n_rows, d): column j is 1 / scale[j] where column source[j] is
level[j], else 0; where level[j] is -1 it is (x - shift[j]) / scale[j] of that column, missing[j] where x is NaN; and where
level[j] is -2, 1 where x is NaN, else 0. sparse: read as CSR rows are; a source's columns are side by side then, of a category
all its levels in order, of numbers these first.)")
      .def_static("dense", &Matrix::dense, "values"_a)
      .def_static("csr", &Matrix::csr, "indptr"_a, "indices"_a, "values"_a, "n_cols"_a)
      .def_static("derived", &Matrix::derived, "values"_a, "source"_a, "level"_a, "shift"_a, "scale"_a, "missing"_a,
                  "sparse"_a = false)
      .def_prop_ro("n_rows", &Matrix::n_rows)
      .def_prop_ro("n_cols", &Matrix::n_cols)
      .def_prop_ro("is_sparse", &Matrix::is_sparse);
#define BIND(stage) bind_##stage(m);
  CUTWISE_STAGES(BIND)
}
