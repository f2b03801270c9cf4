#include "refine/cut_tree.hpp"

namespace cutwise {

TreeCuts read_tree_cuts(const TreeArrays &arrays, int32_t n_cols) {
  const auto &[column, threshold, right] = arrays;
  const int32_t n = static_cast<int32_t>(column.size());
  require(n > 0 && threshold.size() == column.size() && right.size() == column.size(), "the arrays of a tree have one length");
  // Every node but the root is one child, and all children come after their parents: so it is one tree, in preorder.
  std::vector<int32_t> ends{n};
  for (int32_t node = 0; node < n; ++node) {
    const int32_t end = ends.empty() ? 0 : ends.back(), far = right(node);
    const bool is_leaf = column(node) < 0;
    require(node < end && (is_leaf ? node + 1 == end : far > node + 1 && far < end), "the nodes of a tree are in preorder");
    require(column(node) < n_cols, "a cut is of one of the columns");
    if (is_leaf) ends.pop_back();
    else ends.push_back(far);
  }
  require(ends.empty(), "the nodes of a tree are in preorder");
  return {copied(column), copied(threshold), copied(right)};
}

CutTree::CutTree(const Sample &sample, const TreeCuts &cuts) : sample_(&sample) {
  const int32_t n_nodes = static_cast<int32_t>(cuts.column.size());
  nodes_.resize(n_nodes);
  sums_.resize(static_cast<size_t>(n_nodes) * sample.width());
  cost_.resize(n_nodes, kInfinite);
  tables_.resize(n_nodes);
  is_counted_.resize(n_nodes);
  parts_.resize(n_nodes);
  for (int32_t id = 0; id < n_nodes; ++id) {
    mark(id);
    invalidate_table(id);
    if (cuts.column[id] < 0) {
      ++n_leaves_;
      continue;
    }
    CutNode &node = nodes_[id];
    node.column = cuts.column[id];
    node.bin = static_cast<int32_t>(cuts.threshold[id]);
    node.left = id + 1;
    node.right = cuts.right[id];
    nodes_[node.left].parent = nodes_[node.right].parent = id;
  }
  order_.resize(sample.n_rows);
  std::vector<int32_t> leaf_of(sample.n_rows);
  const Router route(*this, root_);
  for (int64_t row = 0; row < sample.n_rows; ++row) {
    order_[row] = static_cast<int32_t>(row);
    leaf_of[row] = route(row);
  }
  nodes_[root_].end = static_cast<int32_t>(sample.n_rows);
  place_rows(root_, 0, leaf_of);
}

std::vector<int32_t> CutTree::nodes_below(int32_t id) const {
  std::vector<int32_t> found, pending{id};
  while (!pending.empty()) {
    const int32_t at = pending.back();
    pending.pop_back();
    found.push_back(at);
    if (is_leaf(at)) continue;
    pending.push_back(nodes_[at].right);
    pending.push_back(nodes_[at].left);
  }
  return found;
}

std::vector<int32_t> CutTree::leaves_below(int32_t id) const {
  std::vector<int32_t> found = nodes_below(id);
  found.erase(std::remove_if(found.begin(), found.end(), [&](int32_t at) { return !is_leaf(at); }), found.end());
  return found;
}

Router::Router(const CutTree &tree, int32_t id) : codes_(tree.sample().codes), n_cols_(tree.sample().n_cols) {
  steps_.push_back({0, 0, id, {0, 0}});
  std::vector<int32_t> depth{0};
  for (size_t at = 0; at < steps_.size(); ++at) {
    const CutNode &node = tree.node(steps_[at].id);
    const int32_t here = static_cast<int32_t>(at), left = static_cast<int32_t>(steps_.size());
    if (node.left < 0) {
      steps_[at] = {0, 0, steps_[at].id, {here, here}};
      continue;
    }
    steps_[at] = {node.column, node.bin, steps_[at].id, {left, left + 1}};
    steps_.push_back({0, 0, node.left, {0, 0}});
    steps_.push_back({0, 0, node.right, {0, 0}});
    depth.insert(depth.end(), 2, depth[at] + 1);
    depth_ = depth.back();
  }
}

constexpr int32_t kColumnsAtATime = 4;

template <bool adds>
CUTWISE_INLINE void change_table(const Sample &sample, const int32_t *rows, int64_t n, double *table, int32_t first,
                                 int32_t last) {
  const int32_t width = sample.width(), *bin_begin = sample.bin_begin.data();
  const int32_t begin = bin_begin[first];
  // Few columns at a time, so that their sums stay in the nearest cache.
  for (int32_t next; first < last; first = next) {
    next = std::min(first + kColumnsAtATime, last);
    for (int64_t i = 0; i < n; ++i) {
      const double *row = sample.row(rows[i]);
      const uint8_t *codes = sample.codes + static_cast<int64_t>(rows[i]) * sample.n_cols;
      for (int32_t column = first; column < next; ++column)
        add_row<adds>(table + static_cast<int64_t>(bin_begin[column] - begin + codes[column]) * width, row, width);
    }
  }
}

CUTWISE_CLONES void add_to_table(const Sample &sample, const int32_t *rows, int64_t n, double *table, int32_t first,
                                 int32_t last) {
  change_table<true>(sample, rows, n, table, first, last);
}

CUTWISE_CLONES void take_from_table(const Sample &sample, const int32_t *rows, int64_t n, double *table, int32_t first,
                                    int32_t last) {
  change_table<false>(sample, rows, n, table, first, last);
}

CUTWISE_CLONES void add_numbers(double *sums, const double *numbers, int64_t n) {
  for (int64_t j = 0; j < n; ++j) sums[j] += numbers[j];
}

const double *CutTree::table(int32_t leaf, int64_t &work) const {
  std::shared_ptr<LeafTable> &table = tables_[leaf];
  if (!is_counted_[leaf]) work += static_cast<int64_t>(n_rows(leaf)) * sample_->n_cols;
  is_counted_[leaf] = true;
  if (static_cast<int64_t>(n_rows(leaf)) * sample_->n_cols < sample_->n_bins()) return nullptr;
  if (table->empty()) {
    table->resize(static_cast<size_t>(sample_->n_bins()) * sample_->width());
    add_to_table(*sample_, rows(leaf), n_rows(leaf), table->data(), 0, sample_->n_cols);
  }
  return table->data();
}

namespace {

// Of one column, whose bins the table has.
CUTWISE_CLONES void costs_of_parts(const Sample &sample, const double *bins, int32_t n_bins, double *above_sums,
                                   double *below_sums, double *above, double *below) {
  const int32_t width = sample.width();
  double cost_above = sample.cost.of(above_sums), cost_below = kInfinite;
  for (int32_t b = 0; b < n_bins; ++b, bins += width) {
    if (bins[0] != 0.0) {
      add_row(below_sums, bins, width);
      subtract_row(above_sums, bins, width);
      cost_below = sample.cost.of(below_sums);
      cost_above = sample.cost.of(above_sums);
    }
    below[b] = cost_below;
    above[b] = cost_above;
  }
}

}  // namespace

const NodeParts &CutTree::parts(int32_t id, int64_t &work) const {
  if (parts_[id]) return *parts_[id];
  const int32_t width = sample_->width();
  std::vector<double> total(width, 0.0), above, below, sums;
  std::vector<const double *> tables;
  std::vector<int32_t> single;  // the rows of leaves without tables
  for (int32_t leaf : leaves_below(id)) {
    add_row(total.data(), this->sums(leaf), width);
    if (const double *own = table(leaf, work)) tables.push_back(own);
    else single.insert(single.end(), rows(leaf), rows(leaf) + n_rows(leaf));
  }
  auto parts = std::make_shared<NodeParts>();
  parts->above.resize(sample_->n_bins());
  parts->below.resize(sample_->n_bins());
  for (int32_t column = 0; column < sample_->n_cols; ++column) {
    const int64_t begin = sample_->bin_begin[column], n = static_cast<int64_t>(sample_->n_bins(column)) * width;
    const double *bins = tables.empty() ? nullptr : tables[0] + begin * width;
    if (tables.size() != 1 || !single.empty()) {
      sums.assign(n, 0.0);
      for (const double *table : tables) add_numbers(sums.data(), table + begin * width, n);
      add_to_table(*sample_, single.data(), static_cast<int64_t>(single.size()), sums.data(), column, column + 1);
      bins = sums.data();
    }
    above = total;
    below.assign(width, 0.0);
    costs_of_parts(*sample_, bins, sample_->n_bins(column), above.data(), below.data(), parts->above.data() + begin,
                   parts->below.data() + begin);
  }
  work += 2 * static_cast<int64_t>(sample_->n_bins());
  parts_[id] = std::move(parts);
  return *parts_[id];
}

double CutTree::value() const { return value_below(root_); }

double CutTree::value_below(int32_t id) const {
  double value = 0.0;
  for (int32_t leaf : leaves_below(id)) value += cost_[leaf];
  return sample_->size_price.any() ? value + sample_->size_price.cost(size_below(root_)) : value;
}

Size CutTree::size_below(int32_t id) const {
  Size size;
  for (int32_t leaf : leaves_below(id)) size.add(sums(leaf)[0], rule(leaf));
  return size;
}

Size CutTree::rule(int32_t id, int32_t left_out, uint8_t *has) const {
  std::vector<int32_t> kinds;
  for (int32_t child = id, at = nodes_[id].parent; at >= 0; child = at, at = nodes_[at].parent) {
    if (at == left_out) continue;
    const bool left = nodes_[at].left == child;
    kinds.push_back(2 * nodes_[at].column + left);
    if (has != nullptr) has[nodes_[at].column] |= static_cast<uint8_t>(1 << left);
  }
  const double levels = static_cast<double>(kinds.size());
  std::sort(kinds.begin(), kinds.end());
  return {static_cast<double>(std::unique(kinds.begin(), kinds.end()) - kinds.begin()), levels};
}

RulesWithTest::RulesWithTest(const CutTree &tree, int32_t node, const std::vector<int32_t> &nodes, bool in_place)
    : elsewhere(tree.size_below(tree.root())), n_cols_(tree.sample().n_cols), has_(nodes.size() * n_cols_, 0) {
  elsewhere.add(-1.0, tree.size_below(node));
  for (size_t i = 0; i < nodes.size(); ++i)
    rule_.push_back(tree.rule(nodes[i], in_place ? node : -1, has_.data() + i * n_cols_));
}

void CutTree::drop_empty_leaves() {
  // The removed leaf's parent is removed as well, and the last leaf of all has rows.
  for (bool found = true; found && n_leaves_ > 1;) {
    found = false;
    for (int32_t leaf : leaves_below(root_)) {
      if (sums(leaf)[0] > 0.0) continue;
      remove_leaf(leaf);
      found = true;
      break;
    }
  }
}

void CutTree::change_cut(int32_t id, int32_t column, int32_t bin) {
  nodes_[id].column = column;
  nodes_[id].bin = bin;
  const int32_t *row = rows(id);
  std::vector<int32_t> leaf_of(n_rows(id));
  const Router left(*this, nodes_[id].left), right(*this, nodes_[id].right);
  // The subtrees do not change, so a row that remains on its side remains in its leaf.
  for (int32_t leaf : leaves_below(id)) {
    const CutNode &at = nodes_[leaf];
    const bool was_left = at.end <= nodes_[nodes_[id].left].end;
    for (int32_t i = at.begin - nodes_[id].begin; i < at.end - nodes_[id].begin; ++i) {
      const bool goes_left = sample_->code(row[i], column) <= bin;
      leaf_of[i] = goes_left == was_left ? leaf : goes_left ? left(row[i]) : right(row[i]);
    }
  }
  place_rows(id, nodes_[id].begin, leaf_of);
  mark_above(id);
}

void CutTree::remove_leaf(int32_t leaf) {
  const int32_t parent = nodes_[leaf].parent;
  const int32_t sibling = nodes_[parent].left == leaf ? nodes_[parent].right : nodes_[parent].left;
  std::vector<int32_t> leaf_of(n_rows(parent));
  const int32_t begin = nodes_[parent].begin;
  const Router route(*this, sibling);
  for (int32_t below : leaves_below(parent))
    for (int32_t i = nodes_[below].begin; i < nodes_[below].end; ++i)
      leaf_of[i - begin] = below == leaf ? route(order_[i]) : below;
  put_in_place_of(parent, sibling);
  invalidate_table(leaf);
  parts_[leaf].reset();
  parts_[parent].reset();
  unused_.push_back(leaf);
  unused_.push_back(parent);
  --n_leaves_;
  place_rows(sibling, begin, leaf_of);
  mark_above(sibling);
}

void CutTree::insert_leaf(int32_t above, int32_t column, int32_t bin, bool new_on_left) {
  const int32_t inner = new_node(), leaf = new_node();
  put_in_place_of(above, inner);
  CutNode &node = nodes_[inner];
  node.column = column;
  node.bin = bin;
  node.left = new_on_left ? leaf : above;
  node.right = new_on_left ? above : leaf;
  node.begin = nodes_[above].begin;
  node.end = nodes_[above].end;
  nodes_[leaf].parent = nodes_[above].parent = inner;
  ++n_leaves_;
  std::vector<int32_t> leaf_of(n_rows(inner));
  for (int32_t below : leaves_below(above))
    for (int32_t i = nodes_[below].begin; i < nodes_[below].end; ++i)
      leaf_of[i - node.begin] = (sample_->code(order_[i], column) <= bin) == new_on_left ? leaf : below;
  place_rows(inner, node.begin, leaf_of);
  mark_above(inner);
}

int32_t CutTree::new_node() {
  int32_t id;
  if (unused_.empty()) {
    id = static_cast<int32_t>(nodes_.size());
    nodes_.emplace_back();
    sums_.resize(sums_.size() + sample_->width());
    cost_.emplace_back();
    tables_.emplace_back();
    is_counted_.emplace_back();
    parts_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
    nodes_[id] = CutNode{};
    std::fill_n(sums_.begin() + static_cast<int64_t>(id) * sample_->width(), sample_->width(), 0.0);
  }
  cost_[id] = kInfinite;
  invalidate_table(id);
  mark(id);
  return id;
}

void CutTree::put_in_place_of(int32_t old_child, int32_t new_child) {
  const int32_t parent = nodes_[old_child].parent;
  nodes_[new_child].parent = parent;
  if (parent < 0) root_ = new_child;
  else if (nodes_[parent].left == old_child) nodes_[parent].left = new_child;
  else nodes_[parent].right = new_child;
}

void CutTree::place_rows(int32_t id, int32_t begin, const std::vector<int32_t> &leaf_of) {
  const std::vector<int32_t> below = nodes_below(id);
  std::vector<int32_t> count(nodes_.size(), 0), next(nodes_.size());
  for (int32_t leaf : leaf_of) ++count[leaf];
  // A leaf has other rows when it has more or fewer, or when one of those it had is elsewhere now.
  std::vector<uint8_t> moved(nodes_.size(), 0);
  int32_t at = begin;
  for (int32_t leaf : below) {
    if (!is_leaf(leaf)) continue;
    CutNode &node = nodes_[leaf];
    moved[leaf] = node.end - node.begin != count[leaf];
    for (int32_t i = node.begin; i < node.end && !moved[leaf]; ++i) moved[leaf] = leaf_of[i - begin] != leaf;
    next[leaf] = at;
    at += count[leaf];
  }
  const std::vector<int32_t> old(order_.begin() + begin, order_.begin() + begin + static_cast<int32_t>(leaf_of.size()));
  for (size_t i = 0; i < leaf_of.size(); ++i) order_[next[leaf_of[i]]++] = old[i];
  const bool as_before = nodes_[id].begin == begin && nodes_[id].end == begin + static_cast<int32_t>(leaf_of.size());
  for (auto it = below.rbegin(); it != below.rend(); ++it) {
    CutNode &node = nodes_[*it];
    if (node.left < 0) {
      node.begin = next[*it] - count[*it];
      node.end = next[*it];
      if (moved[*it]) add_up(*it);
    } else {
      node.begin = nodes_[node.left].begin;
      node.end = nodes_[node.right].end;
      moved[*it] = moved[node.left] || moved[node.right];
    }
    if (moved[*it]) mark(*it);
    if (moved[*it] && !(*it == id && as_before)) parts_[*it].reset();
  }
}

void CutTree::mark_above(int32_t id) {
  for (int32_t at = nodes_[id].parent; at >= 0; at = nodes_[at].parent) mark(at);
  // The length of a rule depends on all tests above, and what a test would add to it on those below.
  if (sample_->size_price.any())
    for (int32_t at : nodes_below(id)) mark(at);
}

void CutTree::add_up(int32_t leaf) {
  const int32_t width = sample_->width();
  double *sums = sums_.data() + static_cast<size_t>(leaf) * width;
  std::fill(sums, sums + width, 0.0);
  for (int32_t i = nodes_[leaf].begin; i < nodes_[leaf].end; ++i) add_row(sums, sample_->row(order_[i]), width);
  cost_[leaf] = sample_->cost.of(sums);
  invalidate_table(leaf);
}

TreeCuts CutTree::cuts() const {
  const std::vector<int32_t> order = nodes_below(root_);
  std::vector<int32_t> number(nodes_.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<int32_t>(i);
  TreeCuts cuts;
  for (int32_t id : order) {
    cuts.column.push_back(is_leaf(id) ? -1 : nodes_[id].column);
    cuts.threshold.push_back(is_leaf(id) ? std::numeric_limits<double>::quiet_NaN() : nodes_[id].bin);
    cuts.right.push_back(is_leaf(id) ? -1 : number[nodes_[id].right]);
  }
  return cuts;
}

}  // namespace cutwise
