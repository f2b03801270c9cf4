// Sorts every column once.
#include "ranks.hpp"

#include <algorithm>

#include "arrays.hpp"
#include "node.hpp"
#include "parallel.hpp"

namespace cutwise {

Ranks rank_columns(const Matrix &matrix, int n_jobs) {
  Ranks ranks;
  const int64_t n = matrix.n_rows();
  const int32_t d = static_cast<int32_t>(matrix.n_cols());
  ranks.n_rows = n;
  ranks.columns.resize(d);
  ranks.unit.resize(d);
  std::vector<int32_t> rows(n);
  for (int64_t i = 0; i < n; ++i) rows[i] = static_cast<int32_t>(i);
  parallel_for(n_jobs, d, [&](int64_t f) {
    RankedColumn &column = ranks.columns[f];
    std::vector<uint16_t> &unit = ranks.unit[f];
    unit.resize(n);
    std::vector<PlacedRow> placed;
    place_all(matrix, rows.data(), n, static_cast<int32_t>(f), placed);
    int64_t n_values = 0;
    for (int64_t i = 0; i < n; ++i) n_values += i == 0 || placed[i].value != placed[i - 1].value;
    column.exact = n_values <= kMaxUnits;
    int64_t value = -1;
    int32_t last = -1;
    for (int64_t i = 0; i < n; ++i) {
      const double here = placed[i].value + 0.0;  // adding 0.0 turns -0.0 into 0.0
      value += i == 0 || here != placed[i - 1].value;
      const int32_t u = static_cast<int32_t>(column.exact ? value : value * kMaxUnits / n_values);
      if (u != last) {
        column.low.push_back(here);
        column.high.push_back(here);
        last = u;
      }
      column.high.back() = here;
      unit[placed[i].row] = static_cast<uint16_t>(u);
    }
  });
  return ranks;
}

std::vector<int32_t> group_by_mass(const std::vector<int64_t> &mass, int32_t n_groups) {
  const int32_t n = static_cast<int32_t>(mass.size());
  int64_t total = 0;
  for (int64_t m : mass) total += m;
  std::vector<int32_t> first{0};
  auto close_before = [&](int32_t i) {
    if (first.back() != i) first.push_back(i);
  };
  // Masses add up to less than 2**62: no product is formed. A share is rounded up, so that no more groups come out.
  const int64_t share = total / n_groups + (total % n_groups != 0);
  int64_t filled = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (mass[i] >= share) {
      close_before(i);
      filled = 0;
    }
    filled += mass[i];
    if (filled >= share) {
      close_before(i + 1);
      filled = 0;
    }
  }
  close_before(n);
  return first;
}

}  // namespace cutwise

using namespace cutwise;

void bind_ranks(nb::module_ &m) {
  nb::class_<Ranks>(m, "Ranks", "Every column's values by their order.")
      .def_ro("n_rows", &Ranks::n_rows)
      .def_prop_ro("n_cols", &Ranks::n_cols);
  m.def(
      "rank_columns",
      [](const Matrix &matrix, int n_jobs) {
        nb::gil_scoped_release release;
        return rank_columns(matrix, n_jobs);
      },
      nb::arg("matrix"), nb::arg("n_jobs"));
}
