// What other stages use of medians.cpp. Nothing here touches Python; call it without the GIL.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rows.hpp"

namespace cutwise {

// The rows of every cluster, one cluster after the other, each in increasing order; negative labels are left out.
struct ClusterRows {
  ClusterRows(const int32_t *labels, int64_t n, int64_t k);

  const int64_t *rows(int64_t cluster) const { return order.data() + begin[cluster]; }
  int64_t size(int64_t cluster) const { return begin[cluster + 1] - begin[cluster]; }

  std::vector<int64_t> begin, order;
};

// What rows at or below a median weigh at least.
inline int64_t half_of(int64_t weight) { return weight - weight / 2; }

// -0.0 and 0.0 are one value; which of them is met depends on the order of the rows.
inline double plain_zero(double value) { return value + 0.0; }

// The lower weighted median of every column of the clusters marked in `wanted` (all where it is null), into k x d `medians`;
// clusters without weight keep what is there. What is there before is where the search begins: it is quicker near the medians,
// and from nan it begins nowhere. Weights (null: 1 each) add up to less than 2^62.
void medians_of(const RowReader &x, const ClusterRows &clusters, const int64_t *weights, const char *wanted, double *medians,
                int n_jobs);

}  // namespace cutwise
