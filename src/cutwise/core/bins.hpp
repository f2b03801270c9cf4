// The bins of one column, chosen from (a sample of) its values.
#pragma once

#include <cstdint>
#include <vector>

namespace cutwise {

constexpr int kMaxBins = 256;  // a bin number fits a byte

// The distinct values of a column in increasing order, and how often each was seen.
struct Tally {
  std::vector<double> value;
  std::vector<int32_t> count;

  void clear() {
    value.clear();
    count.clear();
  }
};

// Bin b holds the values in (high[b - 1], high[b]]; low[b] is the smallest value seen in it.
struct Bins {
  std::vector<double> low, high;
  bool exact = true;  // one value a bin

  int size() const { return static_cast<int>(high.size()); }
};

// Counts sorted values; -0.0 is written 0.0.
template <class V>
void tally_sorted(const V *sorted, int64_t n, Tally &tally) {
  tally.clear();
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && sorted[end] == sorted[i]) ++end;
    tally.value.push_back(static_cast<double>(sorted[i]) + 0.0);
    tally.count.push_back(static_cast<int32_t>(end - i));
    i = end;
  }
}

// One bin a value where max_bins allow it, else at most max_bins bins of about equally many entries in which every value
// that would fill a bin has one of its own. The value `alone` (an index into the tally, or -1) never shares its bin.
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
