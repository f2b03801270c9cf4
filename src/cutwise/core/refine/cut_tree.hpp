// A tree whose tests compare bins, with its rows in the order of its leaves.
#pragma once

#include "base/arrays.hpp"
#include "refine/sample.hpp"

namespace cutwise {

// A tree as input and output: nodes in preorder, the left child right after its parent. A row goes left when its value is at
// most the threshold; column is -1 at leaves. On bins the threshold is the last bin on the left, and may be -1.
struct TreeCuts {
  std::vector<int32_t> column;
  std::vector<double> threshold;
  std::vector<int32_t> right;
};
using TreeArrays = std::tuple<In1<int32_t>, In1<double>, In1<int32_t>>;
TreeCuts read_tree_cuts(const TreeArrays &arrays, int32_t n_cols);

// Costs of the rows of a node above each bin, and of the others, as if they were leaves: (n_bins,).
struct NodeParts {
  std::vector<double> above, below;
};

// The sums of a leaf's rows by column and bin, (n_bins, width).
using LeafTable = std::vector<double>;

struct CutNode {
  int32_t parent = -1, left = -1, right = -1;
  int32_t column = -1, bin = -1;
  int32_t begin = 0, end = 0;  // its rows, in the tree's order
  bool changed = true;         // since its cut was last chosen: its rows, or a test below
  int64_t version = 0;         // a new number at every such change; copies of the tree have the same numbers
};

class CutTree {
 public:
  CutTree(const Sample &sample, const TreeCuts &cuts);

  const Sample &sample() const { return *sample_; }
  int32_t root() const { return root_; }
  int32_t n_leaves() const { return n_leaves_; }
  const CutNode &node(int32_t id) const { return nodes_[id]; }
  bool is_leaf(int32_t id) const { return nodes_[id].left < 0; }
  const int32_t *rows(int32_t id) const { return order_.data() + nodes_[id].begin; }
  int32_t n_rows(int32_t id) const { return nodes_[id].end - nodes_[id].begin; }

  // In tree order.
  std::vector<int32_t> nodes_below(int32_t id) const;  // preorder, with id itself
  std::vector<int32_t> leaves_below(int32_t id) const;
  const double *sums(int32_t leaf) const { return sums_.data() + static_cast<size_t>(leaf) * sample_->width(); }
  double leaf_cost(int32_t leaf) const { return cost_[leaf]; }
  // Null if the leaf has so few rows that these are read instead. Stored while the node has the same rows. Copies of the tree
  // share tables, also those made later, but each counts its work.
  const double *table(int32_t leaf, int64_t &work) const;
  const NodeParts &parts(int32_t id, int64_t &work) const;

  // The leaves' costs, added up in tree order, and the price of the length of all rules.
  double value() const;
  double value_below(int32_t id) const;
  // Of the rules of the leaves below.
  Size size_below(int32_t id) const;
  // Of the rule of a node, the test of one node left out. Sets in has[column], which may be null, a bit for each side on
  // which the column is tested: 1 on the right, 2 on the left.
  Size rule(int32_t id, int32_t left_out = -1, uint8_t *has = nullptr) const;

  // Changes. Each updates rows, sums and marks.
  void drop_empty_leaves();
  void change_cut(int32_t id, int32_t column, int32_t bin);
  void remove_leaf(int32_t leaf);
  void insert_leaf(int32_t above, int32_t column, int32_t bin, bool new_on_left);
  void mark_done(int32_t id) { nodes_[id].changed = false; }
  void mark_done() {
    for (CutNode &node : nodes_) node.changed = false;
  }

  TreeCuts cuts() const;

 private:
  int32_t new_node();
  void put_in_place_of(int32_t old_child, int32_t new_child);
  // Assigns the rows in order from `begin` on to leaves below a node, which has these rows from now on. Leaves still
  // have the begin and end of their former rows.
  void place_rows(int32_t id, int32_t begin, const std::vector<int32_t> &leaf_of);
  void mark(int32_t id) {
    nodes_[id].changed = true;
    nodes_[id].version = ++*n_versions_;
  }
  void mark_above(int32_t id);
  void add_up(int32_t leaf);
  void invalidate_table(int32_t leaf) {
    tables_[leaf] = std::make_shared<LeafTable>();
    is_counted_[leaf] = false;
  }

