// Exact sums over rows, which do not depend on the order of the rows or on threads; see exact_sums.hpp.
#include "clustering/sums.hpp"
#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"

namespace cutwise {

namespace {

template <class Row>
CUTWISE_CLONES void keep_largest(const Row &row, double *largest) {
  for (int64_t p = 0; p < row.n; ++p) {
    double &most = largest[row.column(p)];
    const double size = std::fabs(row.values[p]);
    most = size > most ? size : most;
  }
}

// Adds `times` the split terms of `factor` times the values. row: a copy, which the sums that are written cannot overlap, so
// that the loop is vectorized.
template <class Row>
CUTWISE_INLINE void add_terms(Row row, const double *scale, double unit, double factor, int64_t times, int64_t *high,
                              int64_t *low) {
  for (int64_t p = 0; p < row.n; ++p) {
    const int64_t f = row.column(p);
    const SplitTerm term = split_term(factor * (row.values[p] * scale[f]), unit);
    high[f] += times * term.high;
    low[f] += times * term.low;
  }
}

}  // namespace

CUTWISE_CLONES void add_row(const DenseRow &row, const double *scale, double unit, int64_t weight, int64_t *high,
                            int64_t *low) {
  if (weight == 1) add_terms(row, scale, unit, 1.0, 1, high, low);  // without multiplications of int64, which take long
  else add_terms(row, scale, unit, 1.0, weight, high, low);
}
void add_row(const StoredRow &row, const double *scale, double unit, int64_t weight, int64_t *high, int64_t *low) {
  add_terms(row, scale, unit, 1.0, weight, high, low);
}
CUTWISE_CLONES void add_product(const DenseRow &row, const double *scale, double unit, double weight, int64_t *high,
                                int64_t *low) {
  add_terms(row, scale, unit, weight, 1, high, low);
}
void add_product(const StoredRow &row, const double *scale, double unit, double weight, int64_t *high, int64_t *low) {
  add_terms(row, scale, unit, weight, 1, high, low);
}

std::vector<double> column_sizes(const RowReader &x, int n_jobs) {
  const int64_t d = x.n_cols(), n = x.n_rows(), n_pieces = std::max<int64_t>(1, std::min<int64_t>(n_jobs, count_blocks(n)));
  std::vector<double> largest(n_pieces * d, 0.0);
  parallel_for(n_jobs, n_pieces, [&](int64_t piece) {
    x.each(n * piece / n_pieces, n * (piece + 1) / n_pieces,
           [&](int64_t, const auto &row) { keep_largest(row, largest.data() + piece * d); });
  });
  for (int64_t piece = 1; piece < n_pieces; ++piece)
    for (int64_t f = 0; f < d; ++f) largest[f] = std::max(largest[f], largest[piece * d + f]);
  largest.resize(d);
  return largest;
}

int bits_of_terms(const AnyWeights &weights, int64_t n) {
  const auto *w = std::get_if<In1<int64_t>>(&weights);
  double total = w == nullptr ? static_cast<double>(n) : 0.0;
  for (int64_t i = 0; w != nullptr && i < n; ++i) total += static_cast<double>((*w)(i));
  return term_bits(total);
}

namespace {

double exact_sum(const In1<double> &values, const AnyWeights &weights) {
  const int64_t n = values.shape(0);
  check_weights(weights, n);
  const GilRelease release;
  const int bits = bits_of_terms(weights, n);
  const auto *w = std::get_if<In1<int64_t>>(&weights);
  const auto *v = std::get_if<In1<double>>(&weights);
  const auto term_of = [&](int64_t i) { return v != nullptr ? (*v)(i)*values(i) : values(i); };
  double largest = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(values(i))) return values(i);
    largest = std::max(largest, std::fabs(term_of(i)));
  }
  if (!std::isfinite(largest)) {  // a product overflows float64, and so does the sum
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += term_of(i);
    return sum;
  }
  return sum_exactly(n, largest, bits, term_of, [&](int64_t i) { return w != nullptr ? (*w)(i) : 1; });
}

}  // namespace
}  // namespace cutwise

void bind_sums(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("exact_sum", &cutwise::exact_sum, "values"_a, "weights"_a.none() = nb::none(),
        "The (weighted) sum of values, which does not depend on their order; int64 weights equal repeated values exactly.");
}
