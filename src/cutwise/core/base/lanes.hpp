// Four float64 side by side, each with its own sum: lanes never mix, so vector width changes no bit of a result.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/clones.hpp"

namespace cutwise {

constexpr int kLanes = 4;

// Lanes are passed by reference only: by value they would have another calling convention in each clone.
#if defined(__GNUC__)
typedef double Lanes __attribute__((vector_size(32)));
typedef int64_t LaneBits __attribute__((vector_size(32)));

CUTWISE_INLINE void subtract_from(Lanes &out, double x, const Lanes &c) { out = x - c; }
CUTWISE_INLINE void square(Lanes &v) { v = v * v; }
CUTWISE_INLINE void multiply(Lanes &v, const Lanes &by) { v = v * by; }
CUTWISE_INLINE void absolute(Lanes &v) { v = (Lanes)((LaneBits)v & 0x7fffffffffffffff); }
CUTWISE_INLINE void add(Lanes &sum, const Lanes &v) { sum = sum + v; }
CUTWISE_INLINE void subtract(Lanes &out, const Lanes &v) { out = out - v; }
CUTWISE_INLINE void keep_smaller(Lanes &m, const Lanes &v) { m = v < m ? v : m; }
CUTWISE_INLINE void keep_larger(Lanes &m, const Lanes &v) { m = v > m ? v : m; }
// Where v is x and the number is smaller.
CUTWISE_INLINE void keep_first(Lanes &first, const Lanes &number, const Lanes &v, double x) {
  const Lanes smaller = number < first ? number : first, all_x = {x, x, x, x};
  first = v == all_x ? smaller : first;
}
#else
struct Lanes {
  double v[kLanes];
};

#define CUTWISE_EACH_LANE for (int i = 0; i < kLanes; ++i)
CUTWISE_INLINE void subtract_from(Lanes &out, double x, const Lanes &c) { CUTWISE_EACH_LANE out.v[i] = x - c.v[i]; }
CUTWISE_INLINE void square(Lanes &a) { CUTWISE_EACH_LANE a.v[i] = a.v[i] * a.v[i]; }
CUTWISE_INLINE void multiply(Lanes &a, const Lanes &by) { CUTWISE_EACH_LANE a.v[i] = a.v[i] * by.v[i]; }
CUTWISE_INLINE void absolute(Lanes &a) { CUTWISE_EACH_LANE a.v[i] = std::fabs(a.v[i]); }
CUTWISE_INLINE void add(Lanes &sum, const Lanes &a) { CUTWISE_EACH_LANE sum.v[i] = sum.v[i] + a.v[i]; }
CUTWISE_INLINE void subtract(Lanes &out, const Lanes &a) { CUTWISE_EACH_LANE out.v[i] = out.v[i] - a.v[i]; }
CUTWISE_INLINE void keep_smaller(Lanes &m, const Lanes &a) { CUTWISE_EACH_LANE m.v[i] = a.v[i] < m.v[i] ? a.v[i] : m.v[i]; }
CUTWISE_INLINE void keep_larger(Lanes &m, const Lanes &a) { CUTWISE_EACH_LANE m.v[i] = a.v[i] > m.v[i] ? a.v[i] : m.v[i]; }
CUTWISE_INLINE void keep_first(Lanes &first, const Lanes &number, const Lanes &a, double x) {
  CUTWISE_EACH_LANE first.v[i] = a.v[i] == x && number.v[i] < first.v[i] ? number.v[i] : first.v[i];
}
#undef CUTWISE_EACH_LANE
#endif

CUTWISE_INLINE void load(Lanes &out, const double *from) { std::memcpy(&out, from, sizeof(Lanes)); }
CUTWISE_INLINE void store(double *to, const Lanes &v) { std::memcpy(to, &v, sizeof(Lanes)); }

}  // namespace cutwise
