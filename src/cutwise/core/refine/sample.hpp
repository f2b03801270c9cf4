// The rows that a search reads.
#pragma once

#include <cstdint>
#include <vector>

#include "refine/leaf_cost.hpp"

namespace cutwise {

struct Sample {
  int64_t n_rows = 0;
  int32_t n_cols = 0;
  const uint8_t *codes = nullptr;  // (n_rows, n_cols), bins in increasing order of value
  const double *rows = nullptr;    // (n_rows, width), whole numbers whose sums stay below 2^53
  std::vector<int32_t> bin_begin;  // n_cols + 1: bins of column c stand at bin_begin[c] ... in every table
  LeafCost cost;
  double threshold = 0.0;   // changes by less do not count
  double size_price = 0.0;  // what one condition in the rule of weight 1 costs; a level of depth costs a quarter

  int32_t width() const { return cost.width; }
  int32_t n_bins() const { return bin_begin.back(); }
  int32_t n_bins(int32_t column) const { return bin_begin[column + 1] - bin_begin[column]; }
  uint8_t code(int64_t row, int32_t column) const { return codes[row * n_cols + column]; }
  const double *row(int64_t at) const { return rows + at * width(); }
};

// sums += sign * row, for rows and sums of `width` numbers.
CUTWISE_INLINE void add_row(double *sums, const double *row, int32_t width) {
  Lanes a, b;
  for (int32_t j = 0; j < width; j += kLanes) {
    load(a, sums + j);
    load(b, row + j);
    add(a, b);
    store(sums + j, a);
  }
}
CUTWISE_INLINE void subtract_row(double *sums, const double *row, int32_t width) {
  Lanes a, b;
  for (int32_t j = 0; j < width; j += kLanes) {
    load(a, sums + j);
    load(b, row + j);
    subtract(a, b);
    store(sums + j, a);
  }
}

}  // namespace cutwise
