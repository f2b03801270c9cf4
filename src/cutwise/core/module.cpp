// The extension module: one bind_* function per stage, each in the stage's own file.
#include <nanobind/nanobind.h>

#include "base/matrix.hpp"

namespace nb = nanobind;

void bind_encode(nb::module_ &m);
void bind_group_rows(nb::module_ &m);
void bind_distances(nb::module_ &m);
void bind_sums(nb::module_ &m);
void bind_means(nb::module_ &m);
void bind_medians(nb::module_ &m);
void bind_distinct_rows(nb::module_ &m);
void bind_lloyd(nb::module_ &m);
void bind_seeds(nb::module_ &m);
void bind_apply(nb::module_ &m);
void bind_pack(nb::module_ &m);
void bind_histogram(nb::module_ &m);
void bind_mistakes(nb::module_ &m);
void bind_surrogate(nb::module_ &m);
void bind_sets(nb::module_ &m);
void bind_modes(nb::module_ &m);
void bind_cliques(nb::module_ &m);
void bind_ties(nb::module_ &m);
void bind_induced(nb::module_ &m);
void bind_two_nearest(nb::module_ &m);
void bind_partition(nb::module_ &m);
void bind_tallies(nb::module_ &m);
void bind_ranks(nb::module_ &m);
void bind_intervals(nb::module_ &m);
void bind_feature_table(nb::module_ &m);
void bind_feature_cuts(nb::module_ &m);
void bind_optimal_means(nb::module_ &m);
void bind_optimal_medians(nb::module_ &m);
void bind_row_hashes(nb::module_ &m);
void bind_grid_rows(nb::module_ &m);
void bind_directions(nb::module_ &m);
void bind_sample_bins(nb::module_ &m);
void bind_tree_search(nb::module_ &m);
void bind_polish(nb::module_ &m);

NB_MODULE(_core, m) {
  using cutwise::Matrix;
  nb::class_<Matrix>(
      m, "Matrix",
      "A caller's table, read in place and kept alive: dense with any strides, or CSR (cutwise.core.as_matrix makes one).")
      .def_static("dense", &Matrix::dense, nb::arg("values"))
      .def_static("csr", &Matrix::csr, nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("n_cols"))
      .def_prop_ro("n_rows", &Matrix::n_rows)
      .def_prop_ro("n_cols", &Matrix::n_cols)
      .def_prop_ro("is_sparse", &Matrix::is_sparse);
  bind_encode(m);
  bind_group_rows(m);
  bind_distances(m);
  bind_sums(m);
  bind_means(m);
  bind_medians(m);
  bind_distinct_rows(m);
  bind_lloyd(m);
  bind_seeds(m);
  bind_apply(m);
  bind_pack(m);
  bind_histogram(m);
  bind_mistakes(m);
  bind_surrogate(m);
  bind_sets(m);
  bind_modes(m);
  bind_cliques(m);
  bind_ties(m);
  bind_induced(m);
  bind_two_nearest(m);
  bind_partition(m);
  bind_tallies(m);
  bind_ranks(m);
  bind_intervals(m);
  bind_feature_table(m);
  bind_feature_cuts(m);
  bind_optimal_means(m);
  bind_optimal_medians(m);
  bind_row_hashes(m);
  bind_grid_rows(m);
  bind_directions(m);
  bind_sample_bins(m);
  bind_tree_search(m);
  bind_polish(m);
}
