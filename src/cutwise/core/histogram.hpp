#pragma once

#include <cstdint>

#include "encoded.hpp"

namespace cutwise {

// Adds sign * (first[row], second[row]) into cell (slot, cluster[row]) of a (n_slots, k, width) histogram, for every slot
// of every given row whose cluster is not negative. A null array of values stands for ones.
void add_cluster_histogram(const Encoded &encoded, const int32_t *rows, int64_t n, const int32_t *cluster,
                           const int64_t *first, const int64_t *second, int64_t k, int64_t width, int64_t sign,
                           int64_t *histogram, int n_jobs);

}  // namespace cutwise
