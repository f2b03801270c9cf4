// The rows that a search reads, and what the rows of a leaf cost.
#pragma once

#include "base/simd.hpp"

namespace cutwise {

// Cost of the rows of a leaf, from the sums of their payloads. Entry 0 of a payload is the row's weight.

constexpr double kInfinite = std::numeric_limits<double>::infinity();

enum class LeafCostKind {
  squares,  // squared distances to the mean: -|S|^2 / n, up to a constant
  counts,   // rows not of the leaf's most frequent label, and a little of their Gini impurity
  least,    // the least of the sums: the cost of the rows by their best center
};

struct LeafCost {
  LeafCostKind kind = LeafCostKind::squares;
  int32_t width = 0;                                         // numbers a row, a multiple of kLanes; what is not used is zero
  double least = std::numeric_limits<double>::denorm_min();  // weight of a leaf

  // Infinite below that weight: no leaf may be empty.
  CUTWISE_INLINE double of(const double *sums) const {
    const double n = sums[0];
    if (!(n >= least)) return kInfinite;
    if (kind == LeafCostKind::squares) return -squares(sums) / n;
    if (kind == LeafCostKind::least) return *std::min_element(sums + 1, sums + width);
    // Without the small second term, whole plateaus of cuts would look alike.
    constexpr double kGini = 0.001;
    double most = 0.0;
    for (int32_t j = 1; j < width; ++j) most = std::max(most, sums[j]);
    return n - most + kGini * (n - squares(sums) / n);
  }

 private:
  // Of all entries but the first, always in the same order.
  CUTWISE_INLINE double squares(const double *sums) const {
    static constexpr double kNoWeight[kLanes] = {0.0, 1.0, 1.0, 1.0};
    Lanes total, lane;
    load(total, sums);
    load(lane, kNoWeight);
    multiply(total, lane);
    square(total);
    for (int32_t j = kLanes; j < width; j += kLanes) {
      load(lane, sums + j);
      square(lane);
      add(total, lane);
    }
    alignas(sizeof(Lanes)) double parts[kLanes];
    store(parts, total);
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
  }
};

// Length of rules: conditions and levels of depth, each times the weight of its rows.
struct Size {
  double conditions = 0.0, levels = 0.0;

  void add(double weight, const Size &rule) {
    conditions += weight * rule.conditions;
    levels += weight * rule.levels;
  }
};

// Price of the length of all rules: of each part in excess of a free length.
struct SizePrice {
  using Numbers = std::pair<std::pair<double, double>, std::pair<double, double>>;
  static SizePrice of(const Numbers &n) { return {{n.first.first, n.first.second}, {n.second.first, n.second.second}}; }

  Size price, free;

  bool any() const { return price.conditions > 0.0 || price.levels > 0.0; }
  double cost(const Size &size) const {
    return price.conditions * std::max(0.0, size.conditions - free.conditions) +
           price.levels * std::max(0.0, size.levels - free.levels);
  }
};

// The rows that a search reads.

struct Sample {
  int64_t n_rows = 0;
  int32_t n_cols = 0;
  const uint8_t *codes = nullptr;  // (n_rows, n_cols), bins in increasing order of value
  const double *rows = nullptr;    // (n_rows, width), whole numbers whose sums stay below 2^53
  std::vector<int32_t> bin_begin;  // n_cols + 1: bins of column c stand at bin_begin[c] ... in every table
  LeafCost cost;
  double threshold = 0.0;  // changes by less do not count
  SizePrice size_price;
  int32_t max_depth = 0;  // of a leaf

  int32_t width() const { return cost.width; }
  int32_t n_bins() const { return bin_begin.back(); }
  int32_t n_bins(int32_t column) const { return bin_begin[column + 1] - bin_begin[column]; }
  uint8_t code(int64_t row, int32_t column) const { return codes[row * n_cols + column]; }
  const double *row(int64_t at) const { return rows + at * width(); }
};

// sums += row, or -= row, for rows and sums of `width` numbers.
template <bool adds = true>
CUTWISE_INLINE void add_row(double *sums, const double *row, int32_t width) {
  Lanes a, b;
  for (int32_t j = 0; j < width; j += kLanes) {
    load(a, sums + j);
    load(b, row + j);
    if constexpr (adds) add(a, b);
    else subtract(a, b);
    store(sums + j, a);
  }
}
CUTWISE_INLINE void subtract_row(double *sums, const double *row, int32_t width) { add_row<false>(sums, row, width); }

}  // namespace cutwise
