// The least value of a sum of clipped distances along a line: bins first, then the kinks of the bins that may hold it.
#include "clustering/line_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clones.hpp"

namespace cutwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Kinks for each bin, in the mean, and bins at most: they stay in the nearest cache.
constexpr int64_t kKinks = 16, kMostBins = 256;
// Rows whose cost the place can matter to, how far it does, and how many they are.
CUTWISE_CLONES int64_t find_radii(const double *x, const double *spare, int64_t n, double start, double *at, double *radius,
                                  int32_t *row) {
  int64_t m = 0;
  for (int64_t r = 0; r < n; ++r) {
    const double room = spare[r] + std::fabs(x[r] - start);
    at[m] = x[r];
    radius[m] = room;
    row[m] = static_cast<int32_t>(r);
    m += room > 0.0;
  }
  return m;
}

CUTWISE_CLONES void write_sides(const double *at, const double *radius, int64_t n, double *left, double *right) {
  for (int64_t r = 0; r < n; ++r) {
    left[r] = at[r] - radius[r];
    right[r] = at[r] + radius[r];
  }
}

// 0 below the window, 1 .. n_bins in it, n_bins + 1 beyond.
CUTWISE_CLONES void write_bins(const double *at, int64_t n, double low, double per_width, double n_bins, int32_t *bin) {
  for (int64_t s = 0; s < n; ++s) {
    double place = (at[s] - low) * per_width + 1.0;
    place = place > 0.0 ? place : 0.0;
    place = place < n_bins + 1.0 ? place : n_bins + 1.0;
    bin[s] = static_cast<int32_t>(place);
  }
}

}  // namespace

LineSearch::Best LineSearch::find(const double *x, const double *spare, const int64_t *weights, int64_t n, double start,
                                  double far, double least_gain) {
  for (Kinks &kinks : kinks_) {
    kinks.at.resize(n);
    kinks.bin.resize(n);
  }
  radius_.resize(n);
  rows_.resize(n);
  auto &[left, middle, right] = kinks_;
  n_ = find_radii(x, spare, n, start, middle.at.data(), radius_.data(), rows_.data());
  if (n_ == 0) return {start, 0.0};
  write_sides(middle.at.data(), radius_.data(), n_, left.at.data(), right.at.data());
  low_ = start - far;
  double high = start + far;
  if (!(far < kInfinity)) {
    low_ = std::min(start, *std::min_element(left.at.begin(), left.at.begin() + n_));
    high = std::max(start, *std::max_element(right.at.begin(), right.at.begin() + n_));
  }
  n_bins_ = std::clamp<int64_t>(3 * n_ / kKinks, 1, kMostBins);
  width_ = (high - low_) / static_cast<double>(n_bins_);
  const double per_width = 1.0 / width_;
  if (!(per_width > 0.0 && per_width < kInfinity)) return {start, 0.0};
  const auto find_bins = [&](const double *at, int64_t some, int32_t *bin) {
    write_bins(at, some, low_, per_width, static_cast<double>(n_bins_), bin);
  };
  for (Kinks &kinks : kinks_) find_bins(kinks.at.data(), n_, kinks.bin.data());
  int32_t home = 0;
  find_bins(&start, 1, &home);
  home = std::clamp<int32_t>(home, 1, static_cast<int32_t>(n_bins_));

  weights_.assign(n_, 1);
  for (int64_t r = 0; weights != nullptr && r < n_; ++r) weights_[r] = weights[rows_[r]];
  count();
  choose();
  chosen_[home] = 1;
  sorted_.assign(1, {start, 0, home});
  collect();
  return walk(start, least_gain);
}

void LineSearch::count() {
  bins_.assign(n_bins_ + 2, Bin{});
  for (const Kinks &kinks : kinks_) {
    for (int64_t r = 0; r < n_; ++r) {
      Bin &of = bins_[kinks.bin[r]];
      const int64_t turn = kinks.turns * weights_[r];
      (kinks.turns > 0 ? of.up : of.down) += turn;
      of.moment += static_cast<double>(turn) * (kinks.at[r] - low_);
    }
  }
}

void LineSearch::choose() {
  pieces_.resize(n_bins_ + 2);
  chosen_.assign(n_bins_ + 2, 0);
  // What lies before the window turns the slope in it, and adds a constant.
  pieces_[1] = {bins_[0].up + bins_[0].down, 0.0};
  double least = kInfinity;
  for (int64_t b = 1; b <= n_bins_; ++b) {
    const Bin &bin = bins_[b];
    pieces_[b + 1] = {pieces_[b].slope + bin.up + bin.down, pieces_[b].moment + bin.moment};
    least = std::min(least, pieces_[b].value(static_cast<double>(b - 1) * width_));
  }
  for (int64_t b = 1; b <= n_bins_; ++b) {
    const double left = pieces_[b].value(static_cast<double>(b - 1) * width_);
    const double right = pieces_[b + 1].value(static_cast<double>(b) * width_);
    const double falls = static_cast<double>(std::min<int64_t>(0, pieces_[b].slope + bins_[b].down));
    const double rises = static_cast<double>(std::max<int64_t>(0, pieces_[b].slope + bins_[b].up));
    chosen_[b] = std::max(left + falls * width_, right - rises * width_) < least;
  }
}

void LineSearch::collect() {
  for (const Kinks &kinks : kinks_)
    for (int64_t r = 0; r < n_; ++r)
      if (chosen_[kinks.bin[r]]) sorted_.push_back({kinks.at[r], kinks.turns * weights_[r], kinks.bin[r]});
  std::sort(sorted_.begin(), sorted_.end());
}

LineSearch::Best LineSearch::walk(double start, double least_gain) const {
  double least = kInfinity, here = 0.0, best = start;
  Piece piece;
  int32_t bin = -1;
  for (const Kink &kink : sorted_) {
    if (kink.bin != bin) {
      bin = kink.bin;
      piece = pieces_[bin];
    }
    const double offset = kink.at - low_, value = piece.value(offset);
    piece.turn(kink.turn, offset);
    if (kink.turn == 0) here = value;
    if (value < least) {
      least = value;
      best = kink.at;
    }
  }
  return here - least > least_gain ? Best{best, here - least} : Best{start, 0.0};
}

}  // namespace cutwise
