// What a search for the optimal cut reads, checked at the boundary with Python, and what it gives.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"
#include "optimal_cut/ordered.hpp"

namespace cutwise {

constexpr int64_t kMostWeight = int64_t{1} << 45;  // of all rows together: what exact sums take

// n rows where costs are measured, and the same rows in the columns that may be cut.
struct CutTable {
  Tile columns, rows;
  int64_t n, n_columns, d;  // d values of a row count for its costs
  const int64_t *weights;   // null: each row counts once
  int64_t total_weight;

  bool is_one() const { return columns.rows == rows.rows && columns.stride == rows.stride && n_columns == d; }
};

// The cut that a search decided on, and the two values that it lies between; no feature where all rows are equal.
struct BestCut {
  int64_t feature = -1;
  double left_max = 0.0, right_min = 0.0;

  static BestCut of(const CutTable &table, int64_t feature, const OrderedColumn &ordered, int64_t cut) {
    auto value = [&](int64_t at) { return table.columns.rows[ordered.rows[at] * table.columns.stride + feature]; };
    return {feature, value(ordered.cuts[cut] - 1), value(ordered.cuts[cut])};
  }
};

// Calls search(table) without the GIL.
template <class Search>
auto search_cut(const Matrix &columns, const Matrix &rows, const Weights &weights, Search &&search) {
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
  nb::gil_scoped_release release;
  const bool is_one = &columns == &rows;
  const std::unique_ptr<RowReader> row_reader = RowReader::of(rows), column_reader = RowReader::of(columns);
  std::vector<double> row_scratch, column_scratch;
  const Tile tile = row_reader->tile(0, n, row_scratch);
  const Tile cut_tile = is_one ? tile : column_reader->tile(0, n, column_scratch);
  return search(CutTable{cut_tile, tile, n, columns.n_cols(), rows.n_cols(), weight, total_weight});
}

BestCut best_medians_cut(const Matrix &columns, const Matrix &rows, const Weights &weights, int n_jobs);

}  // namespace cutwise
