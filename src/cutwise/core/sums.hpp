// What other stages use of sums.cpp.
#pragma once

#include <vector>

#include "matrix.hpp"

namespace cutwise {

// The largest absolute value of every column. Does not touch Python; call it without the GIL.
std::vector<double> column_sizes(const Matrix &x, int n_jobs);

}  // namespace cutwise
