// The bin of a value: the number of bin ends below it, found without a branch that data could mislead.
//
// Three ways, chosen by the column's values: whole numbers in a short range read a table; other columns go through a grid of
// equal cells, each knowing the first bin that can begin in it, and then a few fixed comparisons; where values crowd into
// few cells (or there are too few rows to repay a grid), a binary search of fixed length.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "bins.hpp"

namespace cutwise {

// What values of dtype T are compared as: exact for all but int64 beyond 2^53, which are float64 everywhere.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, uint8_t>, float, double>;

template <class T>
class Finder {
 public:
  using V = Compared<T>;

  Finder() = default;

  // `n_rows` values will be looked up.
  Finder(const Bins &bins, int64_t n_rows) : exact_(bins.exact) {
    const int n = bins.size();
    high_.assign(bins.high.begin(), bins.high.end());
    if (use_table(bins, n_rows)) {
      kind_ = Kind::table;
    } else if (n > 8 && n_rows >= 4096 && use_grid()) {
      kind_ = Kind::grid;
    } else {
      kind_ = Kind::search;
      n_steps_ = 0;
      while ((1 << n_steps_) < n) ++n_steps_;
    }
    // Every way may look a little past the last end: there, no end is below any value.
    high_.resize(std::max<size_t>(high_.size() + kMaxGridSteps, size_t{1} << (kind_ == Kind::search ? n_steps_ : 0)),
                 std::numeric_limits<V>::infinity());
    n_bins_ = n;
  }

  bool exact() const { return exact_; }
  int n_bins() const { return n_bins_; }
  V high(int bin) const { return high_[bin]; }

  // One value, by binary search. A value above every end is in the last bin.
  int bin_of(V v) const {
    return static_cast<int>(std::lower_bound(high_.begin(), high_.begin() + n_bins_ - 1, v) - high_.begin());
  }

  // Bins of n values `stride` apart. Coarse: `low` is brought down where a value is below its bin's. True when a value is
  // none of an exact column's, or (coarse) may lie above the last bin or off the table: `bins` then needs `mend`.
  bool find(const T *values, int64_t stride, int64_t n, V *low, uint8_t *bins) const {
    if (exact_) return find_by_kind<true>(values, stride, n, low, bins);
    return find_by_kind<false>(values, stride, n, low, bins);
  }

  // The careful way, after `find` asked for it. Exact: unknown(i, value) is called for the values that are no bin's. Coarse:
  // `highest` follows the largest value of the last bin.
  template <class Unknown>
  void mend(const T *values, int64_t stride, int64_t n, V *low, V &highest, uint8_t *bins, Unknown &&unknown) const {
    for (int64_t i = 0; i < n; ++i) {
      const V v = static_cast<V>(values[i * stride]);
      const int b = bin_of(v);
      bins[i] = static_cast<uint8_t>(b);
      if (exact_) {
        if (high_[b] != v) unknown(i, v);
      } else {
        low[b] = std::min(low[b], v);
        highest = std::max(highest, v);
      }
    }
  }

 private:
  enum class Kind { table, grid, search };
  static constexpr int64_t kMaxTable = 16384;
  static constexpr double kMaxWhole = 1 << 24;  // whole numbers up to here are exact in float32
  static constexpr uint16_t kUnknown = 256;     // added to table entries that no bin end equals
  static constexpr int kMaxGridSteps = 4;

  bool use_table(const Bins &bins, int64_t n_rows) {
    const double first = bins.low.front(), last = bins.high.back();
    if constexpr (std::is_same_v<T, uint8_t>) {
      first_ = 0;
      last_ = 255;
    } else {
      if (first < -kMaxWhole || last > kMaxWhole) return false;
      if (last - first >= static_cast<double>(std::min<int64_t>(kMaxTable, 256 + 4 * n_rows))) return false;
      for (int b = 0; b < bins.size(); ++b)
        if (bins.high[b] != std::floor(bins.high[b]) || bins.low[b] != std::floor(bins.low[b])) return false;
      first_ = static_cast<int32_t>(first);
      last_ = static_cast<int32_t>(last);
    }
    table_.resize(last_ - first_ + 1);
    int b = 0;
    for (int32_t whole = first_; whole <= last_; ++whole) {
      while (b + 1 < bins.size() && bins.high[b] < whole) ++b;
      table_[whole - first_] = static_cast<uint16_t>(b + (exact_ && bins.high[b] != whole ? kUnknown : 0));
    }
    return true;
  }

