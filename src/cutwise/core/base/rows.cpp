// Reading rows of every dtype and layout as float64.
#include "base/rows.hpp"

#include "base/simd.hpp"

namespace cutwise {
namespace {

template <class T>
CUTWISE_CLONES void convert(const T *from, int64_t n, double *to) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    prefetch(from + i + 512, 64);
    for (int64_t j = i; j < i + 16; ++j) to[j] = static_cast<double>(from[j]);
  }
  for (; i < n; ++i) to[i] = static_cast<double>(from[i]);
}

template <class T>
class DenseReader final : public RowReader {
 public:
  explicit DenseReader(const Dense<T> &x) : RowReader(x.n_rows, x.n_cols, false, true), x_(x) {}

  Tile tile(int64_t first, int64_t n, std::vector<double> &scratch) const override {
    const int64_t d = x_.n_cols;
    const T *from = x_.data + first * x_.row_stride;
    if constexpr (std::is_same_v<T, double>) {
      if (x_.col_stride == 1 || d == 1) return {from, x_.row_stride};
    }
    if (scratch.size() < static_cast<size_t>(n * d)) scratch.resize(n * d);
    double *to = scratch.data();
    if (x_.col_stride == 1 && x_.row_stride == d) {
      convert(from, n * d, to);
    } else if (x_.col_stride == 1) {
      for (int64_t r = 0; r < n; ++r) convert(from + r * x_.row_stride, d, to + r * d);
    } else {
      for (int64_t f = 0; f < d; ++f)
        for (int64_t r = 0; r < n; ++r) to[r * d + f] = static_cast<double>(from[r * x_.row_stride + f * x_.col_stride]);
    }
    return {to, d};
  }

  void gather_columns(const int64_t *rows, int64_t n, int64_t first, int64_t last, double *to) const override {
    const int64_t width = last - first;
    if (x_.col_stride == 1) {
      for (int64_t r = 0; r < n; ++r) convert(x_.data + rows[r] * x_.row_stride + first, width, to + r * width);
    } else {
      for (int64_t f = 0; f < width; ++f)
        for (int64_t r = 0; r < n; ++r) to[r * width + f] = x_(rows[r], first + f);
    }
  }

  double value(int64_t row, int64_t col) const override { return x_(row, col); }

 private:
  const Dense<T> x_;
};

template <class T>
class CsrReader final : public RowReader {
 public:
  explicit CsrReader(const Csr<T> &x) : RowReader(x.n_rows, x.n_cols, true, x.n_cols <= kFewColumns), x_(x) {}

  StoredRow stored(int64_t row, std::vector<double> &scratch) const override {
    const int64_t begin = x_.indptr[row], n = x_.indptr[row + 1] - begin;
    if constexpr (std::is_same_v<T, double>) {
      return {x_.indices + begin, x_.data + begin, n};
    } else {
      if (scratch.size() < static_cast<size_t>(n)) scratch.resize(n);
      for (int64_t p = 0; p < n; ++p) scratch[p] = static_cast<double>(x_.data[begin + p]);
      return {x_.indices + begin, scratch.data(), n};
    }
  }

  double value(int64_t row, int64_t col) const override { return x_(row, col); }

 private:
  static constexpr int64_t kFewColumns = 64;

  void read_part(int64_t row, int64_t first, int64_t last, double *to) const override {
    std::fill_n(to, last - first, 0.0);
    for (int64_t p = x_.indptr[row]; p < x_.indptr[row + 1]; ++p)
      if (x_.indices[p] >= first && x_.indices[p] < last) to[x_.indices[p] - first] = static_cast<double>(x_.data[p]);
  }

  const Csr<T> x_;
};

class DerivedReader final : public RowReader {
 public:
  explicit DerivedReader(const Derived &x) : RowReader(x.n_rows, x.n_cols, false, true), x_(x) {}

  double value(int64_t row, int64_t col) const override { return x_(row, col); }

 private:
  void read_part(int64_t row, int64_t first, int64_t last, double *to) const override {
    for (int64_t col = first; col < last; ++col) to[col - first] = x_(row, col);
  }

