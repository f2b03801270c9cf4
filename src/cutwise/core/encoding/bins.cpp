// The choice of the bins of a column from a sample of its values.
#include "encoding/bins.hpp"

#include "base/simd.hpp"

namespace cutwise {

namespace {

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
  struct Sampled {
    V value;
  };
  std::vector<Sampled> sorted(n);
  std::transform(values, values + n, sorted.begin(), [](V v) { return Sampled{v + V(0)}; });  // -0.0 becomes 0.0
  sort_by_value(sorted);
  for (const auto [value] : sorted) {
    if (tally.value.empty() || tally.value.back() != static_cast<double>(value)) {
      tally.value.push_back(static_cast<double>(value));
      tally.count.push_back(0);
    }
    ++tally.count.back();
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
