// Bounds of distances between rows and centers: how they move along with the centers, with as few branches as can be.
#include "clustering/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/simd.hpp"

namespace cutwise {
namespace {

template <bool squares>
CUTWISE_INLINE double about_cost(const double *row, const double *center, int64_t d) {
  double part[kLanes] = {0.0, 0.0, 0.0, 0.0};
  Lanes sum;
  load(sum, part);
  int64_t f = 0;
  for (; f + kLanes <= d; f += kLanes) {
    Lanes x, c;
    load(x, row + f);
    load(c, center + f);
    subtract(x, c);
    if constexpr (squares) square(x);
    else absolute(x);
    add(sum, x);
  }
  store(part, sum);
  double total = (part[0] + part[1]) + (part[2] + part[3]);
  for (; f < d; ++f) {
    const double difference = row[f] - center[f];
    total += squares ? difference * difference : std::fabs(difference);
  }
  return total;
}

}  // namespace

CUTWISE_CLONES double about_squared_distance(const double *row, const double *center, int64_t d) {
  return about_cost<true>(row, center, d);
}
CUTWISE_CLONES double about_l1_distance(const double *row, const double *center, int64_t d) {
  return about_cost<false>(row, center, d);
}

Moves::Moves(const std::vector<double> &moves) : each(moves.size()), of_others(moves.size()) {
  double most = 0.0, second = 0.0;
  size_t farthest = 0;
  for (size_t j = 0; j < moves.size(); ++j) {
    each[j] = moves[j] > 0.0 ? round_up(moves[j]) : 0.0f;
    if (moves[j] > most) {
      second = most;
      most = moves[j];
      farthest = j;
    } else {
      second = std::max(second, moves[j]);
    }
  }
  for (size_t j = 0; j < moves.size(); ++j) {
    const double other = j == farthest ? second : most;
    of_others[j] = other > 0.0 ? round_up(other) : 0.0f;
  }
}

CUTWISE_CLONES int64_t move_bounds(const int32_t *labels, const Moves &moves, int64_t first, int64_t last, float *upper,
                                   float *lower, int64_t *open) {
  // A sum or a product of floats is off by a share of 2^-24: these factors round outward what two of them make.
  constexpr float up = 1.0f + 0x1p-22f, down = 1.0f - 0x1p-22f;
  const float *each = moves.each.data(), *of_others = moves.of_others.data();
  for (int64_t row = first; row < last; ++row) {
    const float most = (upper[row] + each[labels[row]]) * up, least = (lower[row] - of_others[labels[row]]) * down;
    upper[row] = most < kLeastBound ? kLeastBound : most;
    lower[row] = least < kLeastBound ? 0.0f : least;
  }
  int64_t n_open = 0;
  for (int64_t row = first; row < last; ++row) {
    open[n_open] = row;
    n_open += !(upper[row] <= lower[row]);
  }
  return n_open;
}

}  // namespace cutwise
