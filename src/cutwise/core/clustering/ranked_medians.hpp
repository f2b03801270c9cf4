// Medians kept up to date while rows change sides, over columns that were sorted once.
//
// A median is a place in its column's order. Rows that come or go on one side of it move it by as many rows of its cluster, and
// a walk from where it was finds the new place: late iterations, in which few rows change sides, cost next to nothing, where
// selection (medians.hpp) looks at every row again. The values found are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "base/arrays.hpp"
#include "base/rows.hpp"

namespace cutwise {

// The order of the rows by each column; equal values in any order.
struct Ranks {
  In2<int32_t> order;  // n_columns x n: rows, by increasing value
  In2<int32_t> rank;   // n x n_columns: where a row stands in each column's order
};

// A row that changed sides.
struct Moved {
  int64_t row;
  int32_t from, to;
};

class RankedMedians {
 public:
  // Rows, weights (null: 1 each) and ranks outlive this object.
  RankedMedians(const RowReader &x, const int64_t *weights, const Ranks &ranks, int64_t k);

  // All rows anew; `weight` is that of each cluster.
  void start(const std::vector<int32_t> &labels, const std::vector<int64_t> &weight, double *medians, int n_jobs);
  // After some rows changed sides: new medians of the clusters marked in `touched`. Those without weight keep what is there.
  void update(const std::vector<std::vector<Moved>> &moved, const std::vector<int64_t> &weight,
              const std::vector<char> &touched, double *medians, int n_jobs);

 private:
  // The median of a cluster in a column.
  struct Place {
    int64_t at = 0;     // in the column's order
    int64_t below = 0;  // weight of the cluster's rows before it
  };

  int64_t weight_of(int64_t row) const { return weights_ == nullptr ? 1 : weights_[row]; }
  void write(int64_t cluster, int64_t column, double *medians) const;

  const RowReader &x_;
  const int64_t *weights_;
  const int32_t *order_, *rank_;
  int64_t n_, d_, k_;
  std::vector<int32_t> label_;  // of the rows in each column's order, column after column
  std::vector<Place> places_;   // k x d, column after column
};

}  // namespace cutwise
