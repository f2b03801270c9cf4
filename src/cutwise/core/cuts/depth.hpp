// The depth term of ExShallow: EvalWAD and EvalDExp in integers.
//
// Laber, Murtinho, Oliveira (2023), Algorithms 2 and 3, with the ceilings taken exactly.
#pragma once

#include "base/standard.hpp"

namespace cutwise {

// The summed depth of all points (n times WAD) in a theoretical tree with `centers` leaves over `points` points, all of whose
// nodes split points and centers in the same proportion as one cut does: left_low .. left_high of the points and left_centers
// of the centers. It is exact where left_low == left_high; otherwise a lower bound over all cuts with that many points on the
// left, since the points of a theoretical node never decrease when those of its parent increase.
inline int64_t total_depth(int64_t points, int64_t left_low, int64_t left_high, int64_t centers, int64_t left_centers) {
  struct Part {
    int64_t points, centers;
  };
  // The larger of two parts is put on the stack, so that the stack stays small.
  Part open[64];
  int n_open = 0;
  int64_t sum = 0;
  bool root = true;
  for (Part part{points, centers};;) {
    if (part.centers > 1) sum += part.points;
    if (part.points == 0 || part.centers <= 2) {
      if (n_open == 0) return sum;
      part = open[--n_open];
      continue;
    }
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
          // Both factors are little more than 2^31 at most, so the product fits in an unsigned number.
          const uint64_t product = static_cast<uint64_t>(part.points) * static_cast<uint64_t>(left);
          const uint64_t ceiling = product / points + (product % points != 0);
          return std::clamp<int64_t>(static_cast<int64_t>(ceiling), 1, part.points - 1);
        };
        n_left = share(left_low);
        n_right = part.points - (left_low == left_high ? n_left : share(left_high));
      }
    }
    root = false;
    const Part left{n_left, k_left}, right{n_right, part.centers - k_left};
    const bool left_waits = left.centers > right.centers;
    open[n_open++] = left_waits ? left : right;
    part = left_waits ? right : left;
  }
}

// The score of the cuts of one node: Price + penalty * DExp.
struct DepthScore {
  int64_t current = 0;  // cost of the node before the cut, in fixed-point units
  int64_t points = 0;   // summed weight of its rows
  int64_t centers = 0;
  double penalty = 0.0;
  // By column: 1 where a cut of it makes an ancestor's condition redundant on the left (right) side.
  const uint8_t *kills_left = nullptr, *kills_right = nullptr;

  double price(int64_t induced) const {
    if (current == 0) return induced == 0 ? 1.0 : std::numeric_limits<double>::infinity();
    return static_cast<double>(induced) / static_cast<double>(current);
  }

  // DExp times the points; a lower bound over cuts with left_low .. left_high points on the left, exact where both are equal.
  int64_t depth_of(int64_t left_low, int64_t left_high, int64_t left_centers, int32_t feature) const {
    if (penalty == 0.0 || points == 0) return 0;
    return without_kills(total_depth(points, left_low, left_high, centers, left_centers), left_low, left_high, feature);
  }
  int64_t without_kills(int64_t depth, int64_t left_low, int64_t left_high, int32_t feature) const {
    if (kills_left[feature]) depth -= left_high;
    if (kills_right[feature]) depth -= points - left_low;
    return depth;
  }

  double score(int64_t induced, int64_t depth) const {
    const double p = price(induced);
    if (penalty == 0.0 || points == 0) return p;
    return p + penalty * (static_cast<double>(depth) / static_cast<double>(points));
  }

  // Whether two scores differ by no more than rounding, so that their order is not certain.
  static bool is_near(double a, double b) {
    return std::abs(a - b) <= 0x1p-48 * std::min(std::max(std::abs(a), std::abs(b)), std::numeric_limits<double>::max());
  }

  // The sign of a - b for two scores, computed exactly from their terms where rounding could decide it.
  int compare(double a, int64_t a_induced, int64_t a_depth, double b, int64_t b_induced, int64_t b_depth) const {
    int order = a < b ? -1 : a > b;
    if (is_near(a, b)) {
      if (a_depth == b_depth || penalty == 0.0) order = a_induced < b_induced ? -1 : a_induced > b_induced;
#ifdef __SIZEOF_INT128__
      else order = exact_order(a_induced - b_induced, a_depth - b_depth, order);
#endif
    }
    return order;
  }

  // A lower bound on the score of cuts with left_low .. left_high points on the left, in constant time and weaker than
  // depth_of().
  double quick_bound(int64_t induced, int64_t left_low, int64_t left_high, int64_t left_centers, int32_t feature) const {
    const double p = price(induced);
    if (penalty == 0.0 || points == 0) return p;
    int64_t depth = points;
    if (left_centers > 1) depth += left_low;
    if (centers - left_centers > 1) depth += points - left_high;
    depth = without_kills(depth, left_low, left_high, feature);
    return p + penalty * (static_cast<double>(depth) / static_cast<double>(points));
  }

 private:
#ifdef __SIZEOF_INT128__
  // The sign of induced / current + penalty * depth / points in 128-bit integers, or `rounded` where they overflow. That
  // happens for penalties with many binary digits only, for which exact ties do not occur.
  int exact_order(int64_t induced, int64_t depth, int rounded) const {
    __extension__ using Wide = __int128;
    int exponent;
    auto digits = static_cast<int64_t>(std::ldexp(std::frexp(penalty, &exponent), 53));
    for (exponent -= 53; digits % 2 == 0; ++exponent) digits /= 2;
    if (std::abs(exponent) > 100) return rounded;
    Wide by_cost = static_cast<Wide>(induced) * points, by_depth = depth, sum;
    Wide &shifted = exponent < 0 ? by_cost : by_depth;
    const bool fits = !__builtin_mul_overflow(by_depth, static_cast<Wide>(std::max<int64_t>(current, 1)), &by_depth) &&
                      !__builtin_mul_overflow(by_depth, static_cast<Wide>(digits), &by_depth) &&
                      !__builtin_mul_overflow(shifted, Wide{1} << std::abs(exponent), &shifted) &&
                      !__builtin_add_overflow(by_cost, by_depth, &sum);
    return !fits ? rounded : sum < 0 ? -1 : sum > 0;
  }
#endif
};

}  // namespace cutwise
