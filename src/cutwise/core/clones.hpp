// One source, two builds of a hot loop: plain x86-64 and x86-64-v3, chosen when the library is loaded.
// Contraction is off, so both give the same bits.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CUTWISE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CUTWISE_CLONES
#endif
