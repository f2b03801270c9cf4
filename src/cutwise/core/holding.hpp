// What a row keeps while centers are parted: its two nearest surviving clusters.
#pragma once

#include <cstdint>

#include "histogram.hpp"

namespace cutwise {

// One record a row, so that following a row down the tree touches one line of the cache.
struct RowState {
  int32_t nearest, second;  // -1: none
  int64_t loss;             // cost of the second less cost of the nearest
  int64_t cost;             // full cost under the nearest

  static constexpr int64_t width = 3;  // in int64

  static PerRow<int32_t> nearest_of(const RowState *states) { return {&states->nearest, 2 * width}; }
  static PerRow<int32_t> second_of(const RowState *states) { return {&states->second, 2 * width}; }
  static PerRow<int64_t> loss_of(const RowState *states) { return {&states->loss, width}; }
};
static_assert(sizeof(RowState) == RowState::width * sizeof(int64_t));

}  // namespace cutwise
