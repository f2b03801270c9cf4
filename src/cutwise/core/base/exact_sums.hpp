// Sums of float64 values that do not depend on the order of the terms.
//
// A value is scaled by a power of two that maps the largest of its kind to 2^bits and split into two integers, the nearest one
// and what is left in units of 2^-bits; both are summed as int64, where order does not matter. Exact to 2^(-2 bits) of the
// largest value (80 bits for a million terms), so far beyond float64's own rounding, and an integer weight is a repeated
// term to the bit. What OpenMP or BLAS sums change with the number of threads, these do not.
#pragma once

#include "base/simd.hpp"

namespace cutwise {

// Rounds to the nearest integer, ties to even, as long as |v| <= 2^51: the sum's last bit is worth one.
constexpr double kMagic = 0x1.8p52;

CUTWISE_INLINE int64_t round_small(double v) { return bit_cast<int64_t>(v + kMagic) - bit_cast<int64_t>(kMagic); }

// The number of bits that a term may have when the weights of all terms add up to so much.
inline int term_bits(double total_weight) {
  if (!(total_weight <= 0x1p45)) throw std::invalid_argument("the weights add up to more than 2^45");
  int bits = 61;
  for (double reach = 1.0; reach < total_weight; reach *= 2) --bits;
  return std::min(bits, 50);
}

// The power of two that takes `largest` to at most 2^bits; 1 where all values are zero.
inline double term_scale(double largest, int bits) {
  if (!(largest > 0.0)) return 1.0;
  int exponent;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::min(bits - exponent, 1023));
}

struct SplitTerm {
  int64_t high, low;
};

// `unit` is 2^bits.
CUTWISE_INLINE SplitTerm split_term(double scaled, double unit) {
  const double nearest = (scaled + kMagic) - kMagic;
  return {round_small(nearest), round_small((scaled - nearest) * unit)};
}

// (high + low / unit) / weight / scale, where high and low are sums of terms of that total weight.
inline double mean_of_terms(int64_t high, int64_t low, int64_t weight, double unit, double scale) {
  if (high == 0 && low == 0) return 0.0;  // of most columns of sparse rows, and divisions take long
  // Integer quotients first: equal terms give their value back to the bit.
  const double w = static_cast<double>(weight);
  const double rest = static_cast<double>(high % weight) / w;
  const double fine = static_cast<double>(low / weight) + static_cast<double>(low % weight) / w;
  return (static_cast<double>(high / weight) + (rest + fine / unit)) / scale;
}

inline double sum_of_terms(int64_t high, int64_t low, double unit, double scale) {
  return (static_cast<double>(high) + static_cast<double>(low) / unit) / scale;
}

}  // namespace cutwise
