// Dense tables to codes; see encoded.hpp for what the result means.
#pragma once

#include "base/matrix.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

Encoded encode_dense(const Matrix &matrix, bool bundle, int n_jobs);

}  // namespace cutwise
