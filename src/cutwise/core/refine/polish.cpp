// The end of a search: thresholds are chosen again on more rows, in raw values and with all columns' costs.
//
// The column and the subtrees of a node do not change. Only rows in a window around the threshold may change sides (the
// search on a sample found the threshold up to a bin), so that one pass adds up all rows, and the rest is small.
// Rows are whole numbers of a unit, so sums are exact, whatever the order of rows.
#include "refine/cut_tree.hpp"

namespace cutwise {
namespace {

struct PlacedLeaves {
  double value;
  int32_t row, left_leaf, right_leaf;
  bool was_left;
};

// The costs of the leaves below a node while its threshold sweeps over the rows. Leaves are many, and few sums must be known
// to the last bit: the others are known about.
class SweptCosts {
 public:
  explicit SweptCosts(int32_t n_nodes) : cost_(n_nodes, 0.0) {}

  void set(int32_t leaf, double cost) {
    count(cost_[leaf], -1);
    count(cost_[leaf] = cost, 1);
  }
  double total() const { return std::accumulate(cost_.begin(), cost_.end(), 0.0); }
  bool may_be_below(double best) const { return n_empty_ == 0 && about_ <= best + 1e-9 * largest_; }

 private:
  void count(double cost, int sign) {
    if (cost < kInfinite) largest_ = std::max(largest_, std::fabs(about_ += sign * cost));
    else n_empty_ += sign;
  }

  std::vector<double> cost_;
  double about_ = 0.0, largest_ = 0.0;
  int n_empty_ = 0;
};

class Polish {
 public:
  Polish(const In2<double> &values, const In2<double> &rows, TreeCuts tree, const double *edges, const int32_t *edge_begin,
         double least_gain, SizePrice price)
      : n_rows_(static_cast<int64_t>(values.shape(0))),
        n_cols_(static_cast<int64_t>(values.shape(1))),
        values_(values.data()),
        rows_(rows.data()),
        cost_{LeafCostKind::squares, static_cast<int32_t>(rows.shape(1))},
        n_nodes_(static_cast<int32_t>(tree.column.size())),
        tree_(std::move(tree)),
        edges_(edges),
        edge_begin_(edge_begin),
        least_gain_(least_gain),
        price_(price) {
    sums_.assign(static_cast<size_t>(n_nodes_) * width(), 0.0);
    leaf_of_.resize(n_rows_);
    for (int64_t row = 0; row < n_rows_; ++row) {
      leaf_of_[row] = route(row, 0);
      add_row(sums(sums_, leaf_of_[row]), this->row(row), width());
    }
    leaf_cost_.assign(n_nodes_, 0.0);
    end_of_node_.resize(n_nodes_);
    for (int32_t node = n_nodes_ - 1; node >= 0; --node) {
      end_of_node_[node] = is_leaf(node) ? node + 1 : end_of_node_[tree_.right[node]];
      if (is_leaf(node)) leaf_cost_[node] = cost_.of(sums(sums_, node));
    }
    if (price_.any()) find_rules();
    order_rows();
    changed_.assign(n_nodes_, true);
  }

  std::vector<double> run() {
    for (int pass = 0, n_moved = 1; pass < 6 && n_moved > 0; ++pass) {
      n_moved = 0;
      for (int32_t node = 0; node < n_nodes_; ++node) n_moved += !is_leaf(node) && changed_[node] && recut(node);
    }
    return std::move(tree_.threshold);
  }

 private:
  int32_t width() const { return cost_.width; }
  bool is_leaf(int32_t node) const { return tree_.column[node] < 0; }
  const double *row(int64_t row) const { return rows_ + row * width(); }
  double *sums(std::vector<double> &of, int32_t node) const { return of.data() + static_cast<int64_t>(node) * width(); }
  double value_at(int64_t row, int32_t node) const { return values_[row * n_cols_ + tree_.column[node]]; }

  int32_t route(int64_t row, int32_t node) const {
    while (!is_leaf(node)) node = value_at(row, node) <= tree_.threshold[node] ? node + 1 : tree_.right[node];
    return node;
  }

