// Histograms of a node's rows over their codes.
#pragma once

#include "encoding/encoded.hpp"

namespace cutwise {

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
// `second` means 1 for every row; `second` is read only where width is 2. Cells of uint16_t are for sparse tables only.
template <class Cluster, class First, class Cell>
void add_cluster_histogram(const Encoded &encoded, const int32_t *rows, int64_t n, PerRow<Cluster> cluster, PerRow<First> first,
                           PerRow<int64_t> second, int64_t k, int64_t width, int64_t sign, Cell *histogram, int64_t *totals,
                           int n_jobs);

// Adds k numbers to k sums.
void add_numbers(int64_t *sums, const int64_t *numbers, int64_t k);
void add_numbers(int64_t *sums, const int32_t *numbers, int64_t k);
void add_numbers(int64_t *sums, const uint16_t *numbers, int64_t k);

}  // namespace cutwise
