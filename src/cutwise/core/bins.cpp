#include "bins.hpp"

#include <algorithm>
#include <numeric>

namespace cutwise {

namespace {

// Walks the values and ends a bin (appending its last index) as soon as it holds `fill` entries; a value of `fill` entries,
// and the value `alone`, begin and end one of their own.
void cut_at(const Tally &tally, double fill, int64_t alone, std::vector<int64_t> &last) {
  last.clear();
  const int64_t n = static_cast<int64_t>(tally.value.size());
  double held = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double count = tally.count[i];
    const bool atom = count >= fill || i == alone;
    if (atom && held > 0) {
      last.push_back(i - 1);
      held = 0;
    }
    held += count;
    if (atom || held >= fill) {
      last.push_back(i);
      held = 0;
    }
  }
  if (held > 0) last.push_back(n - 1);
}

}  // namespace

Bins choose_bins(const Tally &tally, int max_bins, int64_t alone) {
  Bins bins;
  const int64_t n = static_cast<int64_t>(tally.value.size());
  if (n <= max_bins) {
    bins.low = bins.high = tally.value;
    return bins;
  }
  bins.exact = false;
  const double total = std::accumulate(tally.count.begin(), tally.count.end(), 0.0);
  std::vector<int64_t> last;
  for (double fill = total / max_bins;; fill *= std::max(1.02, 0.9 * static_cast<double>(last.size()) / max_bins)) {
    cut_at(tally, fill, alone, last);
    if (static_cast<int64_t>(last.size()) <= max_bins) break;
  }
  for (size_t b = 0; b < last.size(); ++b) {
    bins.low.push_back(tally.value[b == 0 ? 0 : last[b - 1] + 1]);
    bins.high.push_back(tally.value[last[b]]);
  }
  return bins;
}

}  // namespace cutwise