  // Rows by leaf in preorder: those of node i stand at begin_[i] .. begin_[i + 1] - 1 of the order (none at inner nodes).
  void order_rows() {
    begin_.assign(n_nodes_ + 1, 0);
    for (int32_t leaf : leaf_of_) ++begin_[leaf + 1];
    for (int32_t node = 0; node < n_nodes_; ++node) begin_[node + 1] += begin_[node];
    std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
    order_.resize(n_rows_);
    for (int64_t row = 0; row < n_rows_; ++row) order_[next[leaf_of_[row]]++] = static_cast<int32_t>(row);
  }

  void find_rules() {
    rule_.assign(n_nodes_, {});
    std::vector<std::vector<int32_t>> path(n_nodes_);  // sides of columns, each once
    for (int32_t node = 0; node < n_nodes_; ++node) {
      rule_[node].conditions = static_cast<double>(path[node].size());
      for (int32_t side = 0; side < 2 && !is_leaf(node); ++side) {
        const int32_t child = side == 0 ? node + 1 : tree_.right[node], test = 2 * tree_.column[node] + side;
        rule_[child].levels = rule_[node].levels + 1.0;
        path[child] = path[node];
        if (std::find(path[node].begin(), path[node].end(), test) == path[node].end()) path[child].push_back(test);
      }
    }
  }

  // Fills placed_ with the rows of a node near its threshold; where the threshold moves far, the next pass looks on.
  double place_rows(int32_t node) {
    double low = -kInfinite, high = kInfinite;
    if (edges_ != nullptr) {  // a twelfth of the bins
      const double *first = edges_ + edge_begin_[tree_.column[node]], *last = edges_ + edge_begin_[tree_.column[node] + 1];
      const std::ptrdiff_t at = std::lower_bound(first, last, tree_.threshold[node]) - first, n_edges = last - first;
      const std::ptrdiff_t reach = std::max<std::ptrdiff_t>(1, n_edges / 24);
      if (at - reach >= 0) low = first[at - reach];
      if (at + reach < n_edges) high = first[at + reach];
    }
    placed_.clear();
    const int32_t left = node + 1, right = tree_.right[node];
    for (int32_t i = begin_[node]; i < begin_[end_of_node_[node]]; ++i) {
      const int32_t row = order_[i], leaf = leaf_of_[row];
      const double value = value_at(row, node);
      if (!(value > low && value <= high)) continue;
      const bool was_left = leaf < right;
      placed_.push_back({value, row, was_left ? leaf : route(row, left), was_left ? route(row, right) : leaf, was_left});
    }
    sort_by_value(placed_);
    return low;
  }

  // True when the node's threshold moved.
  CUTWISE_CLONES bool recut(int32_t node) {
    const int32_t end = end_of_node_[node];
    changed_[node] = false;
    const double low = place_rows(node);
    // From all placed rows on the right to all on the left.
    swept_.assign(sums(sums_, node), sums(sums_, end));
    for (const PlacedLeaves &row : placed_)
      if (row.was_left) move_row(row.row, row.left_leaf - node, row.right_leaf - node, swept_);
    SweptCosts costs(end - node);
    double present = price(node, sums(sums_, node));
    for (int32_t leaf = node + 1; leaf < end; ++leaf) {
      if (is_leaf(leaf)) costs.set(leaf - node, cost_.of(sums(swept_, leaf - node)));
      present += leaf_cost_[leaf];
    }
    double best = std::isfinite(low) ? costs.total() + price(node, swept_.data()) : kInfinite, best_cut = low;
    for (size_t i = 0; i < placed_.size();) {
      const double value = placed_[i].value;
      touched_.clear();
      for (; i < placed_.size() && placed_[i].value == value; ++i) {
        const PlacedLeaves &row = placed_[i];
        move_row(row.row, row.right_leaf - node, row.left_leaf - node, swept_);
        touched_.insert(touched_.end(), {row.left_leaf, row.right_leaf});
      }
      for (int32_t leaf : touched_) costs.set(leaf - node, cost_.of(sums(swept_, leaf - node)));
      if (!price_.any() && !costs.may_be_below(best)) continue;
      if (const double now = costs.total() + price(node, swept_.data()); now < best) {
        best = now;
        best_cut = value;
      }
    }
    if (!(best < present - least_gain_)) return false;
    move(node, best_cut);
    changed_[node] = edges_ != nullptr;
    return true;
  }

