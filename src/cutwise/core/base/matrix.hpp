// The caller's table as the kernels read it: dense with one of five dtypes and any strides, CSR, or columns that are computed
// from those of another table as they are read. It is never copied or written.
#pragma once

#include "base/arrays.hpp"

namespace cutwise {

// A dense table of one dtype. Values are compared and summed as float64.
template <class T>
struct Dense {
  using value_type = T;
  static constexpr bool is_csr = false;
  const T *data;
  int64_t n_rows, n_cols;
  int64_t row_stride, col_stride;  // in elements; negative and zero strides are fine

  const T *address(int64_t row, int64_t col) const { return data + row * row_stride + col * col_stride; }
  double operator()(int64_t row, int64_t col) const { return static_cast<double>(*address(row, col)); }
};

// A CSR table of one dtype. The column indices of a row increase strictly, and no stored value is zero.
template <class T>
struct Csr {
  using value_type = T;
  static constexpr bool is_csr = true;
  const int64_t *indptr;
  const int32_t *indices;
  const T *data;
  int64_t n_rows, n_cols;

  double operator()(int64_t row, int64_t col) const {
    const int32_t *first = indices + indptr[row], *last = indices + indptr[row + 1];
    const int32_t *found = std::lower_bound(first, last, static_cast<int32_t>(col));
    return found != last && *found == col ? static_cast<double>(data[found - indices]) : 0.0;
  }
};

// Columns computed from a table with categories and missing values (NaN). A column is 1 where its source column has a given
// level, and 0 elsewhere; or a number, and `missing` where it is missing.
struct Derived {
  using value_type = double;
  static constexpr bool is_csr = false;
  const double *data;
  int64_t row_stride, col_stride;
  const int32_t *source, *level;  // by column; a level of -1 means numbers
  const double *missing;
  int64_t n_rows, n_cols;

  const double *address(int64_t row, int64_t col) const { return data + row * row_stride + source[col] * col_stride; }
  double operator()(int64_t row, int64_t col) const {
    const double x = *address(row, col);
    if (level[col] >= 0) return x == static_cast<double>(level[col]) ? 1.0 : 0.0;
    return std::isnan(x) ? missing[col] : x;
  }
};

using AnyArray = nb::ndarray<nb::ro, nb::numpy, nb::device::cpu>;

// Keeps the caller's arrays alive, and gives typed access to them.
class Matrix {
 public:
  static Matrix dense(AnyArray values) {
    require(values.ndim() == 2, "a dense matrix has two dimensions");
    Matrix m;
    m.values_ = std::move(values);
    m.n_rows_ = static_cast<int64_t>(m.values_.shape(0));
    m.n_cols_ = static_cast<int64_t>(m.values_.shape(1));
    m.check_dtype();
    return m;
  }

  static Matrix csr(In1<int64_t> indptr, In1<int32_t> indices, AnyArray values, int64_t n_cols) {
    require(values.ndim() == 1 && values.shape(0) == indices.shape(0), "indices and values of a CSR matrix have one length");
    require(indptr.size() > 0, "indptr of a CSR matrix is never empty");
    require(values.shape(0) <= 1 || values.stride(0) == 1, "values of a CSR matrix are contiguous");
    const int64_t first = indptr(0), last = indptr(indptr.shape(0) - 1);
    require(first == 0 && last >= 0 && last <= static_cast<int64_t>(indices.shape(0)),
            "indptr of a CSR matrix goes from 0 to at most the number of stored values");
    require(n_cols >= 0, "a matrix has no negative number of columns");
    Matrix m;
    m.sparse_ = true;
    m.n_rows_ = static_cast<int64_t>(indptr.shape(0)) - 1;
    m.n_cols_ = n_cols;
    m.indptr_ = std::move(indptr);
    m.indices_ = std::move(indices);
    m.values_ = std::move(values);
    m.check_dtype();
    return m;
  }

  static Matrix derived(AnyArray values, In1<int32_t> source, In1<int32_t> level, In1<double> missing) {
    Matrix m = dense(std::move(values));
    require(m.values_.dtype() == nb::dtype<double>(), "columns are derived of float64");
    require(level.size() == source.size() && missing.size() == source.size(), "source, level and missing have one length");
    for (size_t i = 0; i < source.size(); ++i)
      require(source(i) >= 0 && source(i) < m.n_cols_, "source is a column of the table");
    m.n_cols_ = static_cast<int64_t>(source.size());
    m.derived_ = true;
    m.source_ = std::move(source);
    m.level_ = std::move(level);
    m.missing_ = std::move(missing);
    return m;
  }

  int64_t n_rows() const { return n_rows_; }
  int64_t n_cols() const { return n_cols_; }
  bool is_sparse() const { return sparse_; }

  // Calls f with a Derived, or a Dense<T> or a Csr<T>, T one of float, double, int32_t, int64_t, uint8_t.
  template <class F>
  decltype(auto) visit(F &&f) const {
    if (derived_)
      return f(Derived{static_cast<const double *>(values_.data()), values_.stride(0), values_.stride(1), source_.data(),
                       level_.data(), missing_.data(), n_rows_, n_cols_});
    if (values_.dtype() == nb::dtype<float>()) return visit_typed<float>(std::forward<F>(f));
    if (values_.dtype() == nb::dtype<double>()) return visit_typed<double>(std::forward<F>(f));
    if (values_.dtype() == nb::dtype<int32_t>()) return visit_typed<int32_t>(std::forward<F>(f));
    if (values_.dtype() == nb::dtype<int64_t>()) return visit_typed<int64_t>(std::forward<F>(f));
    return visit_typed<uint8_t>(std::forward<F>(f));
  }

 private:
  template <class T, class F>
  decltype(auto) visit_typed(F &&f) const {
    const T *data = static_cast<const T *>(values_.data());
    if (sparse_) return f(Csr<T>{indptr_.data(), indices_.data(), data, n_rows_, n_cols_});
    return f(Dense<T>{data, n_rows_, n_cols_, values_.stride(0), values_.stride(1)});
  }

  void check_dtype() const {
    const auto t = values_.dtype();
    if (t != nb::dtype<float>() && t != nb::dtype<double>() && t != nb::dtype<int32_t>() && t != nb::dtype<int64_t>() &&
        t != nb::dtype<uint8_t>())
      throw std::invalid_argument("a matrix holds float32, float64, int32, int64 or uint8");
  }

  AnyArray values_;
  In1<int64_t> indptr_;
  In1<int32_t> indices_;
  In1<int32_t> source_, level_;
  In1<double> missing_;
  int64_t n_rows_ = 0, n_cols_ = 0;
  bool sparse_ = false, derived_ = false;
};

inline void check_rows(const Matrix &matrix, const In1<int64_t> &rows) {
  for (size_t i = 0; i < rows.size(); ++i) require(rows(i) >= 0 && rows(i) < matrix.n_rows(), "rows are numbered from 0");
}

}  // namespace cutwise
