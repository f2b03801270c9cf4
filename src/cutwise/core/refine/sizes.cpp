// A leaf more or less: the best new leaf above a node, and what it costs to do without one.
#include <algorithm>

#include "refine/cut_tree.hpp"

namespace cutwise {

// The best new leaf above a node, read from the tables of the leaves below it: no row is touched.

namespace {

// Rules with a new test of any column above a node: those below get a condition unless they have it, the new leaf as well.
struct NewSizes {
  std::vector<double> size;                  // per leaf, with the new condition and one more level
  std::vector<uint8_t> has_left, has_right;  // (n_leaves, n_cols): conditions that are there with the rows on that side
  double new_size;
  std::vector<uint8_t> new_has_left, new_has_right;  // (n_cols,)
  double elsewhere;                                  // of all other rules
};

NewSizes sizes_with_new_test(const CutTree &tree, int32_t above, const std::vector<int32_t> &leaves) {
  const size_t n_cols = tree.sample().n_cols;
  NewSizes sizes;
  sizes.elsewhere = tree.size_below(tree.root()) - tree.size_below(above);
  sizes.has_left.assign(leaves.size() * n_cols, 0);
  sizes.has_right.assign(leaves.size() * n_cols, 0);
  sizes.new_has_left.assign(n_cols, 0);
  sizes.new_has_right.assign(n_cols, 0);
  for (size_t l = 0; l < leaves.size(); ++l) {
    tree.conditions(leaves[l], -1, true, sizes.has_left.data() + l * n_cols);
    const int32_t n = tree.conditions(leaves[l], -1, false, sizes.has_right.data() + l * n_cols);
    sizes.size.push_back(n + 1 + 0.25 * (tree.depth(leaves[l]) + 1));
  }
  tree.conditions(above, -1, true, sizes.new_has_left.data());
  sizes.new_size = tree.conditions(above, -1, false, sizes.new_has_right.data()) + 1 + 0.25 * (tree.depth(above) + 1);
  return sizes;
}

CUTWISE_CLONES void scan(const Sample &sample, int32_t above, const std::vector<const LeafTable *> &tables, const double *total,
                         const NewSizes *sizes, Scratch &scratch, Insertion &best) {
  const int32_t width = sample.width();
  const size_t n_leaves = tables.size();
  for (int32_t column = 0; column < sample.n_cols; ++column) {
    const int32_t begin = sample.bin_begin[column], n_bins = sample.n_bins(column);
    const size_t n = static_cast<size_t>(n_bins) * width;
    scratch.tables.resize(std::max(scratch.tables.size(), n));
    scratch.value.assign(2 * static_cast<size_t>(n_bins), 0.0);
    double *sums = scratch.tables.data(), *above_value = scratch.value.data(), *below_value = above_value + n_bins;
    std::fill(sums, sums + n, 0.0);
    for (const LeafTable *table : tables) {
      const double *bins = table->sums.data() + static_cast<int64_t>(begin) * width;
      for (size_t j = 0; j < n; ++j) sums[j] += bins[j];
      for (int32_t b = 0; b < n_bins; ++b) above_value[b] += table->above[begin + b];
      for (int32_t b = 0; b < n_bins; ++b) below_value[b] += table->below[begin + b];
    }
    double *below = scratch.sums.data(), *rest = below + width;  // of the new leaf when it is left, or right
    std::fill(below, below + width, 0.0);
    std::copy(total, total + width, rest);
    if (sizes != nullptr) scratch.weight.assign(n_leaves, 0.0);
    for (int32_t b = 0; b + 1 < n_bins; ++b) {
      if (sizes != nullptr)
        for (size_t l = 0; l < n_leaves; ++l) scratch.weight[l] += tables[l]->sums[static_cast<size_t>(begin + b) * width];
      if (sums[static_cast<size_t>(b) * width] == 0.0) continue;
      add_row(below, sums + static_cast<size_t>(b) * width, width);
      subtract_row(rest, sums + static_cast<size_t>(b) * width, width);
      double left = above_value[b] + sample.cost(below), right = below_value[b] + sample.cost(rest);
      if (sizes != nullptr) {
        double left_size = sizes->elsewhere + below[0] * (sizes->new_size - sizes->new_has_left[column]);
        double right_size = sizes->elsewhere + rest[0] * (sizes->new_size - sizes->new_has_right[column]);
        for (size_t l = 0; l < n_leaves; ++l) {
          const size_t at = l * sample.n_cols + column;
          left_size += (scratch.cost[l] - scratch.weight[l]) * (sizes->size[l] - sizes->has_right[at]);
          right_size += scratch.weight[l] * (sizes->size[l] - sizes->has_left[at]);
        }
        left += sample.price_of(left_size);
        right += sample.price_of(right_size);
      }
      if (left < best.change) best = {left, above, column, b, true};
      if (right < best.change) best = {right, above, column, b, false};
    }
  }
}

}  // namespace

Insertion best_insertion(const CutTree &tree, int32_t above, Scratch &scratch) {
  const Sample &sample = tree.sample();
  const int32_t width = sample.width();
  const std::vector<int32_t> leaves = tree.leaves_below(above);
  std::vector<const LeafTable *> tables;
  std::vector<double> total(width, 0.0);
  scratch.cost.resize(std::max(scratch.cost.size(), leaves.size()));
  for (size_t l = 0; l < leaves.size(); ++l) {
    tables.push_back(&tree.table_with_costs(leaves[l], scratch.work));
    add_row(total.data(), tree.sums(leaves[l]), width);
    scratch.cost[l] = tree.sums(leaves[l])[0];
  }
  scratch.sums.resize(std::max<size_t>(scratch.sums.size(), 2 * static_cast<size_t>(width)));
  NewSizes sizes;
  const bool priced = sample.size_price > 0.0;
  if (priced) sizes = sizes_with_new_test(tree, above, leaves);
  Insertion best{kInfinite, above, -1, -1, true};
  scan(sample, above, tables, total.data(), priced ? &sizes : nullptr, scratch, best);
  best.change -= tree.value_below(above);
  scratch.work += static_cast<int64_t>(leaves.size()) * sample.n_bins();
  return best;
}

// What it costs to do without a leaf.

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
