// Histograms of a node's rows over their codes, some of them packed several to a byte.
#pragma once

#include "encoding/encoded.hpp"

namespace cutwise {

// The same table with several small groups in one byte (a pack), so that a pass over many rows reads fewer bytes and adds to
// fewer cells.
//
// The code of a pack is the sum over its members of divisor * (code of the member's group). The histograms of the members are
// sums of cells of the pack's histogram.
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

// Packs the codes of a dense table. There are no packs when they would not save a quarter of the bytes, or the table is sparse.
PackedCodes pack_codes(const Encoded &encoded, int n_jobs);

// One number of every row, in an array of records.
template <class T>
struct PerRow {
  const T *data = nullptr;  // null: there are no numbers
  int64_t stride = 1;

  explicit operator bool() const { return data != nullptr; }
  T operator[](int64_t row) const { return data[row * stride]; }
};

// For every given row whose cluster is not negative, adds sign * (first[row], second[row]) to the cells (slot, cluster[row]) of
// all its slots. histogram: (n_slots, k, width), or null. totals: (k, width), the same sums over the rows. A null `first` or
// `second` means 1 for every row; `second` is read only where width is 2. packed: the same table in packs, or null; it changes
// the time, not the sums. Cells of uint16_t are for sparse tables only.
template <class Cluster, class First, class Cell>
void add_cluster_histogram(const Encoded &encoded, const PackedCodes *packed, const int32_t *rows, int64_t n,
                           PerRow<Cluster> cluster, PerRow<First> first, PerRow<int64_t> second, int64_t k, int64_t width,
                           int64_t sign, Cell *histogram, int64_t *totals, int n_jobs);

}  // namespace cutwise
