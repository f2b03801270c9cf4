// The best cut of a node while the subtrees below it stay as they are.
//
// Every row of the node has two leaves: the one it reaches when sent left, and the one when sent right. A sweep over a column
// begins with all rows on the right and moves bin after bin to the left; what a bin moves to each leaf is its table. Of a
// leaf these are the leaf's own table and that of the other side's rows that would come to it. The latter needs one
// addition a row and column, and none where the side is a single leaf: then it is what all leaves of the other side have.
#include <algorithm>

#include "refine/cut_tree.hpp"

namespace cutwise {
namespace {

constexpr int64_t kBlockBytes = 1 << 18;  // tables of a block of columns; they should stay in the second cache

struct Sides {
  std::vector<int32_t> leaves;  // of the left side, then of the right one, in tree order
  size_t n_left = 0;
  std::vector<double> total;  // (n_leaves, width): of the right leaves when all rows go right
};

// Rules of the leaves below a node: conditions and depth, as far as they do not depend on the node's own column.
struct Sizes {
  std::vector<double> size;  // per leaf, with one condition for the node
  std::vector<uint8_t> has;  // (n_leaves, n_cols): columns for which the node adds no condition
};

Sizes sizes_below(const CutTree &tree, int32_t node, const Sides &sides) {
  const Sample &sample = tree.sample();
  Sizes sizes;
  sizes.has.assign(sides.leaves.size() * sample.n_cols, 0);
  for (size_t i = 0; i < sides.leaves.size(); ++i) {
    const int32_t leaf = sides.leaves[i];
    const int32_t n = tree.conditions(leaf, node, i < sides.n_left, sizes.has.data() + i * sample.n_cols);
    sizes.size.push_back(n + 1 + 0.25 * tree.depth(leaf));
  }
  return sizes;
}

CUTWISE_CLONES void add_numbers(double *sums, const double *numbers, int64_t n) {
  for (int64_t j = 0; j < n; ++j) sums[j] += numbers[j];
}

// Adds up a column's tables bin after bin, and keeps the best value.
CUTWISE_CLONES void sweep(const Sample &sample, const Sides &sides, const Sizes *sizes, const double *tables,
                          int64_t leaf_stride, int32_t column, Scratch &scratch, Recut &best) {
  const int32_t width = sample.width(), n_bins = sample.n_bins(column);
  const size_t n_leaves = sides.leaves.size();
  double *sums = scratch.sums.data(), *cost = scratch.cost.data();
  std::copy(sides.total.begin(), sides.total.end(), sums);
  for (size_t l = 0; l < n_leaves; ++l) cost[l] = sample.cost(sums + l * width);
  for (int32_t bin = 0; bin + 1 < n_bins; ++bin) {
    bool any = false;
    for (size_t l = 0; l < n_leaves; ++l) {
      const double *moved = tables + static_cast<int64_t>(l) * leaf_stride + static_cast<int64_t>(bin) * width;
      if (moved[0] == 0.0) continue;
      any = true;
      if (l < sides.n_left) add_row(sums + l * width, moved, width);
      else subtract_row(sums + l * width, moved, width);
      cost[l] = sample.cost(sums + l * width);
    }
    if (!any) continue;  // the same sides as one bin before
    double value = 0.0;
    for (size_t l = 0; l < n_leaves; ++l) value += cost[l];
    if (sizes != nullptr && value < kInfinite) {
      double size = 0.0;
      for (size_t l = 0; l < n_leaves; ++l) size += sums[l * width] * (sizes->size[l] - sizes->has[l * sample.n_cols + column]);
      value += sample.size_price * size;
    }
    if (value < best.value) best = {value, column, bin};
  }
}

}  // namespace

Recut best_recut(const CutTree &tree, int32_t node, Scratch &scratch) {
  const Sample &sample = tree.sample();
  const int32_t width = sample.width();
  const int32_t left = tree.node(node).left, right = tree.node(node).right;
  Sides sides;
  sides.leaves = tree.leaves_below(left);
  sides.n_left = sides.leaves.size();
  const std::vector<int32_t> right_leaves = tree.leaves_below(right);
  sides.leaves.insert(sides.leaves.end(), right_leaves.begin(), right_leaves.end());
  const size_t n_leaves = sides.leaves.size();
  const bool left_is_leaf = sides.n_left == 1, right_is_leaf = right_leaves.size() == 1;
  std::vector<int32_t> place(n_leaves ? *std::max_element(sides.leaves.begin(), sides.leaves.end()) + 1 : 0);
  for (size_t l = 0; l < n_leaves; ++l) place[sides.leaves[l]] = static_cast<int32_t>(l);

  // Where the rows of one side would go on the other.
  std::vector<int32_t> routed, goes_to;
  std::vector<int64_t> begin_of(n_leaves + 1, 0);
  sides.total.assign(n_leaves * width, 0.0);
  double *total = sides.total.data();
  const int32_t *row = tree.rows(left);
  for (int32_t i = 0; i < tree.n_rows(left); ++i) {
    const int32_t to = right_is_leaf ? static_cast<int32_t>(sides.n_left) : place[tree.route(row[i], right)];
    add_row(total + static_cast<int64_t>(to) * width, sample.row(row[i]), width);
    if (right_is_leaf) continue;
    routed.push_back(row[i]);
    goes_to.push_back(to);
  }
  for (size_t l = sides.n_left; l < n_leaves; ++l) add_row(total + l * width, tree.sums(sides.leaves[l]), width);
  row = tree.rows(right);
  if (!left_is_leaf) {
    for (int32_t i = 0; i < tree.n_rows(right); ++i) {
      routed.push_back(row[i]);
      goes_to.push_back(place[tree.route(row[i], left)]);
    }
  }
  // Leaf after leaf, so that the table they are added to stays in the first cache.
  const int64_t n_routed = static_cast<int64_t>(routed.size());
  for (int32_t to : goes_to) ++begin_of[to + 1];
  for (size_t l = 0; l < n_leaves; ++l) begin_of[l + 1] += begin_of[l];
  scratch.rows.resize(n_routed);
  std::vector<int64_t> next(begin_of.begin(), begin_of.end() - 1);
  for (int64_t i = 0; i < n_routed; ++i) scratch.rows[next[goes_to[i]]++] = routed[i];

  Sizes sizes;
  if (sample.size_price > 0.0) sizes = sizes_below(tree, node, sides);
  std::vector<const double *> own(n_leaves);
  for (size_t l = 0; l < n_leaves; ++l) own[l] = tree.table(sides.leaves[l], scratch.work).sums.data();
  scratch.sums.resize(n_leaves * width);
  scratch.cost.resize(n_leaves);
  Recut best{kInfinite, -1, -1};
  for (int32_t first = 0, last; first < sample.n_cols; first = last) {
    const int32_t begin = sample.bin_begin[first];
    const int64_t bytes_a_bin = static_cast<int64_t>(n_leaves) * width * static_cast<int64_t>(sizeof(double));
    for (last = first + 1; last < sample.n_cols; ++last)
      if ((sample.bin_begin[last + 1] - begin) * bytes_a_bin > kBlockBytes) break;
    const int64_t stride = static_cast<int64_t>(sample.bin_begin[last] - begin) * width;
    scratch.tables.resize(std::max<size_t>(scratch.tables.size(), n_leaves * stride));
    double *tables = scratch.tables.data();
    for (size_t l = 0; l < n_leaves; ++l) {
      const double *from = own[l] + static_cast<int64_t>(begin) * width;
      std::copy(from, from + stride, tables + static_cast<int64_t>(l) * stride);
    }
    auto add_side = [&](size_t to, size_t from, size_t end) {
      for (; from < end; ++from)
        add_numbers(tables + static_cast<int64_t>(to) * stride, own[from] + static_cast<int64_t>(begin) * width, stride);
    };
    if (left_is_leaf) add_side(0, sides.n_left, n_leaves);
    if (right_is_leaf) add_side(sides.n_left, 0, sides.n_left);
    for (size_t l = 0; l < n_leaves; ++l)
      add_to_table(sample, scratch.rows.data() + begin_of[l], begin_of[l + 1] - begin_of[l],
                   tables + static_cast<int64_t>(l) * stride, first, last);
    for (int32_t column = first; column < last; ++column)
      sweep(sample, sides, sample.size_price > 0.0 ? &sizes : nullptr,
            tables + static_cast<int64_t>(sample.bin_begin[column] - begin) * width, stride, column, scratch, best);
  }
  scratch.work += n_routed * sample.n_cols + static_cast<int64_t>(n_leaves) * sample.n_bins();
  return best;
}

bool recut(CutTree &tree, int32_t node, Scratch &scratch) {
  const Recut best = best_recut(tree, node, scratch);
  tree.mark_done(node);
  if (!(best.value < tree.value_below(node) - tree.sample().threshold)) return false;
  tree.change_cut(node, best.column, best.bin);
  return true;
}

}  // namespace cutwise
