// The bins of one column, chosen from (a sample of) its values.
#pragma once

#include "base/standard.hpp"

namespace cutwise {

// What values of a dtype are compared as: exact for all but int64 beyond 2^53, which are float64 everywhere.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, uint8_t>, float, double>;

constexpr int kMaxBins = 256;  // a bin number fits a byte

// The distinct values of a column in increasing order, and how often each was seen. No value is -0.0.
struct Tally {
  std::vector<double> value;
  std::vector<int32_t> count;

  int64_t size() const { return static_cast<int64_t>(value.size()); }
  void add_new(double v, int64_t at) {
    value.insert(value.begin() + at, v);
    count.insert(count.begin() + at, 1);
  }
  void add_unless_known(double v) {
    const auto at = std::lower_bound(value.begin(), value.end(), v);
    if (at == value.end() || *at != v) add_new(v, at - value.begin());
  }
};

// Bin b holds the values from low[b] to high[b], and both occur.
struct Bins {
  std::vector<double> low, high;
  bool exact = true;  // one value a bin

  int size() const { return static_cast<int>(high.size()); }
};

// Counts values; they are reordered. V is float or double.
template <class V>
void tally_values(V *values, int64_t n, Tally &tally);

// Divides entries 0 .. counts.size() - 1 among at most max_bins bins (at least 3 where some stands `alone`) and gives the last
// entry of each: one bin an entry where max_bins allow it, else bins of about equal counts in which every entry that would fill
// a bin has one of its own. The entry `alone` (or -1) never shares its bin.
std::vector<int64_t> divide(const std::vector<int32_t> &counts, int max_bins, int64_t alone = -1);

// The bins that divide() makes of a tally.
Bins choose_bins(const Tally &tally, int max_bins, int64_t alone = -1);

// The row of piece i when n_rows rows are cut into n_sampled pieces of near equal length: anywhere in the piece, always the
// same for the same arguments. (Equally spaced rows would see one phase of a periodic table.)
inline int64_t sampled_row(int64_t i, int64_t n_sampled, int64_t n_rows) {
  const int64_t first = i * n_rows / n_sampled, end = (i + 1) * n_rows / n_sampled;
  uint64_t h = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  h ^= h >> 32;
  return first + static_cast<int64_t>(h % static_cast<uint64_t>(end - first));
}

}  // namespace cutwise
