// Histograms of a node's rows over their codes, some of them packed several to a byte.
#pragma once

#include "encoding/encoded.hpp"

namespace cutwise {

// Several small groups in one byte: fewer bytes to read and fewer cells to add to, for passes over many rows.

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

// One number a row in an array of records.
template <class T>
struct PerRow {
  const T *data = nullptr;  // null: none is given
  int64_t stride = 1;

  explicit operator bool() const { return data != nullptr; }
  T operator[](int64_t row) const { return data[row * stride]; }
};

// Adds sign * (first[row], second[row]) into cell (slot, cluster[row]) of a (n_slots, k, width) histogram, for every slot
// of every given row whose cluster is not negative. A null array of values stands for
// ones, a null histogram for none; totals is the same summed over slots, of shape (k, width). packed: the
// same table in fewer bytes, or null; it changes the time, not the sums. Cells of uint16_t are for sparse tables alone.
template <class Cluster, class First, class Cell>
void add_cluster_histogram(const Encoded &encoded, const PackedCodes *packed, const int32_t *rows, int64_t n,
                           PerRow<Cluster> cluster, PerRow<First> first, PerRow<int64_t> second, int64_t k, int64_t width,
                           int64_t sign, Cell *histogram, int64_t *totals, int n_jobs);

}  // namespace cutwise
