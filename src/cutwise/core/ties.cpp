// Settles ties between cuts that part equally few rows from their centers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "node.hpp"

namespace cutwise {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// Of cuts that tie in mistakes, the one whose sides cost least when each is served by its best surviving center.
template <class Cost>
int64_t cheapest_of(const Encoded &encoded, const Matrix &matrix, const int32_t *rows, int64_t n, const Cost *costs,
                    int64_t k, const double *coordinates, const std::vector<int32_t> &survivors,
                    const int32_t *features, const double *thresholds, int64_t n_cuts) {
  const int64_t m = static_cast<int64_t>(survivors.size());
  std::vector<int64_t> total(m, 0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) total[j] += costs[rows[i] * k + survivors[j]];
  int64_t best = -1, best_score = kNone;
  const int64_t d = encoded.n_cols();
  for (int64_t begin = 0; begin < n_cuts;) {
    int64_t end = begin;
    while (end < n_cuts && features[end] == features[begin]) ++end;
    const int32_t feature = features[begin];
    const Column &column = encoded.columns[feature];
    const double *low = encoded.low.data() + column.value_begin;
    const double *high = encoded.high.data() + column.value_begin;
    const int64_t n_segments = end - begin + 1;
    // The segment of every bin that no cut goes through, -1 for the others.
    std::vector<int32_t> segment_of(column.n_bins);
    auto segment = [&](double value) {
      return static_cast<int32_t>(std::lower_bound(thresholds + begin, thresholds + end, value) - (thresholds + begin));
    };
    for (int32_t bin = 0; bin < column.n_bins; ++bin)
      segment_of[bin] = segment(low[bin]) == segment(high[bin]) ? segment(low[bin]) : -1;
    // Most cuts slice a little off: the fullest segment is the total less the others, and is never added up.
    std::vector<int64_t> count(n_segments, 0), sums(n_segments * m, 0);
    std::vector<int32_t> placed(n);
    const BinReader bin_of(encoded, column);
    matrix.visit([&](auto values) {
      for (int64_t i = 0; i < n; ++i) {
        int32_t s = segment_of[bin_of(rows[i])];
        if (s < 0) s = segment(values(rows[i], feature));
        placed[i] = s;
        ++count[s];
      }
    });
    const int64_t fullest = std::max_element(count.begin(), count.end()) - count.begin();
    for (int64_t i = 0; i < n; ++i) {
      if (placed[i] == fullest) continue;
      int64_t *sum = sums.data() + placed[i] * m;
      for (int64_t j = 0; j < m; ++j) sum[j] += costs[rows[i] * k + survivors[j]];
    }
    for (int64_t j = 0; j < m; ++j) {
      int64_t rest = total[j];
      for (int64_t s = 0; s < n_segments; ++s)
        if (s != fullest) rest -= sums[s * m + j];
      sums[fullest * m + j] = rest;
    }
    std::vector<int64_t> left(m, 0);
    for (int64_t cut = begin; cut < end; ++cut) {
      int64_t least_left = kNone, least_right = kNone;
      for (int64_t j = 0; j < m; ++j) {
        left[j] += sums[(cut - begin) * m + j];
        if (coordinates[survivors[j] * d + feature] <= thresholds[cut])
          least_left = std::min(least_left, left[j]);
        else
          least_right = std::min(least_right, total[j] - left[j]);
      }
      if (least_left == kNone || least_right == kNone) continue;
      if (least_left + least_right < best_score) {
        best_score = least_left + least_right;
        best = cut;
      }
    }
    begin = end;
  }
  return best;
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_ties(nb::module_ &m) {
  auto for_costs = [&](auto zero) {
    using Cost = decltype(zero);
    m.def(
        "cheapest_tied_cut",
        [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<Cost> costs, In2<double> coordinates,
           In1<int32_t> survivors, In1<int32_t> features, In1<double> thresholds) {
          require(static_cast<int64_t>(costs.shape(0)) == encoded.n_rows, "costs has one line per encoded row");
          require(features.size() == thresholds.size(), "features and thresholds have one length");
          nb::gil_scoped_release release;
          return cheapest_of(encoded, matrix, rows.data(), static_cast<int64_t>(rows.size()), costs.data(),
                             static_cast<int64_t>(costs.shape(1)), coordinates.data(),
                             std::vector<int32_t>(survivors.data(), survivors.data() + survivors.size()),
                             features.data(), thresholds.data(), static_cast<int64_t>(features.size()));
        },
        nb::arg("encoded"), nb::arg("matrix"), nb::arg("rows"), nb::arg("costs").noconvert(), nb::arg("coordinates"),
        nb::arg("survivors"), nb::arg("features"), nb::arg("thresholds"));
  };
  for_costs(int32_t{});
  for_costs(int64_t{});
}
