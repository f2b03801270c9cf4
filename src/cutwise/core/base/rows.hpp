// Rows of a caller's table as float64, whatever its dtype and layout: what the numeric kernels read.
//
// The kernels are compiled once, for float64; only the reading is compiled for every dtype. A virtual call a tile, or a
// sparse row, costs nothing beside the work on it.
#pragma once

#include "base/matrix.hpp"

namespace cutwise {

constexpr int64_t kBlockRows = 2048;  // rows of one piece of parallel work

inline int64_t count_blocks(int64_t n_rows) { return (n_rows + kBlockRows - 1) / kBlockRows; }

// Rows that are worked on together, so many float64 wide: they stay in the nearest caches.
constexpr int64_t kMostTileRows = 256;
inline int64_t tile_rows(int64_t width) {
  return std::clamp<int64_t>(2048 / std::max<int64_t>(width, 1) / 4 * 4, 8, kMostTileRows);
}

// Dense rows, one after the other.
struct Tile {
  const double *rows;
  int64_t stride;  // between rows
};

// Where rows are put that are not read in place.
struct RowScratch : std::vector<double> {
  std::vector<int32_t> columns;  // of a sparse row
};

// The stored values of a CSR row.
struct StoredRow {
  const int32_t *columns;
  const double *values;
  int64_t n;
};

class RowReader {
 public:
  // The matrix outlives the reader. Neither touches Python; readers may be shared by threads.
  static std::unique_ptr<RowReader> of(const Matrix &x);
  virtual ~RowReader() = default;

  bool is_sparse() const { return sparse_; }
  int64_t n_rows() const { return n_rows_; }
  int64_t n_cols() const { return n_cols_; }

  // Whether rows can be had dense: those of dense tables, and CSR rows of few columns, where the sums of all columns cost
  // little beside what else is done for a row.
  bool gives_tiles() const { return gives_tiles_; }

  // Rows first .. first + n - 1, read in place where they are dense and float64 already, else converted into the scratch.
  virtual Tile tile(int64_t first, int64_t n, std::vector<double> &scratch) const;
  // The given rows, n_cols() apart.
  void gather(const int64_t *rows, int64_t n, double *to) const { gather_columns(rows, n, 0, n_cols_, to); }
  // Columns first .. last - 1 of the given rows, last - first apart.
  virtual void gather_columns(const int64_t *rows, int64_t n, int64_t first, int64_t last, double *to) const;
  // Sparse.
  virtual StoredRow stored(int64_t, RowScratch &) const { throw std::logic_error("a dense row has no stored values"); }
  // Either.
  virtual double value(int64_t row, int64_t col) const = 0;
  void read(int64_t row, double *to) const;  // n_cols() values

 protected:
  RowReader(int64_t n_rows, int64_t n_cols, bool sparse, bool gives_tiles)
      : n_rows_(n_rows), n_cols_(n_cols), sparse_(sparse), gives_tiles_(gives_tiles) {}

  // Columns first .. last - 1 of a row, for readers that have no quicker way to make tiles and to gather.
  virtual void read_part(int64_t, int64_t, int64_t, double *) const { throw std::logic_error("sparse rows make no tile"); }

 private:
  int64_t n_rows_, n_cols_;
  bool sparse_, gives_tiles_;
};

}  // namespace cutwise
