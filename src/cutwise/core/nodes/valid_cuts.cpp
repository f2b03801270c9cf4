// Which cuts are valid: those of Laber, Murtinho, Oliveira (2023), whose sides each have as many points as centers (equal rows
// count as one point here), and those that the user's limits allow.
#include "nodes/separation.hpp"

#include "base/distinct_rows.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

constexpr size_t kFirstSlots = 64;

}  // namespace

bool ValidCuts::has_distinct(size_t wanted) const {
  return node_.matrix.visit([&](auto values) {
    DistinctRows distinct(values, kFirstSlots);
    for (int64_t i = 0; i < node_.n && distinct.size() < wanted; ++i) distinct.add(node_.rows[i]);
    return distinct.size() >= wanted;
  });
}

ValidRange ValidCuts::between(int32_t feature, double begin, double end, size_t n_left, size_t n_right) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Column &column = node_.encoded.columns[feature];
  const double *low = node_.encoded.low.data() + column.value_begin;
  const double *high = node_.encoded.high.data() + column.value_begin;
  const BinReader bin_of(node_.encoded, column);
  return node_.matrix.visit([&](auto values) {
    DistinctRows left(values, kFirstSlots), right(values, kFirstSlots);
    // Whether a row lies left (right) of every cut of the span.
    const auto is_left = [&](int32_t row, int32_t bin) {
      return high[bin] <= begin || (low[bin] <= begin && values(row, feature) <= begin);
    };
    const auto is_right = [&](int32_t row, int32_t bin) {
      return low[bin] >= end || (high[bin] >= end && values(row, feature) >= end);
    };
    for (int64_t i = 0; i < node_.n && (left.size() < n_left || right.size() < n_right); ++i) {
      const int32_t row = node_.rows[i], bin = bin_of(row);
      if (left.size() < n_left && is_left(row, bin)) left.add(row);
      else if (right.size() < n_right && is_right(row, bin)) right.add(row);
    }
    ValidRange range;
    if (left.size() >= n_left && right.size() >= n_right) return range;
    std::vector<RowValue> between;
    for (int64_t i = 0; i < node_.n; ++i) {
      const int32_t row = node_.rows[i], bin = bin_of(row);
      if (!is_left(row, bin) && !is_right(row, bin)) between.push_back({values(row, feature), row});
    }
    sort_by_value(between);
    // The value at which a side first has as many distinct rows as it needs; `none` where it never has.
    const auto reach = [](auto row, auto last, auto &distinct, size_t wanted, double none) {
      for (; row != last; ++row) {
        distinct.add(row->row);
        if (distinct.size() >= wanted) return row->value;
      }
      return none;
    };
    if (left.size() < n_left) range.first = reach(between.begin(), between.end(), left, n_left, kInfinity);
    if (right.size() < n_right) range.end = reach(between.rbegin(), between.rend(), right, n_right, -kInfinity);
    return range;
  });
}

void AllowedCuts::count_bins() {
  const Column &column = node_.encoded.columns[feature_];
  bin_counts_.assign(column.n_bins, 0);
  for (int32_t bin = 0; node_.encoded.is_bins_only() && bin < column.n_bins; ++bin)
    bin_counts_[bin] = limits_->count_of(column.slot_begin + bin);
  if (node_.encoded.is_bins_only()) return;
  const BinReader bin_of(node_.encoded, column);
  for (int64_t i = 0; i < node_.n; ++i) bin_counts_[bin_of(node_.rows[i])] += limits_->count_of(node_.rows[i]);
}

double AllowedCuts::value_reaching(int64_t wanted, bool from_left) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (wanted <= 0) return from_left ? -kInfinity : kInfinity;
  const Column &column = node_.encoded.columns[feature_];
  int64_t passed = 0;
  for (int32_t i = 0; i < column.n_bins; ++i) {
    const int32_t bin = from_left ? i : column.n_bins - 1 - i;
    if (passed + bin_counts_[bin] < wanted) {
      passed += bin_counts_[bin];
      continue;
    }
    const double low = node_.encoded.low[column.value_begin + bin], high = node_.encoded.high[column.value_begin + bin];
    if (low == high) return low;
    if (node_.encoded.is_bins_only()) return from_left ? low : high;  // every cut inside the bin may be allowed
    SortedBins sorted{feature_, {bin}};
    sort_bins(node_, &sorted, 1);
    if (!from_left) std::reverse(sorted.rows[0].begin(), sorted.rows[0].end());
    for (const RowValue &row : sorted.rows[0])
      if ((passed += limits_->count_of(row.row)) >= wanted) return row.value;
  }
  return from_left ? kInfinity : -kInfinity;
}

ValidRange AllowedCuts::range(size_t n_left) {
  if (limits_ == nullptr) return {};
  for (const auto &[n, range] : known_)
    if (n == n_left) return range;
  const size_t n_right = n_centers_ - n_left;
  ValidRange range;
  if (!limits_->allow_column(feature_) || !limits_->allow_centers(n_left, n_right)) {
    range.end = range.first;
  } else if (limits_->least_of(1) > 0) {
    if (bin_counts_.empty()) count_bins();
    range.first = value_reaching(limits_->least_of(n_left), true);
    range.end = value_reaching(limits_->least_of(n_right), false);
  }
  known_.emplace_back(n_left, range);
  return range;
}

}  // namespace cutwise
