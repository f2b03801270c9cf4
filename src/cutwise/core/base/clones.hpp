// CUTWISE_CLONES before a hot function: compiled twice, for the baseline and for x86-64-v3 (AVX2), the fit one chosen when the
// module is loaded. Both give the same bits: nothing is reassociated, and multiply-add is never fused (-ffp-contract=off).
//
// What such a function calls in its inner loop must be CUTWISE_INLINE, or it is compiled for the baseline alone. The
// sanitizers start too late for a choice at load time, and C libraries other than glibc do not support one.
#pragma once

#include <cstdint>

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
