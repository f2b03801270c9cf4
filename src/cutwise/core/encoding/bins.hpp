// The bins of one column, chosen from (a sample of) its values.
#pragma once

#include "base/standard.hpp"

namespace cutwise {

// The type in which values of a dtype are compared. This is exact except for int64 beyond 2^53, which are rounded to float64.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, uint8_t>, float, double>;

constexpr int kMaxBins = 256;  // a bin number fits in a byte

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
  bool exact = true;  // every bin holds one value

  int size() const { return static_cast<int>(high.size()); }
};

// Writes for each of n values how many of the sorted ends are below it.
void count_below(const float *ends, int64_t n_ends, const float *values, int64_t n, int32_t *counts);
void count_below(const double *ends, int64_t n_ends, const double *values, int64_t n, int64_t *counts);

// As wide as the values, so that both are worked on in the same lanes.
template <class V>
using CountOf = std::conditional_t<sizeof(V) == 4, int32_t, int64_t>;

constexpr int64_t kCountedTogether = 256;  // values that stay in the first-level cache with their counts

// Fills the tally with some values; V is float or double.
template <class V>
void tally_values(const V *values, int64_t n, Tally &tally);

// Appends the last entry of every bin, where a bin ends as soon as it has a count of `fill`; an entry with a count of `fill`
// and the entry `alone` are bins by themselves.
template <class Count, class Sum>
void cut_at(const std::vector<Count> &counts, Sum fill, int64_t alone, std::vector<int64_t> &last) {
  last.clear();
  const int64_t n = static_cast<int64_t>(counts.size());
  Sum mass = 0;
  bool open = false;
  for (int64_t i = 0; i < n; ++i) {
    const auto count = static_cast<Sum>(counts[i]);
    const bool atom = count >= fill || i == alone;
    if (atom && open) {
      last.push_back(i - 1);
      mass = 0;
    }
    mass += count;
    open = !(atom || mass >= fill);
    if (!open) {
      last.push_back(i);
      mass = 0;
    }
  }
  if (open) last.push_back(n - 1);
}

// Divides entries 0 .. counts.size() - 1 into at most max_bins bins and returns the last entry of each. Every entry has its own
// bin where max_bins allows it. Otherwise bins have about equal counts, and an entry that would fill a bin alone has its own.
// The entry `alone` (-1: none) never shares its bin; max_bins is then at least 3.
std::vector<int64_t> divide(const std::vector<int32_t> &counts, int max_bins, int64_t alone = -1);

// Moves the end of a bin into a wide gap between the middles of the bin and of the next one: cuts between clusters that are far
// apart are then between bins, and no rows are sorted for them. Bins of a single entry stay. at: the places of the entries.
template <class Place>
void move_to_gaps(const std::vector<Place> &at, std::vector<int64_t> &ends) {
  int64_t before = -1;
  for (size_t b = 0; b + 1 < ends.size(); before = ends[b++]) {
    if (ends[b] - before < 2 || ends[b + 1] - ends[b] < 2) continue;
    Place widest = (at[ends[b + 1]] - at[before + 1]) / 3;
    for (int64_t i = (before + ends[b]) / 2, last = (ends[b] + ends[b + 1]) / 2; i < last; ++i) {
      if (at[i + 1] - at[i] <= widest) continue;
      widest = at[i + 1] - at[i];
      ends[b] = i;
    }
  }
}

// The bins of a tally, as divide() chooses them.
Bins choose_bins(const Tally &tally, int max_bins, int64_t alone = -1);

// A pseudorandom row of piece i when n_rows rows are cut into n_sampled pieces of nearly equal length; the same arguments give
// the same row. (Equally spaced rows would see only one phase of a periodic table.)
inline int64_t sampled_row(int64_t i, int64_t n_sampled, int64_t n_rows) {
  const int64_t first = i * n_rows / n_sampled, end = (i + 1) * n_rows / n_sampled;
  uint64_t h = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  h ^= h >> 32;
  return first + static_cast<int64_t>(h % static_cast<uint64_t>(end - first));
}

}  // namespace cutwise
