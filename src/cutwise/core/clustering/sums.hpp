// What other stages use of sums.cpp. Nothing here touches Python; call it without the GIL.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rows.hpp"
#include "clustering/weights.hpp"

namespace cutwise {

// The largest absolute value of every column.
std::vector<double> column_sizes(const RowReader &x, int n_jobs);

// Adds `weight` times the split terms of a row of d values to the sums; a negative weight takes the row out again.
void add_row(const double *row, const double *scale, int64_t d, double unit, int64_t weight, int64_t *high, int64_t *low);

// Adds the split terms of a row multiplied by a fraction of at most 1.
void add_product(const double *row, const double *scale, int64_t d, double unit, double weight, int64_t *high, int64_t *low);

// The same for CSR rows.
void add_row(const StoredRow &row, const double *scale, double unit, int64_t weight, int64_t *high, int64_t *low);
void add_product(const StoredRow &row, const double *scale, double unit, double weight, int64_t *high, int64_t *low);

// How many bits a term may have: whole weights repeat terms, fractional ones are multiplied in before the split.
int bits_of_terms(const AnyWeights &weights, int64_t n);

}  // namespace cutwise
