#include "cuts/interval_pairs.hpp"

#include "base/simd.hpp"

namespace cutwise {
namespace {

constexpr int32_t kBlock = 16;  // ends in a block

// Scores of the intervals [a, b) for b = first .. first + n - 1.
CUTWISE_CLONES void score_ends(const int64_t *sums, int64_t n_ends, int64_t k, const int64_t *total, int32_t a, int32_t first,
                               int32_t n, int64_t *scores) {
  int64_t in_least[kBlock], out_least[kBlock];
  for (int32_t i = 0; i < n; ++i) in_least[i] = out_least[i] = kNone;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t *line = sums + j * n_ends;
    const int64_t before = line[a], all = total[j];
    for (int32_t i = 0; i < n; ++i) {
      const int64_t in = line[first + i] - before, out = all - in;
      in_least[i] = in < in_least[i] ? in : in_least[i];
      out_least[i] = out < out_least[i] ? out : out_least[i];
    }
  }
  for (int32_t i = 0; i < n; ++i) scores[i] = in_least[i] + out_least[i];
}

}  // namespace

// Gini impurity of inside and outside, weighted by size; counts are what the costs of disagreement leave.
double IntervalCosts::impurity(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
  int64_t all_in = 0, all = 0;
  for (int64_t j = 0; j < k; ++j) {
    all_in += high.at(j, b) - low.at(j, a);
    all += total[j];
  }
  const int64_t n_in = k > 1 ? all_in / (k - 1) : 0, n_all = k > 1 ? all / (k - 1) : 0;
  double squares_in = 0, squares_out = 0;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t in = high.at(j, b) - low.at(j, a);
    const double i = static_cast<double>(n_in - in), o = static_cast<double>((n_all - n_in) - (total[j] - in));
    squares_in += i * i;
    squares_out += o * o;
  }
  const double inside = static_cast<double>(n_in), outside = static_cast<double>(n_all - n_in);
  return (inside > 0 ? inside - squares_in / inside : 0.0) + (outside > 0 ? outside - squares_out / outside : 0.0);
}

// Lower bound over all intervals whose ends lie in two blocks. Inside and outside under one label cost what the uncut
// node does, which no interval beats with: without a second score only different labels count.
int64_t IntervalCosts::bound(const Prefixes &sums, int32_t a0, int32_t a1, int32_t b0, int32_t b1) const {
  int64_t in_first = kNone, in_second = kNone, out_first = kNone, out_second = kNone, in_at = -1, out_at = -1;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t in = b0 > a1 ? sums.inside(j, a1, b0) : 0, out = total[j] - sums.inside(j, a0, b1);
    if (in < in_first) {
      in_second = in_first;
      in_first = in;
      in_at = j;
    } else {
      in_second = std::min(in_second, in);
    }
    if (out < out_first) {
      out_second = out_first;
      out_first = out;
      out_at = j;
    } else {
      out_second = std::min(out_second, out);
    }
  }
  if (gini || in_at != out_at) return in_first + out_first;
  if (k == 1) return kNone;
  return std::min(in_first + out_second, in_second + out_first);
}

void IntervalCosts::search_pairs(const Prefixes &sums, Pair &best) const {
  const int32_t last = sums.n_ends - 2;  // the last end with something on its right
  struct BlockPair {
    int64_t bound;
    int32_t a, b;
  };
  std::vector<BlockPair> pairs;
  for (int32_t a0 = 1; a0 < last; a0 += kBlock) {
    const int32_t a1 = std::min(a0 + kBlock - 1, last);
    for (int32_t b0 = a0; b0 <= last; b0 += kBlock) {
      const int64_t least = bound(sums, a0, a1, b0, std::min(b0 + kBlock - 1, last));
      if (least <= best.score && least != kNone) pairs.push_back({least, a0, b0});
    }
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const BlockPair &x, const BlockPair &y) { return std::tie(x.bound, x.a, x.b) < std::tie(y.bound, y.a, y.b); });
  int64_t scores[kBlock];
  for (const BlockPair &pair : pairs) {
    if (pair.bound > best.score) break;
    if (pair.bound == best.score && !gini && (best.a < 0 || best.a < pair.a)) continue;
    const int32_t a1 = std::min(pair.a + kBlock - 1, last), b1 = std::min(pair.b + kBlock - 1, last);
    for (int32_t a = pair.a; a <= a1; ++a) {
      const int32_t first = std::max(pair.b, a + 1), count = b1 - first + 1;
      if (count <= 0) continue;
      score_ends(sums.sums.data(), sums.n_ends, k, total, a, first, count, scores);
      for (int32_t i = 0; i < count; ++i) {
        if (scores[i] > best.score) continue;
        const double second = second_score(sums, sums, a, first + i);
        if (best.beaten_by(scores[i], second, a, first + i)) best = {scores[i], second, a, first + i};
      }
    }
  }
}

}  // namespace cutwise