  bool use_grid() {
    const int n = static_cast<int>(high_.size());
    grid_first_ = high_.front();
    for (int n_cells = 512; n_cells <= 4096; n_cells *= 2) {
      const V width = high_[n - 2] - grid_first_;
      scale_ = static_cast<V>(n_cells) / width;
      last_cell_ = static_cast<V>(n_cells - 1);
      if (!(width > 0) || !std::isfinite(width) || !std::isfinite(scale_) || scale_ <= 0) return false;
      std::vector<int> ends(n_cells, 0);
      for (int b = 0; b + 1 < n; ++b) ++ends[cell(high_[b])];
      n_steps_ = *std::max_element(ends.begin(), ends.end());
      if (n_steps_ > (n_cells < 4096 ? 2 : kMaxGridSteps)) continue;
      begin_.resize(n_cells);
      int below = 0;
      for (int i = 0; i < n_cells; ++i) {
        begin_[i] = static_cast<uint8_t>(below);
        below += ends[i];
      }
      return true;
    }
    return false;
  }

  // Never decreases as v grows, which is all that the grid's exactness rests on: rounding included.
  int cell(V v) const {
    V at = (v - grid_first_) * scale_;
    at = at > V(0) ? at : V(0);
    at = at < last_cell_ ? at : last_cell_;
    return static_cast<int>(at);
  }

  template <bool kExact>
  bool find_by_kind(const T *values, int64_t stride, int64_t n, V *low, uint8_t *bins) const {
    if (kind_ == Kind::table) return find_in_table<kExact>(values, stride, n, low, bins);
    if (kind_ == Kind::search) {
      return find_each<kExact>(values, stride, n, low, bins, [this](V v) {
        int b = 0;
        for (int step = (1 << n_steps_) >> 1; step > 0; step >>= 1) b += high_[b + step - 1] < v ? step : 0;
        return b;
      });
    }
    switch (n_steps_) {
      case 1: return find_on_grid<kExact, 1>(values, stride, n, low, bins);
      case 2: return find_on_grid<kExact, 2>(values, stride, n, low, bins);
      default: return find_on_grid<kExact, kMaxGridSteps>(values, stride, n, low, bins);
    }
  }

  template <bool kExact, int kSteps>
  bool find_on_grid(const T *values, int64_t stride, int64_t n, V *low, uint8_t *bins) const {
    return find_each<kExact>(values, stride, n, low, bins, [this](V v) {
      const int first = begin_[cell(v)];
      int b = first;
      for (int step = 0; step < kSteps; ++step) b += high_[first + step] < v ? 1 : 0;
      return b;
    });
  }

  template <bool kExact, class Find>
  bool find_each(const T *values, int64_t stride, int64_t n, V *low, uint8_t *bins, Find &&find_one) const {
    const int last = n_bins_ - 1;
    const V *high = high_.data();
    const V highest = high[last];
    bool unknown = false;
    for (int64_t i = 0; i < n; ++i) {
      const V v = static_cast<V>(values[i * stride]);
      int b = find_one(v);
      b = b < last ? b : last;
      if constexpr (kExact) {
        unknown |= high[b] != v;
      } else {
        unknown |= v > highest;
        if (v < low[b]) low[b] = v;
      }
      bins[i] = static_cast<uint8_t>(b);
    }
    return unknown;
  }

  template <bool kExact>
  bool find_in_table(const T *values, int64_t stride, int64_t n, V *low, uint8_t *bins) const {
    const uint16_t *table = table_.data();
    uint16_t seen = 0;
    bool off = false;
    for (int64_t i = 0; i < n; ++i) {
      const T v = values[i * stride];
      int32_t whole;
      if constexpr (std::is_same_v<T, uint8_t>) {
        whole = v;
      } else {
        const T first = static_cast<T>(first_), last = static_cast<T>(last_);
        T inside = v > first ? v : first;
        inside = inside < last ? inside : last;
        whole = static_cast<int32_t>(inside);
        off |= static_cast<T>(whole) != v;
      }
      const uint16_t entry = table[whole - first_];
      seen |= entry;
      bins[i] = static_cast<uint8_t>(entry);
      if constexpr (!kExact) {
        const V compared = static_cast<V>(whole);
        // Only a value of the data may become an end: not what is left of a fraction.
        if (compared < low[entry] && static_cast<T>(whole) == v) low[entry] = compared;
      }
    }
    return off || seen >= kUnknown;
  }

  Kind kind_ = Kind::search;
  bool exact_ = true;
  int n_bins_ = 0, n_steps_ = 0;
  std::vector<V> high_;
  int32_t first_ = 0, last_ = 0;
  std::vector<uint16_t> table_;
  V grid_first_ = 0, scale_ = 0, last_cell_ = 0;
  std::vector<uint8_t> begin_;
};

}  // namespace cutwise
