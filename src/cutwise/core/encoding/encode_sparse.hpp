// CSR tables to slots; see encoded.hpp for what the result means.
#pragma once

#include "base/matrix.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

Encoded encode_sparse(const Matrix &matrix, int n_jobs);

}  // namespace cutwise
