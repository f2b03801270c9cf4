// What it costs to do without a leaf.
#include <algorithm>

#include "refine/changes.hpp"

namespace cutwise {

double deletion_change(const CutTree &tree, int32_t leaf, Scratch &scratch) {
  const Sample &sample = tree.sample();
  const int32_t width = sample.width();
  if (sample.size_price > 0.0) {  // every rule beside it may get shorter
    CutTree without = tree;
    without.remove_leaf(leaf);
    return without.value() - tree.value();
  }
  const int32_t parent = tree.node(leaf).parent;
  const int32_t sibling = tree.node(parent).left == leaf ? tree.node(parent).right : tree.node(parent).left;
  const std::vector<int32_t> leaves = tree.leaves_below(sibling);
  std::vector<int32_t> place(*std::max_element(leaves.begin(), leaves.end()) + 1);
  std::vector<double> sums(leaves.size() * width);
  for (size_t l = 0; l < leaves.size(); ++l) {
    place[leaves[l]] = static_cast<int32_t>(l);
    std::copy(tree.sums(leaves[l]), tree.sums(leaves[l]) + width, sums.begin() + static_cast<int64_t>(l) * width);
  }
  const int32_t *row = tree.rows(leaf);
  for (int32_t i = 0; i < tree.n_rows(leaf); ++i)
    add_row(sums.data() + static_cast<int64_t>(place[tree.route(row[i], sibling)]) * width, sample.row(row[i]), width);
  scratch.work += tree.n_rows(leaf);
  double with = 0.0, without = 0.0;
  for (size_t l = 0; l < leaves.size(); ++l) {
    with += tree.leaf_cost(leaves[l]);
    without += sample.cost(sums.data() + l * width);
  }
  return without - (with + tree.leaf_cost(leaf));
}

}  // namespace cutwise
