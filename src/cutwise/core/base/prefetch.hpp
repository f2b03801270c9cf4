// Asks for memory ahead of its use; a hint that changes no result.
#pragma once

#include <cstdint>

namespace cutwise {

inline void prefetch(const void *memory, int64_t n_bytes) {
#if defined(__GNUC__)
  for (int64_t at = 0; at < n_bytes; at += 64) __builtin_prefetch(static_cast<const char *>(memory) + at);
#else
  static_cast<void>(memory);
  static_cast<void>(n_bytes);
#endif
}

}  // namespace cutwise
