// Rows of the caller's table as float64, which the numeric kernels read.
//
// The kernels are compiled once, for float64; only the reading is compiled for every dtype and layout. The cost of a virtual
// call per tile or per sparse row is negligible.
#pragma once

#include "base/matrix.hpp"

namespace cutwise {

constexpr int64_t kBlockRows = 2048;  // rows in one piece of parallel work

inline int64_t count_blocks(int64_t n_rows) { return (n_rows + kBlockRows - 1) / kBlockRows; }

// The rows of every cluster, each list in increasing order; rows with negative labels are left out. first: the number of the
// first row.
struct ClusterRows {
  ClusterRows(const int32_t *labels, int64_t n, int64_t k, int64_t first = 0);

  const int64_t *rows(int64_t cluster) const { return order.data() + begin[cluster]; }
  int64_t size(int64_t cluster) const { return begin[cluster + 1] - begin[cluster]; }

  std::vector<int64_t> begin, order;
};

// How many rows of `width` float64 make a tile, so that it fits in the first-level cache.
constexpr int64_t kMostTileRows = 256;
inline int64_t tile_rows(int64_t width) {
  return std::clamp<int64_t>(2048 / std::max<int64_t>(width, 1) / 4 * 4, 8, kMostTileRows);
}

// Some neighboring rows of a dense table.
struct Tile {
  const double *rows;
  int64_t stride;  // between rows
};

// The stored values of a CSR row, and all values of a dense row.
struct StoredRow {
  const int32_t *columns;
  const double *values;
  int64_t n;

  int64_t column(int64_t at) const { return columns[at]; }
};
struct DenseRow {
  const double *values;
  int64_t n;

  int64_t column(int64_t at) const { return at; }
};

class RowReader {
 public:
  // The matrix must outlive the reader. Readers do not use Python, and threads may share them.
  static std::unique_ptr<RowReader> of(const Matrix &x);
  virtual ~RowReader() = default;

  bool is_sparse() const { return sparse_; }
  int64_t n_rows() const { return n_rows_; }
  int64_t n_cols() const { return n_cols_; }

  // Whether rows can be read as dense tiles: true for dense tables, and for CSR tables with few columns, where that is cheap
  // compared with the other work on a row.
  bool gives_tiles() const { return gives_tiles_; }

  // Rows first .. first + n - 1, read in place where they are dense and float64 already, else converted into the scratch.
  virtual Tile tile(int64_t first, int64_t n, std::vector<double> &scratch) const;
  // Writes the given rows one after another, with n_cols() values each.
  void gather(const int64_t *rows, int64_t n, double *to) const { gather_columns(rows, n, 0, n_cols_, to); }
  // Writes columns first .. last - 1 of the given rows one after another.
  virtual void gather_columns(const int64_t *rows, int64_t n, int64_t first, int64_t last, double *to) const;
  // The stored values of a sparse row.
  virtual StoredRow stored(int64_t, std::vector<double> &) const { throw std::logic_error("a dense row has no stored values"); }
  virtual double value(int64_t row, int64_t col) const = 0;
  // Writes the n_cols() values of a row.
  void read(int64_t row, double *to) const;
  // Calls take(row, values) for the rows first .. last - 1, whose values are a DenseRow if the table gives tiles, or a
  // StoredRow.
  template <class Take>
  void each(int64_t first, int64_t last, Take &&take) const {
    std::vector<double> scratch;
    const int64_t step = gives_tiles_ ? tile_rows(n_cols_) : 1;
    for (int64_t row = first; row < last; row += step) {
      if (!gives_tiles_) {
        take(row, stored(row, scratch));
        continue;
      }
      const int64_t n = std::min(step, last - row);
      const Tile rows = tile(row, n, scratch);
      for (int64_t r = 0; r < n; ++r) take(row + r, DenseRow{rows.rows + r * rows.stride, n_cols_});
    }
  }

 protected:
  RowReader(int64_t n_rows, int64_t n_cols, bool sparse, bool gives_tiles)
      : n_rows_(n_rows), n_cols_(n_cols), sparse_(sparse), gives_tiles_(gives_tiles) {}

  // Writes columns first .. last - 1 of a row, for readers that have no faster way to make tiles and to gather.
  virtual void read_part(int64_t, int64_t, int64_t, double *) const { throw std::logic_error("sparse rows make no tile"); }

 private:
  int64_t n_rows_, n_cols_;
  bool sparse_, gives_tiles_;
};

}  // namespace cutwise
