// A column in increasing order of value: its rows, and the cuts between neighbors that differ.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/exact_sums.hpp"
#include "base/rows.hpp"

namespace cutwise {

// Float64 values as several integers.
//
// exact_sums.hpp splits a value in two, which is enough to round a sum correctly. To tell whether two cuts cost the same, sums
// must be exact: four integers hold every bit of a column of float64 values whose exponents differ by less than 60 or so.

// parts[0] * 2^(bits (n - 1)) + parts[1] * 2^(bits (n - 2)) + ...; sums go part by part, and a part may be negative.
template <int n_parts>
struct Parts {
  std::array<int64_t, n_parts> part{};

  CUTWISE_INLINE void add(const Parts &other) {
    for (int i = 0; i < n_parts; ++i) part[i] += other.part[i];
  }
  CUTWISE_INLINE void subtract(const Parts &other) {
    for (int i = 0; i < n_parts; ++i) part[i] -= other.part[i];
  }
  CUTWISE_INLINE void add_times(const Parts &other, int64_t factor) {
    for (int i = 0; i < n_parts; ++i) part[i] += other.part[i] * factor;
  }
  // Carries what exceeds `bits` to the part above, so that parts compare one by one from the first.
  void carry(int bits) {
    const int64_t unit = int64_t{1} << bits;
    for (int i = n_parts - 1; i > 0; --i) {
      int64_t up = part[i] / unit;
      if (part[i] % unit < 0) --up;
      part[i] -= up * unit;
      part[i - 1] += up;
    }
  }
};

// `scale` takes the largest value of its kind to at most 2^bits, and `unit` is 2^bits; bits <= 50.
template <int n_parts>
CUTWISE_INLINE Parts<n_parts> split_value(double value, double scale, double unit) {
  Parts<n_parts> parts;
  double rest = value * scale;
  for (int i = 0; i < n_parts; ++i) {
    parts.part[i] = round_small(rest);
    rest = (rest - static_cast<double>(parts.part[i])) * unit;  // exact: what is left has fewer digits than the value
  }
  return parts;
}

struct OrderedColumn {
  std::vector<int32_t> rows;  // by value, then by number
  std::vector<int32_t> cuts;  // cut g has the first cuts[g] of the rows on its left side

  // The number of cuts below the value that most rows have.
  size_t cuts_below_widest() const {
    const int32_t n = static_cast<int32_t>(rows.size());
    size_t widest = 0;
    int32_t most = 0;
    for (size_t g = 0; g <= cuts.size(); ++g) {
      const int32_t width = (g < cuts.size() ? cuts[g] : n) - (g > 0 ? cuts[g - 1] : 0);
      if (width <= most) continue;
      most = width;
      widest = g;
    }
    return widest;
  }
};

inline OrderedColumn order_column(const Tile &tile, int64_t n, int64_t column) {
  std::vector<std::pair<double, int32_t>> pairs(n);
  for (int64_t i = 0; i < n; ++i) pairs[i] = {tile.rows[i * tile.stride + column], static_cast<int32_t>(i)};
  std::sort(pairs.begin(), pairs.end());
  OrderedColumn ordered;
  ordered.rows.resize(n);
  for (int64_t i = 0; i < n; ++i) {
    ordered.rows[i] = pairs[i].second;
    if (i > 0 && pairs[i - 1].first != pairs[i].first) ordered.cuts.push_back(static_cast<int32_t>(i));
  }
  return ordered;
}

// The ends of every column, and from them powers of two that bring all columns into one range.
class ColumnRanges {
 public:
  static ColumnRanges of(const Tile &tile, int64_t n, int64_t d) {
    ColumnRanges ranges;
    ranges.low_.assign(tile.rows, tile.rows + d);
    ranges.high_ = ranges.low_;
    for (int64_t i = 1; i < n; ++i) {
      const double *row = tile.rows + i * tile.stride;
      for (int64_t f = 0; f < d; ++f) {
        ranges.low_[f] = std::min(ranges.low_[f], row[f]);
        ranges.high_[f] = std::max(ranges.high_[f], row[f]);
      }
    }
    return ranges;
  }

  // The largest absolute value, and the largest half of a range (whole ranges can be infinite), of the columns that vary.
  double largest() const {
    double most = 0.0;
    for (size_t f = 0; f < low_.size(); ++f)
      if (low_[f] < high_[f]) most = std::max({most, std::fabs(low_[f]), std::fabs(high_[f])});
    return most;
  }
  double spread() const {
    double most = 0.0;
    for (size_t f = 0; f < low_.size(); ++f) most = std::max(most, high_[f] / 2 - low_[f] / 2);
    return most;
  }
  // What takes `most` to at most 2^bits, for every column that varies. A constant column plays no part, however large: 0.
  std::vector<double> scales(double most, int bits) const {
    std::vector<double> scale(low_.size(), 0.0);
    for (size_t f = 0; f < low_.size(); ++f)
      if (low_[f] < high_[f]) scale[f] = term_scale(most, bits);
    return scale;
  }

 private:
  std::vector<double> low_, high_;
};

}  // namespace cutwise
