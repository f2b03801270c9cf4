// Weights that may be fractions, and the functions of sums.cpp for other files.
#pragma once

#include "base/arrays.hpp"
#include "base/exact_sums.hpp"
#include "base/rows.hpp"

namespace cutwise {

// The weights of rows for means, medians and sums. std::monostate: each row counts once.
using AnyWeights = std::variant<std::monostate, In1<int64_t>, In1<double>>;

// Requires one finite weight that is not negative for each of n rows.
inline void check_weights(const AnyWeights &weights, int64_t n) {
  const auto check = [&](const auto *w) {
    if (w == nullptr) return;
    require(static_cast<int64_t>(w->size()) == n, "there is one weight for each row");
    for (int64_t i = 0; i < n; ++i)
      require((*w)(i) >= 0 && std::isfinite(static_cast<double>((*w)(i))), "weights are finite and not negative");
  };
  check(std::get_if<In1<int64_t>>(&weights));
  check(std::get_if<In1<double>>(&weights));
}

// Requires one label below k for each of n rows. Rows with negative labels are left out of sums.
inline void check_labels(const In1<int32_t> &labels, int64_t n, int64_t k) {
  require(k > 0, "there is at least one cluster");
  require(has_shape(labels, n), "there is one label for each row");
  for (int64_t i = 0; i < n; ++i) require(labels(i) < k, "a label is not below the number of clusters");
}

// The functions below do not use Python; they are called without the GIL.

// The sum of n terms of at most `largest`, each counted some `times`. bits: of a term, see exact_sums.hpp.
template <class Term, class Times>
double sum_exactly(int64_t n, double largest, int bits, Term &&term_of, Times &&times) {
  const double scale = term_scale(largest, bits), unit = std::ldexp(1.0, bits);
  int64_t high = 0, low = 0;
  for (int64_t i = 0; i < n; ++i) {
    const SplitTerm term = split_term(term_of(i) * scale, unit);
    high += times(i) * term.high;
    low += times(i) * term.low;
  }
  return sum_of_terms(high, low, unit, scale);
}

// The largest absolute value of every column.
std::vector<double> column_sizes(const RowReader &x, int n_jobs);

inline void add_all(std::vector<int64_t> &to, const std::vector<int64_t> &from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// Adds `weight` times the split terms of a row (see exact_sums.hpp) to the sums. scale: by column. unit: 2^bits.
void add_row(const DenseRow &row, const double *scale, double unit, int64_t weight, int64_t *high, int64_t *low);
void add_row(const StoredRow &row, const double *scale, double unit, int64_t weight, int64_t *high, int64_t *low);

// Adds the split terms of a row multiplied by `weight`, a fraction of at most 1.
void add_product(const DenseRow &row, const double *scale, double unit, double weight, int64_t *high, int64_t *low);
void add_product(const StoredRow &row, const double *scale, double unit, double weight, int64_t *high, int64_t *low);

// The number of bits that a term may have. Integer weights count as repeated terms; fractional weights are multiplied in before
// the split.
int bits_of_terms(const AnyWeights &weights, int64_t n);

}  // namespace cutwise
