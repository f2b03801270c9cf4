// What the rows of a leaf cost, from the sums of their payloads. Entry 0 of a payload is the row's weight.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clones.hpp"
#include "base/lanes.hpp"

namespace cutwise {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

enum class LeafCostKind {
  squares,  // squared distances to the mean: -|S|^2 / n, up to a constant
  counts,   // rows not of the leaf's most frequent label, and a little of their Gini impurity
};

struct LeafCost {
  LeafCostKind kind = LeafCostKind::squares;
  int32_t width = 0;  // numbers a row, a multiple of kLanes; what is not used is zero

  // Infinite where no row is: no leaf may be empty.
  CUTWISE_INLINE double operator()(const double *sums) const {
    const double n = sums[0];
    if (!(n > 0.0)) return kInfinite;
    if (kind == LeafCostKind::squares) return -squares(sums) / n;
    // Without the small second term, whole plateaus of cuts would look alike.
    constexpr double kGini = 0.001;
    double most = 0.0;
    for (int32_t j = 1; j < width; ++j) most = std::max(most, sums[j]);
    return n - most + kGini * (n - squares(sums) / n);
  }

 private:
  // Of all entries but the first, always in the same order.
  CUTWISE_INLINE double squares(const double *sums) const {
    static constexpr double kNoWeight[kLanes] = {0.0, 1.0, 1.0, 1.0};
    Lanes total, lane;
    load(total, sums);
    load(lane, kNoWeight);
    multiply(total, lane);
    square(total);
    for (int32_t j = kLanes; j < width; j += kLanes) {
      load(lane, sums + j);
      square(lane);
      add(total, lane);
    }
    alignas(sizeof(Lanes)) double parts[kLanes];
    store(parts, total);
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
  }
};

}  // namespace cutwise
