// A few rows at a time as row-major float64, small enough for the nearest caches: what the numeric kernels work on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "matrix.hpp"

namespace cutwise {

constexpr int64_t kBlockRows = 2048;  // rows of one piece of parallel work

inline int64_t count_blocks(int64_t n_rows) { return (n_rows + kBlockRows - 1) / kBlockRows; }

// Rows of a tile of so many float64 a row.
inline int64_t tile_rows(int64_t row_width) {
  return std::clamp<int64_t>(8192 / std::max<int64_t>(row_width, 1) / 4 * 4, 8, 256);
}

struct Tile {
  const double *rows;
  int64_t stride;  // between rows
};

// Rows first .. first + n - 1 as float64; read in place where they are that already, else converted into the scratch.
template <class T>
Tile load_tile(const Dense<T> &x, int64_t first, int64_t n, std::vector<double> &scratch) {
  const int64_t d = x.n_cols;
  const T *from = x.data + first * x.row_stride;
  if constexpr (std::is_same_v<T, double>) {
    if (x.col_stride == 1 || d == 1) return {from, x.row_stride};
  }
  if (scratch.size() < static_cast<size_t>(n * d)) scratch.resize(n * d);
  double *to = scratch.data();
  if (x.col_stride == 1) {
    for (int64_t r = 0; r < n; ++r)
      for (int64_t f = 0; f < d; ++f) to[r * d + f] = static_cast<double>(from[r * x.row_stride + f]);
  } else {
    for (int64_t f = 0; f < d; ++f)
      for (int64_t r = 0; r < n; ++r) to[r * d + f] = static_cast<double>(from[r * x.row_stride + f * x.col_stride]);
  }
  return {to, d};
}

}  // namespace cutwise
