// Float64 values as several integers.
//
// exact_sums.hpp splits a value in two, which is enough to round a sum correctly. To tell whether two cuts cost the same, sums
// must be exact: four integers hold every bit of a column of float64 values whose exponents differ by less than 60 or so.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/exact_sums.hpp"

namespace cutwise {

// parts[0] * 2^(bits (n - 1)) + parts[1] * 2^(bits (n - 2)) + ...; sums go part by part, and a part may be negative.
template <int n_parts>
struct Parts {
  std::array<int64_t, n_parts> part{};

  CUTWISE_INLINE void add(const Parts &other) {
    for (int i = 0; i < n_parts; ++i) part[i] += other.part[i];
  }
  CUTWISE_INLINE void subtract(const Parts &other) {
    for (int i = 0; i < n_parts; ++i) part[i] -= other.part[i];
  }
  CUTWISE_INLINE void add_times(const Parts &other, int64_t factor) {
    for (int i = 0; i < n_parts; ++i) part[i] += other.part[i] * factor;
  }
  // Carries what exceeds `bits` to the part above, so that parts compare one by one from the first.
  void carry(int bits) {
    const int64_t unit = int64_t{1} << bits;
    for (int i = n_parts - 1; i > 0; --i) {
      int64_t up = part[i] / unit;
      if (part[i] % unit < 0) --up;
      part[i] -= up * unit;
      part[i - 1] += up;
    }
  }
};

// `scale` takes the largest value of its kind to at most 2^bits, and `unit` is 2^bits; bits <= 50.
template <int n_parts>
CUTWISE_INLINE Parts<n_parts> split_value(double value, double scale, double unit) {
  Parts<n_parts> parts;
  double rest = value * scale;
  for (int i = 0; i < n_parts; ++i) {
    parts.part[i] = round_small(rest);
    rest = (rest - static_cast<double>(parts.part[i])) * unit;  // exact: what is left has fewer digits than the value
  }
  return parts;
}

}  // namespace cutwise
