// The depth term of ExShallow: EvalWAD and EvalDExp in integers.
//
// Laber, Murtinho, Oliveira (2023), Algorithms 2 and 3, with the ceilings taken exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace cutwise {

// Depths of all points added up (n times WAD) for a theoretical tree with `centers` leaves over `points` points whose nodes
// split points and centers as one cut does: `left_low` .. `left_high` of `points` and `left_centers` of `centers`. With
// left_low == left_high it is exact; else a lower bound over every cut with that many points on the left, since the points
// of each theoretical node never decrease when its parent's do.
inline int64_t total_depth(int64_t points, int64_t left_low, int64_t left_high, int64_t centers, int64_t left_centers) {
  struct Part {
    int64_t points, centers;
  };
  static thread_local std::vector<Part> open;
  open.clear();
  open.push_back({points, centers});
  int64_t sum = 0;
  bool root = true;
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (part.centers <= 1 || part.points == 0) continue;
    sum += part.points;
    int64_t k_left, n_left, n_right;
    if (root) {
      k_left = left_centers;
      n_left = left_low;
      n_right = points - left_high;
    } else {
      k_left = (part.centers * left_centers + centers - 1) / centers;
      k_left = std::clamp<int64_t>(k_left, 1, part.centers - 1);
      const int64_t k_right = part.centers - k_left;
      if (part.points == 1) {
        n_left = k_left > k_right ? 1 : 0;
        n_right = 1 - n_left;
      } else {
        auto share = [&](int64_t left) {
          // Both factors are at most 2^31 and a few more, so the product fits without a sign.
          const uint64_t product = static_cast<uint64_t>(part.points) * static_cast<uint64_t>(left);
          const uint64_t ceiling = product / points + (product % points != 0);
          return std::clamp<int64_t>(static_cast<int64_t>(ceiling), 1, part.points - 1);
        };
        n_left = share(left_low);
        n_right = part.points - share(left_high);
      }
    }
    root = false;
    open.push_back({n_left, k_left});
    open.push_back({n_right, part.centers - k_left});
  }
  return sum;
}

// Price + depth_penalty * DExp of the cuts of one node.
struct DepthScore {
  int64_t current = 0;  // full cost of the node before the cut, in fixed-point units
  int64_t points = 0;   // summed weight of its rows
  int64_t centers = 0;
  double penalty = 0.0;
  const uint8_t *kills_left = nullptr, *kills_right = nullptr;  // by column: an ancestor's condition becomes redundant

  double price(int64_t induced) const {
    if (current == 0) return induced == 0 ? 1.0 : std::numeric_limits<double>::infinity();
    return static_cast<double>(induced) / static_cast<double>(current);
  }

  // Lower bound of the score over cuts with left_low .. left_high points on the left; exact when both are equal.
  double score(int64_t induced, int64_t left_low, int64_t left_high, int64_t left_centers, int32_t feature) const {
    const double p = price(induced);
    if (penalty == 0.0 || points == 0) return p;
    int64_t depth = total_depth(points, left_low, left_high, centers, left_centers);
    if (kills_left[feature]) depth -= left_high;
    if (kills_right[feature]) depth -= points - left_low;
    return p + penalty * (static_cast<double>(depth) / static_cast<double>(points));
  }

  // The same, weaker and in constant time.
  double quick_bound(int64_t induced, int64_t left_low, int64_t left_high, int64_t left_centers, int32_t feature) const {
    const double p = price(induced);
    if (penalty == 0.0 || points == 0) return p;
    int64_t depth = points;
    if (left_centers > 1) depth += left_low;
    if (centers - left_centers > 1) depth += points - left_high;
    if (kills_left[feature]) depth -= left_high;
    if (kills_right[feature]) depth -= points - left_low;
    return p + penalty * (static_cast<double>(depth) / static_cast<double>(points));
  }
};

}  // namespace cutwise
