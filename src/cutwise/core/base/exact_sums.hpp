// Sums of float64 values that do not depend on the order of the terms.
//
// A value is scaled by a power of two that maps the largest value to 2^bits, and split into two integers: the nearest integer,
// and the rest in units of 2^-bits. Both are summed as int64, where the order does not matter. The sums are exact to 2^(-2
// bits) of the largest value (80 bits for a million terms), which is far more precise than float64, and an integer weight
// equals a repeated term to the bit. Sums by OpenMP or BLAS, in contrast, change with the number of threads.
#pragma once

#include "base/simd.hpp"

namespace cutwise {

constexpr double kMagic = 0x1.8p52;

// Rounds to the nearest integer, ties to even, for |v| <= 2^51: the last bit of v + kMagic has the value 1.
CUTWISE_INLINE int64_t round_small(double v) { return bit_cast<int64_t>(v + kMagic) - bit_cast<int64_t>(kMagic); }

// The number of bits that a term may have when the weights of all terms add up to total_weight.
inline int term_bits(double total_weight) {
  if (!(total_weight <= 0x1p45)) throw std::invalid_argument("the weights add up to more than 2^45");
  int bits = 61;
  for (double reach = 1.0; reach < total_weight; reach *= 2) --bits;
  return std::min(bits, 50);
}

// The power of two that scales `largest` to at most 2^bits; 1 where all values are zero.
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
  const double shifted = scaled + kMagic, nearest = shifted - kMagic;
  return {bit_cast<int64_t>(shifted) - bit_cast<int64_t>(kMagic), round_small((scaled - nearest) * unit)};
}

// (high + low / unit) / weight / scale, where high and low are sums of terms of that total weight.
inline double mean_of_terms(int64_t high, int64_t low, int64_t weight, double unit, double scale) {
  if (high == 0 && low == 0) return 0.0;  // saves the divisions, as in most columns of sparse rows
  // With integer quotients first, the mean of equal terms is their value to the bit.
  const double w = static_cast<double>(weight);
  const double rest = static_cast<double>(high % weight) / w;
  const double fine = static_cast<double>(low / weight) + static_cast<double>(low % weight) / w;
  return (static_cast<double>(high / weight) + (rest + fine / unit)) / scale;
}

inline double sum_of_terms(int64_t high, int64_t low, double unit, double scale) {
  return (static_cast<double>(high) + static_cast<double>(low) / unit) / scale;
}

}  // namespace cutwise