  const Derived x_;
};

std::unique_ptr<RowReader> reader_of(const Derived &x) { return std::make_unique<DerivedReader>(x); }
template <class T>
std::unique_ptr<RowReader> reader_of(const Dense<T> &x) {
  return std::make_unique<DenseReader<T>>(x);
}
template <class T>
std::unique_ptr<RowReader> reader_of(const Csr<T> &x) {
  return std::make_unique<CsrReader<T>>(x);
}

}  // namespace

ClusterRows::ClusterRows(const int32_t *labels, int64_t n, int64_t k, int64_t first) : begin(k + 1, 0) {
  for (int64_t i = 0; i < n; ++i)
    if (labels[i] >= 0) ++begin[labels[i] + 1];
  for (int64_t j = 0; j < k; ++j) begin[j + 1] += begin[j];
  order.resize(begin[k]);
  std::vector<int64_t> next(begin.begin(), begin.end() - 1);
  for (int64_t i = 0; i < n; ++i)
    if (labels[i] >= 0) order[next[labels[i]]++] = first + i;
}

Tile RowReader::tile(int64_t first, int64_t n, std::vector<double> &scratch) const {
  if (scratch.size() < static_cast<size_t>(n * n_cols_)) scratch.resize(n * n_cols_);
  for (int64_t r = 0; r < n; ++r) read_part(first + r, 0, n_cols_, scratch.data() + r * n_cols_);
  return {scratch.data(), n_cols_};
}

void RowReader::gather_columns(const int64_t *rows, int64_t n, int64_t first, int64_t last, double *to) const {
  for (int64_t r = 0; r < n; ++r) read_part(rows[r], first, last, to + r * (last - first));
}

void RowReader::read(int64_t row, double *to) const {
  if (!sparse_) return gather(&row, 1, to);
  std::vector<double> scratch;
  const StoredRow from = stored(row, scratch);
  std::fill_n(to, n_cols_, 0.0);
  for (int64_t p = 0; p < from.n; ++p) to[from.columns[p]] = from.values[p];
}

std::unique_ptr<RowReader> RowReader::of(const Matrix &x) {
  return x.visit([](const auto &table) { return reader_of(table); });
}

namespace {

auto gather_rows(const Matrix &matrix, In1<int64_t> rows, const std::optional<In1<int64_t>> &columns) {
  check_rows(matrix, rows);
  const int64_t n = rows.size(), d = matrix.n_cols(), width = columns ? static_cast<int64_t>(columns->size()) : d;
  for (int64_t j = 0; columns && j < width; ++j)
    require((*columns)(j) >= 0 && (*columns)(j) < d, "columns are numbered from 0");
  NewArray<double, 2> values(n, width);
  double *to = values.data();
  without_gil([&] {
    const auto reader = RowReader::of(matrix);
    if (matrix.is_sparse() && columns) {
      std::vector<double> whole(d, 0.0);
      std::vector<double> scratch;
      for (int64_t i = 0; i < n; ++i) {
        const StoredRow stored = reader->stored(rows(i), scratch);
        for (int64_t p = 0; p < stored.n; ++p) whole[stored.columns[p]] = stored.values[p];
        for (int64_t j = 0; j < width; ++j) to[i * width + j] = whole[(*columns)(j)];
        for (int64_t p = 0; p < stored.n; ++p) whole[stored.columns[p]] = 0.0;
      }
    } else if (matrix.is_sparse()) {
      for (int64_t i = 0; i < n; ++i) reader->read(rows(i), to + i * d);
    } else if (columns) {
      matrix.visit([&, from = columns->data()](const auto &table) {
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < width; ++j) to[i * width + j] = table(rows(i), from[j]);
      });
    } else {
      reader->gather(rows.data(), n, to);
    }
  });
  return values.to_numpy();
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_gather(nb::module_ &m) {
  m.def("gather_rows", &gather_rows, "matrix"_a, "rows"_a, "columns"_a.none() = nb::none(),
        "Some rows of a matrix, in some columns or all, dense, as float64.");
}
