// Tools for fast loops that do not change a bit of their results: functions compiled twice for wider vectors, lanes,
// prefetching, large pages, and a fast sort of records.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/standard.hpp"

// A function with CUTWISE_CLONES is compiled twice, for the baseline and for x86-64-v3 (AVX2), and one is chosen when the
// module is loaded. Both have the same results: nothing is reassociated, and multiply-add is never fused (-ffp-contract=off).
//
// Functions called in its inner loop must be CUTWISE_INLINE, or they are compiled for the baseline only. The choice at load
// time is not possible with sanitizers, which start too late, nor with C libraries other than glibc.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define CUTWISE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#endif
#ifndef CUTWISE_CLONES
#define CUTWISE_CLONES
#endif

#if defined(__GNUC__)
#define CUTWISE_INLINE inline __attribute__((always_inline))
#else
#define CUTWISE_INLINE inline
#endif

namespace cutwise {

// C++20's std::bit_cast.
template <class To, class From>
CUTWISE_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Four float64 that are worked on in parallel. Lanes never mix, so the width of vectors does not change a result.

constexpr int kLanes = 4;

// Lanes are passed by reference only, since the calling convention for values differs between the clones.
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
// Replaces `first` by `number` in lanes where v == x and number < first.
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

// Hints that memory will be read soon.
inline void prefetch(const void *memory, int64_t n_bytes) {
#if defined(__GNUC__)
  for (int64_t at = 0; at < n_bytes; at += 64) __builtin_prefetch(static_cast<const char *>(memory) + at);
#else
  static_cast<void>(memory);
  static_cast<void>(n_bytes);
#endif
}

// Allocates memory, to be freed with std::free. Large blocks are in pages of 2 MiB, since mapping 512 small pages takes longer
// than filling them.
inline void *allocate_bytes(size_t n_bytes) {
  void *memory = nullptr;
#if defined(__linux__)
  constexpr size_t page = size_t{2} << 20;
  if (n_bytes >= page) {
    memory = std::aligned_alloc(page, (n_bytes + page - 1) / page * page);
    // A last page that would be mostly empty is left in small pages.
    if (memory != nullptr) madvise(memory, (n_bytes + page / 2) / page * page, MADV_HUGEPAGE);
  } else
#endif
    memory = std::malloc(n_bytes > 0 ? n_bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Sorts records by increasing `value`; records of equal value are in any order. A bucket sort with as many buckets of equal
// width as there are records, so that most records are in their place after one pass.
template <class Record>
void sort_by_value(std::vector<Record> &records) {
  constexpr size_t kFewest = 32, kMost = size_t{1} << 16;  // so that the buckets fit in the caches
  const auto is_before = [](const Record &a, const Record &b) { return a.value < b.value; };
  const size_t n = records.size();
  double scale = 0.0, low = 0.0;
  if (n >= kFewest && n <= kMost) {
    const auto [least, most] = std::minmax_element(records.begin(), records.end(), is_before);
    low = least->value;
    scale = static_cast<double>(n - 1) / (most->value - low);
  }
  if (!(scale > 0.0 && std::isfinite(scale))) return std::sort(records.begin(), records.end(), is_before);
  const auto part_of = [&](const Record &record) { return static_cast<size_t>((record.value - low) * scale); };
  std::vector<uint32_t> end(n + 1, 0);
  for (const Record &record : records) ++end[part_of(record) + 1];
  for (size_t part = 0; part < n; ++part) end[part + 1] += end[part];
  const std::vector<Record> from = records;
  for (const Record &record : from) records[end[part_of(record)]++] = record;
  for (size_t part = 0, begin = 0; part < n; begin = end[part++])
    if (end[part] > begin + 1) std::sort(records.begin() + begin, records.begin() + end[part], is_before);
}

}  // namespace cutwise
