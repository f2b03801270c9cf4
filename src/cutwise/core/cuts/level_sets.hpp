// Which side of a cut by levels a rule names: the side with fewer levels, so that the rule reads "is one of" or "is none of".
#pragma once

#include "base/standard.hpp"

namespace cutwise {

// The named side: the one with fewer present levels, then with less weight, then the one without the first present level.
struct NamedSide {
  std::vector<int32_t> levels;  // of the named side, increasing
  bool is_left = true;
  int64_t weight = 0;

  // in_left: by level. weight: of the level's rows in the node; levels of weight 0 are not present.
  static NamedSide of(const std::vector<uint8_t> &in_left, const std::vector<int64_t> &weight) {
    NamedSide sides[2];
    int first = -1;
    for (size_t v = 0; v < in_left.size(); ++v) {
      if (weight[v] == 0) continue;
      const int side = in_left[v] ? 0 : 1;
      if (first < 0) first = side;
      sides[side].levels.push_back(static_cast<int32_t>(v));
      sides[side].weight += weight[v];
    }
    sides[1].is_left = false;
    const auto &left = sides[0], &right = sides[1];
    if (left.levels.size() != right.levels.size()) return sides[left.levels.size() < right.levels.size() ? 0 : 1];
    if (left.weight != right.weight) return sides[left.weight < right.weight ? 0 : 1];
    return sides[first == 0 ? 1 : 0];
  }

  // The order of equally good cuts: fewer named levels first, then lower ones.
  friend bool operator<(const NamedSide &a, const NamedSide &b) {
    if (a.levels.size() != b.levels.size()) return a.levels.size() < b.levels.size();
    return a.levels < b.levels;
  }
};

// Gives levels that cost the same on both sides (2 in `side`) to the side that is not named.
inline void assign_ties(std::vector<uint8_t> &side, const std::vector<int64_t> &weight) {
  std::vector<int64_t> without_ties = weight;
  bool any = false;
  for (size_t v = 0; v < side.size(); ++v)
    if (side[v] == 2) without_ties[v] = 0, any = true;
  if (!any) return;
  const uint8_t outside = NamedSide::of(side, without_ties).is_left ? 0 : 1;
  for (auto &s : side)
    if (s == 2) s = outside;
}

}  // namespace cutwise
