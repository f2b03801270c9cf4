// Bounds of distances between rows and centers, for Hamerly's algorithm.
//
// They are float32, rounded outward; beyond its range, or below where it has all its digits, they say nothing, and the row is
// looked at every time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace cutwise {

constexpr float kLeastBound = std::numeric_limits<float>::min();

inline float round_up(double distance) {
  if (!(distance < 1e38)) return std::numeric_limits<float>::infinity();
  return std::max(static_cast<float>(distance * (1.0 + 0x1p-22)), kLeastBound);
}
inline float round_down(double distance) {
  if (!(distance < 1e38)) return 0.0f;
  const float bound = static_cast<float>(distance * (1.0 - 0x1p-22));
  return bound < kLeastBound ? 0.0f : bound;
}

// For bounds only: four partial sums, so not the bits of the cost kernels.
double about_squared_distance(const double *row, const double *center, int64_t d);
double about_l1_distance(const double *row, const double *center, int64_t d);

// How far centers moved, each and the farthest other than it, rounded up.
struct Moves {
  explicit Moves(const std::vector<double> &moves);

  std::vector<float> each, of_others;
};

// Moves the bounds of rows first .. last - 1 along with the centers; which rows' bounds no longer part, and how many.
int64_t move_bounds(const int32_t *labels, const Moves &moves, int64_t first, int64_t last, float *upper, float *lower,
                    int64_t *open);

}  // namespace cutwise
