// A set of levels as people say it: the side of a cut with fewer levels is named, all others are outside.
#pragma once

#include "base/standard.hpp"

namespace cutwise {

// Which of two sides is named: fewer present levels, then less weight, then without the first present level.
struct NamedSide {
  std::vector<int32_t> levels;  // named, increasing
  bool is_left = true;
  int64_t weight = 0;

  // in_left: by level; weight: of its rows in the node, 0 where there are none.
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

  // Of cuts that are worth as much, the one that names fewer levels, then the lower ones.
  friend bool operator<(const NamedSide &a, const NamedSide &b) {
    if (a.levels.size() != b.levels.size()) return a.levels.size() < b.levels.size();
    return a.levels < b.levels;
  }
};

// Puts levels that cost as much on either side (2 in `side`) outside: on the side that is not named without them.
inline void assign_ties(std::vector<uint8_t> &side, const std::vector<int64_t> &weight) {
  std::vector<int64_t> placed = weight;
  bool any = false;
  for (size_t v = 0; v < side.size(); ++v)
    if (side[v] == 2) placed[v] = 0, any = true;
  if (!any) return;
  const uint8_t outside = NamedSide::of(side, placed).is_left ? 0 : 1;
  for (auto &s : side)
    if (s == 2) s = outside;
}

}  // namespace cutwise
