// One leaf more or less: the best new leaf above a node, and the cost of removing a leaf.
#include "refine/cut_tree.hpp"

namespace cutwise {

// The best new leaf above a node, read from the tables of the leaves below it; rows are read only of leaves that have few.

namespace {

// Price of a new test by the length of rules, beside the cost of leaves.
class NewPrices {
 public:
  NewPrices(const CutTree &tree, int32_t above, const std::vector<int32_t> &leaves, int64_t &work)
      : sample_(tree.sample()), left_(leaves.size()) {
    std::vector<int32_t> nodes = leaves;
    nodes.push_back(above);  // the new leaf's rule is that of this node with the test
    rules_.emplace(tree, above, nodes, false);
    for (int32_t leaf : leaves) {
      const double *table = tree.table(leaf, work);
      std::vector<double> &by_bin = by_bin_.emplace_back(sample_.n_bins(), 0.0);
      for (int64_t bin = 0; bin < sample_.n_bins() && table != nullptr; ++bin) by_bin[bin] = table[bin * sample_.width()];
      for (int32_t i = 0; i < tree.n_rows(leaf) && table == nullptr; ++i)
        for (int32_t column = 0, row = tree.rows(leaf)[i]; column < sample_.n_cols; ++column)
          by_bin[sample_.bin_begin[column] + sample_.code(row, column)] += sample_.row(row)[0];
      weight_.push_back(tree.sums(leaf)[0]);
      total_ += weight_.back();
    }
  }

  // Bins of a column come in order. With the new leaf on the left, then on the right.
  std::pair<double, double> next(int32_t column, int32_t bin) {
    const int32_t begin = sample_.bin_begin[column];
    if (bin == 0) std::fill(left_.begin(), left_.end(), 0.0);
    double below = 0.0;
    for (size_t l = 0; l < left_.size(); ++l) {
      left_[l] += by_bin_[l][begin + bin];
      below += left_[l];
    }
    Size left_size = rules_->elsewhere, right_size = rules_->elsewhere;
    left_size.add(below, rules_->rule(left_.size(), column, true));
    right_size.add(total_ - below, rules_->rule(left_.size(), column, false));
    for (size_t l = 0; l < left_.size(); ++l) {
      left_size.add(weight_[l] - left_[l], rules_->rule(l, column, false));
      right_size.add(left_[l], rules_->rule(l, column, true));
    }
    return {sample_.size_price.cost(left_size), sample_.size_price.cost(right_size)};
  }

 private:
  const Sample &sample_;
  std::optional<RulesWithTest> rules_;
  std::vector<std::vector<double>> by_bin_;  // weights of the leaves, (n_bins,) each
  std::vector<double> weight_, left_;        // of the leaves, and of their rows up to a bin
  double total_ = 0.0;
};

}  // namespace

Insertion best_insertion(const CutTree &tree, int32_t above, Scratch &scratch) {
  const Sample &sample = tree.sample();
  const std::vector<int32_t> leaves = tree.leaves_below(above);
  const NodeParts &whole = tree.parts(above, scratch.work);
  const size_t n = sample.n_bins();
  // Of the leaves: what is left of them when the new leaf is on the left, and on the right.
  std::vector<double> rest_above(n, 0.0), rest_below(n, 0.0);
  for (int32_t leaf : leaves) {
    const NodeParts &parts = tree.parts(leaf, scratch.work);
    add_numbers(rest_above.data(), parts.above.data(), static_cast<int64_t>(n));
    add_numbers(rest_below.data(), parts.below.data(), static_cast<int64_t>(n));
  }
  std::optional<NewPrices> prices;
  if (sample.size_price.any()) prices.emplace(tree, above, leaves, scratch.work);
  Insertion best{kInfinite, above, -1, -1, true};
  for (int32_t column = 0; column < sample.n_cols; ++column)
    for (int32_t bin = 0; bin + 1 < sample.n_bins(column); ++bin) {
      const size_t at = sample.bin_begin[column] + bin;
      double left = rest_above[at] + whole.below[at], right = rest_below[at] + whole.above[at];
      if (prices) {
        const auto [left_price, right_price] = prices->next(column, bin);
        left += left_price;
        right += right_price;
      }
      if (left < best.change) best = {left, above, column, bin, true};
      if (right < best.change) best = {right, above, column, bin, false};
    }
  best.change -= tree.value_below(above);
  scratch.work += static_cast<int64_t>(leaves.size()) * sample.n_bins();
  return best;
}

// Cost of removing a leaf.

double deletion_change(const CutTree &tree, int32_t leaf, Scratch &scratch) {
  const Sample &sample = tree.sample();
  const int32_t width = sample.width();
  if (sample.size_price.any()) {  // every rule beside it may get shorter
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
  const Router route(tree, sibling);
  for (int32_t i = 0; i < tree.n_rows(leaf); ++i)
    add_row(sums.data() + static_cast<int64_t>(place[route(row[i])]) * width, sample.row(row[i]), width);
  scratch.work += tree.n_rows(leaf);
  double with = 0.0, without = 0.0;
  for (size_t l = 0; l < leaves.size(); ++l) {
    with += tree.leaf_cost(leaves[l]);
    without += sample.cost.of(sums.data() + l * width);
  }
  return without - (with + tree.leaf_cost(leaf));
}

}  // namespace cutwise
