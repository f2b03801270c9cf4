// The extension module: one bind_* function per stage, each in the stage's own file.
#include "base/matrix.hpp"

namespace nb = nanobind;

// Every stage has a bind_* function. Classes must be bound before the functions that take them.
// clang-format off
#define CUTWISE_STAGES(X) \
  X(gather) X(encode) X(group_rows) X(distances) X(sums) X(means) X(medians) X(lloyd) X(seeds) \
  X(apply) X(histogram) X(mistakes) X(surrogate) X(levels) X(sets) X(modes) X(cliques) X(ties) X(induced) \
  X(two_nearest) X(partition) X(tallies) X(ranks) X(intervals) X(feature_cuts) \
  X(optimal_means) X(optimal_medians) X(sample) X(tree_search) \
  X(polish)
// clang-format on

#define DECLARE(stage) void bind_##stage(nb::module_ &m);
CUTWISE_STAGES(DECLARE)

NB_MODULE(_core, m) {
  using namespace cutwise;
  nb::set_leak_warnings(false);  // a daemon thread that still runs keeps its objects, which is no leak
  nb::class_<Matrix>(m, "Matrix",
                     R"(The caller's table, read in place and kept alive: dense with any strides, or CSR.

derived: columns that are computed from float64 values (n_rows, d) as they are read. Column j is 1 where x, the value in column
source[j], is level[j], and 0 elsewhere. If level[j] is -1, it is x, and missing[j] where x is nan.)")
      .def_static("dense", &Matrix::dense, "values"_a)
      .def_static("csr", &Matrix::csr, "indptr"_a, "indices"_a, "values"_a, "n_cols"_a)
      .def_static("derived", &Matrix::derived, "values"_a, "source"_a, "level"_a, "missing"_a)
      .def_prop_ro("n_rows", &Matrix::n_rows)
      .def_prop_ro("n_cols", &Matrix::n_cols)
      .def_prop_ro("is_sparse", &Matrix::is_sparse);
#define BIND(stage) bind_##stage(m);
  CUTWISE_STAGES(BIND)
}
