// What a row keeps while centers are parted: its two nearest surviving clusters.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nodes/histogram.hpp"

namespace cutwise {

// One record a row, so that following a row down the tree touches one line of the cache; as narrow as the costs and the
// number of clusters allow, for there are as many as rows.
template <class Cost_, class Index_>
struct RowState {
  using Cost = Cost_;
  using Index = Index_;
  // NumPy holds records as lines of so many words.
  using Word = std::conditional_t<sizeof(Cost) == 4, Index, Cost>;

  Cost loss;              // cost of the second less cost of the nearest
  Index nearest, second;  // -1: none

  static constexpr int64_t width() { return sizeof(RowState) / sizeof(Word); }

  static PerRow<Index> nearest_of(const RowState *states) { return {&states->nearest, sizeof(RowState) / sizeof(Index)}; }
  static PerRow<Index> second_of(const RowState *states) { return {&states->second, sizeof(RowState) / sizeof(Index)}; }
  static PerRow<Cost> loss_of(const RowState *states) { return {&states->loss, sizeof(RowState) / sizeof(Cost)}; }
};

// searches.new_states knows the same three.
using SmallState = RowState<int32_t, int16_t>;
using MiddleState = RowState<int32_t, int32_t>;
using LargeState = RowState<int64_t, int32_t>;
static_assert(sizeof(SmallState) == 8 && sizeof(MiddleState) == 12 && sizeof(LargeState) == 16);

}  // namespace cutwise
