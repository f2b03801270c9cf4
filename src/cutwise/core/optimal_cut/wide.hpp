// Float64 values as several integers, and integers wide enough for what two-cluster costs are made of.
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

// 512 bits in two's complement.
class Wide {
 public:
  Wide() = default;

  // The value of parts, at `bits` bits a part.
  template <int n_parts>
  static Wide of(const Parts<n_parts> &parts, int bits) {
    Wide value;
    for (int i = 0; i < n_parts; ++i) {
      value.shift_left(bits);
      Wide next;
      const uint64_t low = static_cast<uint64_t>(parts.part[i]);
      next.word_[0] = static_cast<uint32_t>(low);
      next.word_[1] = static_cast<uint32_t>(low >> 32);
      if (parts.part[i] < 0)
        for (int w = 2; w < kWords; ++w) next.word_[w] = ~uint32_t{0};
      value.add(next);
    }
    return value;
  }

  void add(const Wide &other) {
    uint64_t carry = 0;
    for (int w = 0; w < kWords; ++w) {
      carry += uint64_t{word_[w]} + other.word_[w];
      word_[w] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void subtract(Wide other) {
    other.negate();
    add(other);
  }
  // Not negative: the absolute value.
  void make_absolute() {
    if (word_[kWords - 1] >> 31) negate();
  }
  // Right for negative values too: two's complement is arithmetic modulo 2^512.
  void multiply(uint64_t factor) {
    Wide high = *this;
    high.multiply_small(static_cast<uint32_t>(factor >> 32));
    high.shift_left(32);
    multiply_small(static_cast<uint32_t>(factor));
    add(high);
  }
  // Of a value that is not negative and has at most 256 bits.
  Wide square() const {
    Wide product;
    int used = kWords / 2;
    while (used > 0 && word_[used - 1] == 0) --used;
    for (int a = 0; a < used; ++a) {
      uint64_t carry = 0;
      for (int b = 0; a + b < kWords; ++b) {
        if (b >= used && carry == 0) break;
        carry += product.word_[a + b] + uint64_t{word_[a]} * (b < used ? word_[b] : 0);
        product.word_[a + b] = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
    }
    return product;
  }
  // Neither is negative.
  bool operator<(const Wide &other) const {
    for (int w = kWords - 1; w >= 0; --w)
      if (word_[w] != other.word_[w]) return word_[w] < other.word_[w];
    return false;
  }

 private:
  static constexpr int kWords = 16;
  std::array<uint32_t, kWords> word_{};

  void multiply_small(uint32_t factor) {
    uint64_t carry = 0;
    for (int w = 0; w < kWords; ++w) {
      carry += uint64_t{word_[w]} * factor;
      word_[w] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void negate() {
    uint64_t carry = 1;
    for (int w = 0; w < kWords; ++w) {
      carry += static_cast<uint32_t>(~word_[w]);
      word_[w] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void shift_left(int bits) {
    const int words = bits / 32, rest = bits % 32;
    for (int w = kWords - 1; w >= 0; --w) {
      uint64_t from = w >= words ? word_[w - words] : 0;
      from = from << rest;
      if (rest && w > words) from |= word_[w - words - 1] >> (32 - rest);
      word_[w] = static_cast<uint32_t>(from);
    }
  }
};

}  // namespace cutwise
