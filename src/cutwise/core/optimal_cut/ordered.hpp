// What both searches for the optimal cut share: the checked input, columns sorted by value, and the result.
#pragma once

#include "base/arrays.hpp"
#include "base/exact_sums.hpp"
#include "base/interrupt.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"

namespace cutwise {

constexpr int64_t kMostWeight = int64_t{1} << 45;  // the limit of exact sums on the weight of all rows

// n rows in the space where costs are measured, and the same rows in the columns that may be cut.
struct CutTable {
  Tile columns, rows;  // (n, n_columns) that may be cut; (n, d) for costs
  int64_t n, n_columns, d;
  const int64_t *weights;  // null: each row counts once
  int64_t total_weight;

  bool is_one() const { return columns.rows == rows.rows && columns.stride == rows.stride && n_columns == d; }
  const double *row(int64_t i) const { return rows.rows + i * rows.stride; }
  int64_t weight(int64_t i) const { return weights ? weights[i] : 1; }

  // For every column the power of two that scales half the range of the widest column (whole ranges can overflow) to at most
  // 2^bits; 0 for constant columns, which do not matter for the costs.
  std::vector<double> scales(int bits) const {
    std::vector<double> low(rows.rows, rows.rows + d), high = low, scale(d, 0.0);
    for (int64_t i = 1; i < n; ++i)
      for (int64_t f = 0; f < d; ++f) {
        low[f] = std::min(low[f], row(i)[f]);
        high[f] = std::max(high[f], row(i)[f]);
      }
    double spread = 0.0;
    for (int64_t f = 0; f < d; ++f) spread = std::max(spread, high[f] / 2 - low[f] / 2);
    for (int64_t f = 0; f < d; ++f)
      if (low[f] < high[f]) scale[f] = term_scale(spread, bits);
    return scale;
  }
};

// The rows sorted by one column, and the cuts between different values.
struct OrderedColumn {
  std::vector<int32_t> rows;  // by value, then by number
  std::vector<int32_t> cuts;  // cut g has the first cuts[g] of the rows on its left side

  OrderedColumn() = default;
  OrderedColumn(const Tile &tile, int64_t n, int64_t column) : rows(n) {
    std::vector<std::pair<double, int32_t>> pairs(n);
    for (int64_t i = 0; i < n; ++i) pairs[i] = {tile.rows[i * tile.stride + column], static_cast<int32_t>(i)};
    std::sort(pairs.begin(), pairs.end());
    for (int64_t i = 0; i < n; ++i) {
      rows[i] = pairs[i].second;
      if (i > 0 && pairs[i - 1].first != pairs[i].first) cuts.push_back(static_cast<int32_t>(i));
    }
  }
};

// The cuts that may be the best, by feature, then by value, each with the two values that it lies between.
struct FoundCuts {
  std::vector<int64_t> feature;
  std::vector<double> left_max, right_min;

  void add(const CutTable &table, int64_t f, const OrderedColumn &ordered, int64_t cut) {
    auto value = [&](int64_t at) { return table.columns.rows[ordered.rows[at] * table.columns.stride + f]; };
    feature.push_back(f);
    left_max.push_back(value(ordered.cuts[cut] - 1));
    right_min.push_back(value(ordered.cuts[cut]));
  }
};

// Binds search(table, n_jobs, interrupt), which returns FoundCuts, as a function for Python.
template <class Search>
void bind_cut_search(nb::module_ &m, const char *name, const char *doc, Search search) {
  m.def(
      name,
      [search](const Matrix &rows, const Weights &weights, const Matrix *cut_columns, int n_jobs) {
        const Matrix &columns = cut_columns ? *cut_columns : rows;
        const int64_t n = rows.n_rows();
        require(!columns.is_sparse() && !rows.is_sparse(), "the optimal cut takes dense matrices");
        require(n > 0 && n <= std::numeric_limits<int32_t>::max(), "a matrix has 1 to 2^31 - 1 rows");
        require(columns.n_rows() == n, "both matrices have the same rows");
        const int64_t *weight = checked(weights, n);
        int64_t total_weight = weight ? 0 : n;
        for (int64_t i = 0; weight && i < n; ++i) {
          require(weight[i] > 0, "weights are positive");
          require(weight[i] <= kMostWeight - total_weight, "the weights add up to more than 2^45");
          total_weight += weight[i];
        }
        FoundCuts found;
        without_gil([&] {
          const std::unique_ptr<RowReader> row_reader = RowReader::of(rows), column_reader = RowReader::of(columns);
          std::vector<double> row_scratch, column_scratch;
          const Tile tile = row_reader->tile(0, n, row_scratch);
          const Tile cut_tile = cut_columns ? column_reader->tile(0, n, column_scratch) : tile;
          const CutTable table{cut_tile, tile, n, columns.n_cols(), rows.n_cols(), weight, total_weight};
          Interrupt interrupt;
          interrupt.run([&] { found = search(table, n_jobs, interrupt); });
        });
        return std::make_tuple(to_numpy(std::move(found.feature)), to_numpy(std::move(found.left_max)),
                               to_numpy(std::move(found.right_min)));
      },
      "matrix"_a, "weights"_a.none() = nb::none(), "columns"_a.none() = nb::none(), "n_jobs"_a = 1, doc);
}

}  // namespace cutwise
