// Single changes of a tree, and what they would gain.
#pragma once

#include <cstdint>
#include <vector>

#include "refine/cut_tree.hpp"

namespace cutwise {

struct Scratch {
  std::vector<double> tables, sums, cost, value, weight;
  std::vector<int32_t> rows;
  int64_t work = 0;  // additions of a row, or of a bin, to the sums of a column
};

// The best cut of one node, everything below and above it as it is; of equals the one of the lowest column, then bin.
struct Recut {
  double value;  // of the node's leaves; infinite where no cut leaves every leaf a row
  int32_t column, bin;
};
Recut best_recut(const CutTree &tree, int32_t node, Scratch &scratch);
// Makes it, if it gains more than the sample's threshold.
bool recut(CutTree &tree, int32_t node, Scratch &scratch);

// A new inner node above a node, with a new leaf as its other child.
struct Insertion {
  double change;  // of the tree's value; infinite where none leaves every leaf a row
  int32_t above, column, bin;
  bool new_on_left;
};
Insertion best_insertion(const CutTree &tree, int32_t above, Scratch &scratch);

// What the value changes by when a leaf goes and its sibling takes its parent's place.
double deletion_change(const CutTree &tree, int32_t leaf, Scratch &scratch);

}  // namespace cutwise
