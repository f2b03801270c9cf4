// The best interval among prefix sums: pairs of ends, looked at in blocks, and a block only where its bound can beat the best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "nodes/node.hpp"

namespace cutwise {

// Running sums of the costs at every end, one line a cluster: ends lie side by side, so that pairs are scored in lanes.
struct Prefixes {
  int32_t n_ends = 0;         // ends 0 .. n_groups; end e has the groups before e on its left
  std::vector<int64_t> sums;  // (k, n_ends)

  int64_t at(int64_t j, int32_t end) const { return sums[j * n_ends + end]; }
  int64_t inside(int64_t j, int32_t a, int32_t b) const { return at(j, b) - at(j, a); }
};

struct Pair {
  int64_t score = kNone;
  double second = 0.0;
  int32_t a = -1, b = -1;  // -1: not an interval, but the cut that intervals have to beat

  bool beaten_by(int64_t other_score, double other_second, int32_t other_a, int32_t other_b) const {
    if (score != other_score) return other_score < score;
    if (second != other_second) return other_second < second;
    return a >= 0 && std::tie(other_a, other_b) < std::tie(a, b);
  }
};

// What intervals cost: each of the two sides is served by its best cluster.
struct IntervalCosts {
  int64_t k;
  const int64_t *total;  // by cluster, of all rows of the node
  bool gini;             // costs are those of 0/1 disagreement, and Gini impurity decides between equals

  // Of the interval from `low`'s end a to `high`'s end b.
  int64_t score(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    int64_t in_least = kNone, out_least = kNone;
    for (int64_t j = 0; j < k; ++j) {
      const int64_t in = high.at(j, b) - low.at(j, a);
      in_least = std::min(in_least, in);
      out_least = std::min(out_least, total[j] - in);
    }
    return in_least + out_least;
  }

  double second_score(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    return gini ? impurity(low, high, a, b) : 0.0;
  }

  // Betters `best` to the best pair of ends 0 < a < b < n_ends - 1.
  void search_pairs(const Prefixes &sums, Pair &best) const;

 private:
  double impurity(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const;
  int64_t bound(const Prefixes &sums, int32_t a0, int32_t a1, int32_t b0, int32_t b1) const;
};

}  // namespace cutwise