  void move_row(int64_t row, int32_t from, int32_t to, std::vector<double> &of) const {
    subtract_row(sums(of, from), this->row(row), width());
    add_row(sums(of, to), this->row(row), width());
  }

  // Of all rules; a threshold that moves leaves every rule as long as it is, but for other rows. `below`: sums of a node's.
  double price(int32_t node, const double *below) const {
    if (!price_.any()) return 0.0;
    Size size;
    for (int32_t leaf = 0; leaf < n_nodes_; ++leaf) {
      const bool is_below = leaf >= node && leaf < end_of_node_[node];
      if (is_leaf(leaf)) size.add(is_below ? below[(leaf - node) * width()] : sums_[leaf * width()], rule_[leaf]);
    }
    return price_.cost(size);
  }

  void move(int32_t node, double cut) {
    tree_.threshold[node] = cut;
    std::vector<uint8_t> touched(n_nodes_ + 1, 0);
    for (const PlacedLeaves &row : placed_) {
      if ((row.value <= cut) == row.was_left) continue;
      const int32_t from = leaf_of_[row.row], to = row.was_left ? row.right_leaf : row.left_leaf;
      move_row(row.row, from, to, sums_);
      leaf_of_[row.row] = to;
      touched[from] = touched[to] = 1;
    }
    for (int32_t leaf = node; leaf < end_of_node_[node]; ++leaf)
      if (touched[leaf]) leaf_cost_[leaf] = cost_.of(sums(sums_, leaf));
    order_rows();
    // Below, where rows changed; above, for a test below changed.
    for (int32_t at = 0; at < n_nodes_; ++at)
      if (at != node &&
          std::find(touched.begin() + at, touched.begin() + end_of_node_[at], 1) != touched.begin() + end_of_node_[at])
        changed_[at] = true;
  }

  const int64_t n_rows_, n_cols_;
  const double *values_;  // (n_rows, n_cols)
  const double *rows_;    // (n_rows, width)
  const LeafCost cost_;
  const int32_t n_nodes_;
  TreeCuts tree_;
  const double *edges_;
  const int32_t *edge_begin_;
  const double least_gain_;
  const SizePrice price_;
  std::vector<Size> rule_;  // of leaves
  std::vector<int32_t> leaf_of_, order_, begin_, end_of_node_;
  std::vector<double> sums_, leaf_cost_, swept_;
  std::vector<bool> changed_;
  std::vector<PlacedLeaves> placed_;
  std::vector<int32_t> touched_;
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_polish(nb::module_ &m) {
  m.def(
      "polish",
      [](const In2<double> &values, const In2<double> &rows, const TreeArrays &tree, const std::optional<In1<double>> &edges,
         const std::optional<In1<int32_t>> &edge_begin, double least_gain, const SizePrice::Numbers &size_price) {
        require(values.shape(0) > 0 && rows.shape(0) == values.shape(0), "there are as many rows as values");
        require(rows.shape(1) > 0 && rows.shape(1) % kLanes == 0, "a row has a multiple of four numbers");
        require(edges.has_value() == edge_begin.has_value() && has_shape(edge_begin, values.shape(1) + 1),
                "there are edges for each column, or none");
        TreeCuts cuts = read_tree_cuts(tree, static_cast<int32_t>(values.shape(1)));
        return to_numpy(without_gil([&] {
          return Polish(values, rows, std::move(cuts), data_or_null(edges), data_or_null(edge_begin), least_gain,
                        SizePrice::of(size_price))
              .run();
        }));
      },
      "values"_a, "rows"_a, "tree"_a, "edges"_a.none(), "edge_begin"_a.none(), "least_gain"_a, "size_price"_a,
      R"(Choose the threshold of every node anew, in its own column.

The tree is (column, threshold, right) in preorder. values (n, d) are in the columns that it cuts; rows are those of TreeSearch,
with coordinates. With edges, thresholds move among the few bins next to them; otherwise anywhere. Prices of the length of rules
are those of TreeSearch. Gives the thresholds: each a value of the rows on its left.)");
}
