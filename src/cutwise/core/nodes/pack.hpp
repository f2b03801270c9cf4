// Several small groups in one byte: fewer bytes to read and fewer cells to add to, for passes over many rows.
#pragma once

#include <cstdint>
#include <vector>

#include "encoding/encoded.hpp"

namespace cutwise {

// code of the pack = sum over its members of divisor * (code of the member's group). A histogram over the codes of a pack
// gives those of its members by summing cells.
struct PackedCodes {
  struct Member {
    int32_t group, divisor, n_codes;
    int32_t code_in(int32_t packed) const { return packed / divisor % n_codes; }
  };

  int64_t n_rows = 0;
  std::vector<std::vector<Member>> packs;
  std::vector<uint8_t, Uninitialized<uint8_t>> codes;  // n_rows x n_packs, row-major

  int32_t n_packs() const { return static_cast<int32_t>(packs.size()); }
};

// Nothing (no packs) when packing would not save a quarter of the bytes, or for a sparse table.
PackedCodes pack_codes(const Encoded &encoded, int n_jobs);

}  // namespace cutwise