  const Sample *sample_;
  int32_t root_ = 0, n_leaves_ = 0;
  std::vector<CutNode> nodes_;
  std::shared_ptr<int64_t> n_versions_ = std::make_shared<int64_t>(0);
  std::vector<int32_t> unused_;
  std::vector<int32_t> order_;
  std::vector<double> sums_, cost_;
  mutable std::vector<std::shared_ptr<LeafTable>> tables_;  // empty until they are needed
  mutable std::vector<bool> is_counted_;
  mutable std::vector<std::shared_ptr<NodeParts>> parts_;
};

// Finds the leaf below a node that a row reaches: by the same number of steps for every row, without branches, so that the
// steps of several rows overlap.
class Router {
 public:
  Router(const CutTree &tree, int32_t id);

  CUTWISE_INLINE int32_t operator()(int64_t row) const {
    const uint8_t *codes = codes_ + row * n_cols_;
    int32_t at = 0;
    for (int32_t step = 0; step < depth_; ++step) {
      const Step &node = steps_[at];
      at = node.next[codes[node.column] > node.bin];
    }
    return steps_[at].id;
  }

 private:
  struct Step {
    int32_t column, bin, id;
    int32_t next[2];  // leaves lead to themselves
  };
  const uint8_t *codes_;
  const int64_t n_cols_;
  int32_t depth_ = 0;
  std::vector<Step> steps_;
};

// Adds the rows' payloads at their bins, for columns first .. last - 1; the table begins with the bins of column first.
void add_to_table(const Sample &sample, const int32_t *rows, int64_t n, double *table, int32_t first, int32_t last);
void take_from_table(const Sample &sample, const int32_t *rows, int64_t n, double *table, int32_t first, int32_t last);
void add_numbers(double *sums, const double *numbers, int64_t n);

// Single changes of a tree, and their gains.

// The rules of nodes at or below a node with a test of any column there, in addition or in place of the node's own.
class RulesWithTest {
 public:
  RulesWithTest(const CutTree &tree, int32_t node, const std::vector<int32_t> &nodes, bool in_place);

  Size elsewhere;  // of the rules of all leaves that are not below the node

  // A test adds a level, and a condition unless the rule has it.
  Size rule(size_t i, int32_t column, bool on_left) const {
    return {rule_[i].conditions + 1.0 - (has_[i * n_cols_ + column] >> on_left & 1), rule_[i].levels + 1.0};
  }

 private:
  const size_t n_cols_;
  std::vector<Size> rule_;
  std::vector<uint8_t> has_;  // (n_nodes, n_cols)
};

struct Scratch {
  std::vector<double> tables, sums, cost, weight;
  int64_t work = 0;  // additions of a row, or of a bin, to the sums of a column
};

// The best cut of one node, with everything below and above it unchanged; of equals the lowest column, then the lowest bin.
struct Recut {
  double value;  // of the node's leaves; infinite where no cut leaves every leaf a row
  int32_t column, bin;
};
Recut best_recut(const CutTree &tree, int32_t node, Scratch &scratch, bool own_column = false);
// Makes the cut, if it gains more than the sample's threshold.
bool recut(CutTree &tree, int32_t node, Scratch &scratch, bool own_column = false);

// A new inner node above a node, with a new leaf as its other child.
struct Insertion {
  double change;  // of the tree's value; infinite where none leaves every leaf a row
  int32_t above, column, bin;
  bool new_on_left;
};
Insertion best_insertion(const CutTree &tree, int32_t above, Scratch &scratch);

// Change of the value when a leaf is removed and its sibling replaces its parent.
double deletion_change(const CutTree &tree, int32_t leaf, Scratch &scratch);

}  // namespace cutwise
