// The choice of the bins of a column from a sample of its values.
#include "encoding/bins.hpp"

#include "base/simd.hpp"

namespace cutwise {

namespace {

template <class V>
using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;

// An unsigned integer for every float, in the same order; -0.0 and 0.0 give the same one.
template <class V>
Bits<V> key_of(V value) {
  const auto bits = bit_cast<Bits<V>>(value + V(0));
  constexpr Bits<V> sign = Bits<V>(1) << (8 * sizeof(V) - 1);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

template <class V>
V value_of(Bits<V> key) {
  constexpr Bits<V> sign = Bits<V>(1) << (8 * sizeof(V) - 1);
  return bit_cast<V>((key & sign) != 0 ? key & ~sign : ~key);
}

// Radix sort by bytes, skipping bytes that all keys share. On samples of thousands of values a comparison sort would mispredict
// half of its branches.
template <class K>
void sort_keys(std::vector<K> &keys) {
  constexpr int n_bytes = sizeof(K);
  std::vector<uint32_t> starts(n_bytes * 256, 0);
  for (const K key : keys)
    for (int byte = 0; byte < n_bytes; ++byte) ++starts[byte * 256 + ((key >> (8 * byte)) & 255)];
  std::vector<K> other(keys.size());
  for (int byte = 0; byte < n_bytes; ++byte) {
    uint32_t *start = starts.data() + byte * 256;
    if (start[(keys[0] >> (8 * byte)) & 255] == keys.size()) continue;
    uint32_t sum = 0;
    for (int digit = 0; digit < 256; ++digit) {
      const uint32_t count = start[digit];
      start[digit] = sum;
      sum += count;
    }
    for (const K key : keys) other[start[(key >> (8 * byte)) & 255]++] = key;
    keys.swap(other);
  }
}

// So few keys are sorted by counting the lesser keys of each, without branches that depend on the data.
constexpr int64_t kFew = 128;

template <class K>
CUTWISE_CLONES void rank_sort(const K *keys, K n, K *sorted) {
  for (K i = 0; i < n; ++i) {
    const K key = keys[i];
    K rank = 0;
    for (K j = 0; j < i; ++j) rank += keys[j] <= key;
    for (K j = i + 1; j < n; ++j) rank += keys[j] < key;
    sorted[rank] = key;
  }
}

// Values that are whole numbers in a short range are counted instead of sorted.
constexpr int64_t kMaxCounted = 8192;

template <class V>
bool count_whole(const V *values, int64_t n, Tally &tally) {
  const V limit = V(1 << 24);
  V lowest = values[0], highest = values[0];
  bool whole = true;
  for (int64_t i = 0; i < n; ++i) {
    const V v = values[i];
    lowest = v < lowest ? v : lowest;
    highest = v > highest ? v : highest;
    V inside = v > -limit ? v : -limit;
    inside = inside < limit ? inside : limit;
    whole &= static_cast<V>(static_cast<int32_t>(inside)) == v;
  }
  if (!whole || highest - lowest >= V(kMaxCounted)) return false;
  const int32_t first = static_cast<int32_t>(lowest);
  std::vector<int32_t> counts(static_cast<int32_t>(highest) - first + 1, 0);
  for (int64_t i = 0; i < n; ++i) ++counts[static_cast<int32_t>(values[i]) - first];
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    tally.value.push_back(static_cast<double>(first + static_cast<int32_t>(i)));
    tally.count.push_back(counts[i]);
  }
  return true;
}

constexpr int64_t kFewEnds = 31;  // so few are compared with every value faster than searched

// A binary search in which all values take each step together, so that no step waits for the one before.
template <class V, class Count>
CUTWISE_INLINE void count_by_halves(const V *ends, int64_t n_ends, const V *values, int64_t n, Count *counts) {
  std::fill_n(counts, n, Count{0});
  constexpr int64_t at_once = 128 / sizeof(V);  // values that stay in registers with their counts
  for (; n_ends <= kFewEnds && n >= at_once; n -= at_once, values += at_once, counts += at_once) {
    Count below[at_once] = {};
    for (int64_t e = 0; e < n_ends; ++e)
      for (int64_t i = 0; i < at_once; ++i) below[i] += static_cast<Count>(ends[e] < values[i]);
    std::copy_n(below, at_once, counts);
  }
  while (n_ends > 0) {
    const int64_t half = (n_ends + 1) / 2;  // n_ends are left to search
    const V *last = ends + half - 1;
    for (int64_t i = 0; i < n; ++i) counts[i] += last[counts[i]] < values[i] ? static_cast<Count>(half) : 0;
    n_ends -= half;
  }
}

// Appends the last entry of every bin, where a bin ends as soon as it has a count of `fill`; an entry with a count of `fill`
// and the entry `alone` are bins by themselves.
void cut_at(const std::vector<int32_t> &counts, double fill, int64_t alone, std::vector<int64_t> &last) {
  last.clear();
  const int64_t n = static_cast<int64_t>(counts.size());
  double mass = 0;
  bool open = false;
  for (int64_t i = 0; i < n; ++i) {
    const double count = counts[i];
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

}  // namespace

CUTWISE_CLONES void count_below(const float *ends, int64_t n_ends, const float *values, int64_t n, int32_t *counts) {
  count_by_halves(ends, n_ends, values, n, counts);
}
CUTWISE_CLONES void count_below(const double *ends, int64_t n_ends, const double *values, int64_t n, int64_t *counts) {
  count_by_halves(ends, n_ends, values, n, counts);
}

template <class V>
void tally_values(const V *values, int64_t n, Tally &tally) {
  tally.value.clear();
  tally.count.clear();
  if (n == 0 || count_whole(values, n, tally)) return;
  std::vector<Bits<V>> keys(n);
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(values[i]);
  if (n <= kFew) {
    std::vector<Bits<V>> sorted(n);
    rank_sort(keys.data(), static_cast<Bits<V>>(n), sorted.data());
    keys.swap(sorted);
  } else {
    sort_keys(keys);
  }
  tally.value.reserve(n);
  tally.count.reserve(n);
  for (int64_t i = 0; i < n;) {
    int64_t end = i + 1;
    while (end < n && keys[end] == keys[i]) ++end;
    tally.value.push_back(static_cast<double>(value_of<V>(keys[i])));
    tally.count.push_back(static_cast<int32_t>(end - i));
    i = end;
  }
}

template void tally_values<float>(const float *, int64_t, Tally &);
template void tally_values<double>(const double *, int64_t, Tally &);

std::vector<int64_t> divide(const std::vector<int32_t> &counts, int max_bins, int64_t alone) {
  std::vector<int64_t> last;
  if (static_cast<int64_t>(counts.size()) <= max_bins) {
    last.resize(counts.size());
    std::iota(last.begin(), last.end(), int64_t{0});
    return last;
  }
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const auto n = static_cast<int64_t>(counts.size());
  const bool has_alone = alone >= 0, is_each_once = total == static_cast<double>(has_alone ? n - 1 + counts[alone] : n);
  // Where every entry occurred once, the number of bins is known without cut_at().
  auto too_many = [&](double fill) {
    const auto a_bin = std::max<int64_t>(static_cast<int64_t>(std::ceil(fill)), 1);
    auto bins_of = [&](int64_t n_entries) { return (n_entries + a_bin - 1) / a_bin; };
    return (has_alone ? bins_of(alone) + 1 + bins_of(n - 1 - alone) : bins_of(n)) > max_bins;
  };
  // Entries that fill bins alone take a larger share of the counts than of the bins, so the first `fill` is below the mean.
  for (double fill = 0.8 * total / max_bins;; fill *= 1.04) {
    if (is_each_once && too_many(fill)) continue;
    cut_at(counts, fill, alone, last);
    if (static_cast<int64_t>(last.size()) <= max_bins) return last;
    if (fill <= 0) fill = 1;
  }
}

Bins choose_bins(const Tally &tally, int max_bins, int64_t alone) {
  Bins bins;
  bins.exact = tally.size() <= max_bins;
  std::vector<int64_t> ends = divide(tally.count, max_bins, alone);
  if (!bins.exact) move_to_gaps(tally.value, ends);
  int64_t first = 0;
  for (const int64_t last : ends) {
    bins.low.push_back(tally.value[first]);
    bins.high.push_back(tally.value[last]);
    first = last + 1;
  }
  return bins;
}

}  // namespace cutwise
