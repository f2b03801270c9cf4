// The end of a search: thresholds are chosen again on all rows, in raw values and with all columns' costs.
//
// The column and the subtrees of a node do not change. Only rows in a window around the threshold may change sides (the
// search on a sample found the threshold up to a bin), so that one pass adds up all rows, and the rest is small.
// Coordinates are rounded to whole numbers of a unit, so sums are exact, whatever the order of rows or threads.
#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "refine/grid_rows.hpp"

namespace cutwise {
namespace {

struct PlacedLeaves {
  double value;
  int32_t row, left_leaf, right_leaf;  // leaves by their place among the node's
  bool was_left;
};

class Polish {
 public:
  Polish(const Matrix &matrix, const GridRows &grid, std::vector<int32_t> column, std::vector<double> thresholds,
         std::vector<int32_t> right, const double *edges, const int32_t *edge_begin, double least_gain, SizePrice price)
      : grid_(grid),
        column_(std::move(column)),
        place_(column_.size(), -1),
        right_(std::move(right)),
        edges_(edges),
        edge_begin_(edge_begin),
        least_gain_(least_gain),
        price_(price),
        threshold(std::move(thresholds)) {
    std::vector<int32_t> tested;
    for (size_t node = 0; node < column_.size(); ++node) {
      if (column_[node] < 0) continue;
      place_[node] = static_cast<int32_t>(std::find(tested.begin(), tested.end(), column_[node]) - tested.begin());
      if (place_[node] == static_cast<int32_t>(tested.size())) tested.push_back(column_[node]);
    }
    n_tested_ = static_cast<int64_t>(tested.size());
    values_.resize(matrix.n_rows() * n_tested_);
    matrix.visit([&](const auto &table) {
      double *to = values_.data();
      for (int64_t row = 0; row < matrix.n_rows(); ++row)
        for (int32_t each : tested) *to++ = table(row, each);
    });
  }

  void add_up(int n_jobs) {
    const int64_t n = grid_.n_rows(), width = grid_.width();
    const int32_t n_nodes = static_cast<int32_t>(column_.size());
    std::vector<int32_t> leaf_of(n);
    sums_.assign(static_cast<size_t>(n_nodes) * width, 0.0);
    std::vector<std::vector<double>> partial(n_jobs);
    parallel_for(n_jobs, n_jobs, [&](int64_t part) {
      std::vector<double> &sums = partial[part];
      sums.assign(sums_.size(), 0.0);
      std::vector<double> rows;
      RowScratch scratch;
      std::vector<int64_t> numbers;
      for (int64_t begin = n * part / n_jobs, end = n * (part + 1) / n_jobs; begin < end;) {
        const int64_t m = std::min(tile_rows(width), end - begin);
        numbers.resize(m);
        for (int64_t i = 0; i < m; ++i) numbers[i] = begin + i;
        rows.resize(m * width);
        grid_.read(numbers.data(), m, rows.data(), scratch);
        for (int64_t i = 0; i < m; ++i) {
          const int32_t leaf = route(begin + i, 0);
          leaf_of[begin + i] = leaf;
          add_row(sums.data() + leaf * width, rows.data() + i * width, width);
        }
        begin += m;
      }
    });
    for (const auto &part : partial)
      for (size_t j = 0; j < sums_.size(); ++j) sums_[j] += part[j];
    leaf_cost_.assign(n_nodes, 0.0);
    end_of_node_.assign(n_nodes, 0);
    for (int32_t node = n_nodes - 1; node >= 0; --node) {
      end_of_node_[node] = column_[node] < 0 ? node + 1 : end_of_node_[right_[node]];
      if (column_[node] < 0) leaf_cost_[node] = grid_.cost(sums_.data() + node * width);
    }
    find_rules();
    order_.resize(n);
    begin_.assign(n_nodes + 1, 0);
    for (int32_t leaf : leaf_of) ++begin_[leaf + 1];
    for (int32_t node = 0; node < n_nodes; ++node) begin_[node + 1] += begin_[node];
    std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
    for (int64_t row = 0; row < n; ++row) order_[next[leaf_of[row]]++] = static_cast<int32_t>(row);
    changed_.assign(n_nodes, true);
  }

  // True when the node's threshold moved.
  CUTWISE_CLONES bool recut(int32_t node) {
    const int32_t column = column_[node];
    const int64_t width = grid_.width();
    const int32_t left = node + 1, right = right_[node], end = end_of_node_[node];
    changed_[node] = false;
    double low = -kInfinite, high = kInfinite;
    if (edges_ != nullptr) {
      // A twelfth of the bins; where the threshold moves, the next pass looks on.
      const double *first = edges_ + edge_begin_[column], *last = edges_ + edge_begin_[column + 1];
      const std::ptrdiff_t at = std::lower_bound(first, last, threshold[node]) - first, n_edges = last - first;
      const std::ptrdiff_t reach = std::max<std::ptrdiff_t>(1, n_edges / 24);
      if (at - reach >= 0) low = first[at - reach];
      if (at + reach < n_edges) high = first[at + reach];
    }
    placed_.clear();
    for (int32_t leaf = node + 1; leaf < end; ++leaf) {
      if (column_[leaf] >= 0) continue;
      for (int32_t i = begin_[leaf]; i < begin_[leaf + 1]; ++i) {
        const double value = value_at(order_[i], node);
        if (!(value > low && value <= high)) continue;
        const bool was_left = leaf < right;
        placed_.push_back(
            {value, order_[i], was_left ? leaf : route(order_[i], left), was_left ? route(order_[i], right) : leaf, was_left});
      }
    }
    if (placed_.empty()) return false;
    sort_by_value(placed_);
    const int64_t n = placed_.size();
    numbers_.resize(n);
    for (int64_t i = 0; i < n; ++i) numbers_[i] = placed_[i].row;
    rows_.resize(n * width);
    grid_.read(numbers_.data(), n, rows_.data(), scratch_);

    // From all of them on the right to all on the left.
    swept_.assign(sums_.begin() + node * width, sums_.begin() + end * width);
    const double *rows = rows_.data();
    auto sums = [&](int32_t leaf) { return swept_.data() + (leaf - node) * width; };
    for (int64_t i = 0; i < n; ++i) {
      if (!placed_[i].was_left) continue;
      subtract_row(sums(placed_[i].left_leaf), rows + i * width, width);
      add_row(sums(placed_[i].right_leaf), rows + i * width, width);
    }
    std::vector<double> cost(end - node, 0.0);
    double present = 0.0;
    for (int32_t leaf = node + 1; leaf < end; ++leaf) {
      if (column_[leaf] >= 0) continue;
      present += leaf_cost_[leaf];
      cost[leaf - node] = grid_.cost(sums(leaf));
    }
    Size elsewhere;
    if (price_.any()) {
      const int32_t n_nodes = static_cast<int32_t>(column_.size());
      for (int32_t leaf = 0; leaf < n_nodes; ++leaf)
        if (column_[leaf] < 0 && (leaf < node || leaf >= end)) elsewhere.add(sums_[leaf * width], rule_[leaf]);
    }
    // A threshold that moves leaves every rule as long as it is, but for other rows.
    auto price = [&](const double *below) {
      if (!price_.any()) return 0.0;
      Size size = elsewhere;
      for (int32_t leaf = node + 1; leaf < end; ++leaf)
        if (column_[leaf] < 0) size.add(below[(leaf - node) * width], rule_[leaf]);
      return price_.of(size);
    };
    present += price(sums_.data() + node * width);
    auto total = [&] {
      double value = 0.0;
      for (double c : cost) value += c;
      return value < kInfinite ? value + price(swept_.data()) : value;
    };
    double best = std::isfinite(low) ? total() : kInfinite, best_cut = low;
    // Without the price, about: leaves are many, and few sums need be told to the last bit.
    double about = 0.0, largest = 0.0;
    int64_t n_empty = 0;
    auto count = [&](double leaf_cost, int sign) {
      if (leaf_cost < kInfinite) about += sign * leaf_cost;
      else n_empty += sign;
      largest = std::max(largest, std::fabs(about));
    };
    for (double c : cost) count(c, 1);
    for (int64_t i = 0; i < n;) {
      const double value = placed_[i].value;
      for (; i < n && placed_[i].value == value; ++i) {
        const PlacedLeaves &row = placed_[i];
        subtract_row(sums(row.right_leaf), rows + i * width, width);
        add_row(sums(row.left_leaf), rows + i * width, width);
        touched_.push_back(row.left_leaf);
        touched_.push_back(row.right_leaf);
      }
      if (touched_.size() > 2) {  // of one row they differ
        std::sort(touched_.begin(), touched_.end());
        touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
      }
      for (int32_t leaf : touched_) {
        count(cost[leaf - node], -1);
        count(cost[leaf - node] = grid_.cost(sums(leaf)), 1);
      }
      touched_.clear();
      if (!price_.any() && (n_empty > 0 || about > best + 1e-9 * largest)) continue;
      const double now = total();
      if (now < best) {
        best = now;
        best_cut = value;
      }
    }
    if (!(best < present - least_gain_)) return false;
    move(node, best_cut);
    changed_[node] = edges_ != nullptr;
    return true;
  }

  void run(bool (*is_interrupted)()) {
    for (int pass = 0; pass < 6; ++pass) {
      bool any = false;
      for (size_t node = 0; node < column_.size(); ++node) {
        if (column_[node] < 0 || !changed_[node]) continue;
        if (is_interrupted()) return;
        any |= recut(static_cast<int32_t>(node));
      }
      if (!any) return;
    }
  }

 private:
  void find_rules() {
    if (!price_.any()) return;
    rule_.assign(column_.size(), {});
    std::vector<std::vector<int32_t>> path(column_.size());  // sides of columns, each once
    for (size_t node = 0; node < column_.size(); ++node) {
      if (column_[node] < 0) rule_[node].conditions = static_cast<double>(path[node].size());
      if (column_[node] < 0) continue;
      for (int32_t side = 0; side < 2; ++side) {
        const int32_t child = side == 0 ? static_cast<int32_t>(node) + 1 : right_[node], test = 2 * column_[node] + side;
        rule_[child].levels = rule_[node].levels + 1.0;
        path[child] = path[node];
        if (std::find(path[node].begin(), path[node].end(), test) == path[node].end()) path[child].push_back(test);
      }
    }
  }

  int32_t route(int64_t row, int32_t node) const {
    while (column_[node] >= 0) node = value_at(row, node) <= threshold[node] ? node + 1 : right_[node];
    return node;
  }
  double value_at(int64_t row, int32_t node) const { return values_[row * n_tested_ + place_[node]]; }

  void move(int32_t node, double cut) {
    const int64_t width = grid_.width();
    const int32_t end = end_of_node_[node];
    threshold[node] = cut;
    std::vector<std::pair<int32_t, int32_t>> moves;  // row, its leaf now
    std::vector<uint8_t> touched(column_.size(), 0);
    for (size_t i = 0; i < placed_.size(); ++i) {
      const PlacedLeaves &row = placed_[i];
      const bool is_left = row.value <= cut;
      if (is_left == row.was_left) continue;
      const int32_t from = row.was_left ? row.left_leaf : row.right_leaf, to = row.was_left ? row.right_leaf : row.left_leaf;
      subtract_row(sums_.data() + from * width, rows_.data() + i * width, width);
      add_row(sums_.data() + to * width, rows_.data() + i * width, width);
      touched[from] = touched[to] = 1;
      moves.push_back({row.row, to});
    }
    std::sort(moves.begin(), moves.end());
    std::vector<std::pair<int32_t, int32_t>> all;  // leaf, row
    std::vector<int32_t> count(end - node, 0), old(order_.begin() + begin_[node], order_.begin() + begin_[end]);
    std::vector<int32_t> leaf_of(old.size());
    for (int32_t leaf = node; leaf < end; ++leaf)
      for (int32_t i = begin_[leaf]; i < begin_[leaf + 1]; ++i) {
        int32_t to = leaf;
        if (touched[leaf]) {
          const auto found = std::lower_bound(moves.begin(), moves.end(), std::make_pair(old[i - begin_[node]], -1));
          if (found != moves.end() && found->first == old[i - begin_[node]]) to = found->second;
        }
        leaf_of[i - begin_[node]] = to;
        ++count[to - node];
      }
    for (int32_t at = node; at < end; ++at) begin_[at + 1] = begin_[at] + count[at - node];
    std::vector<int32_t> next(begin_.begin() + node, begin_.begin() + end);
    for (size_t i = 0; i < old.size(); ++i) order_[next[leaf_of[i] - node]++] = old[i];
    for (int32_t leaf = node; leaf < end; ++leaf)
      if (touched[leaf]) leaf_cost_[leaf] = grid_.cost(sums_.data() + leaf * width);
    // Below, where rows changed; above, for a test below changed.
    for (int32_t at = 0; at < static_cast<int32_t>(column_.size()); ++at) {
      if (column_[at] < 0 || at == node || at >= end || end_of_node_[at] <= node) continue;
      const bool is_above = at < node && end_of_node_[at] >= end;
      changed_[at] =
          changed_[at] || is_above ||
          std::find(touched.begin() + at, touched.begin() + end_of_node_[at], 1) != touched.begin() + end_of_node_[at];
    }
  }

  const GridRows &grid_;
  const std::vector<int32_t> column_;
  std::vector<int32_t> place_;  // of a node's column among those that are tested
  const std::vector<int32_t> right_;
  int64_t n_tested_;
  std::vector<double> values_;  // (n_rows, n_tested_)
  const double *edges_;
  const int32_t *edge_begin_;
  const double least_gain_;
  const SizePrice price_;
  std::vector<Size> rule_;  // of leaves
  // Rows by leaf in preorder: those of node i stand at begin_[i] .. begin_[i + 1] - 1 of the order (none at inner nodes).
  std::vector<int32_t> order_, begin_, end_of_node_;
  std::vector<double> sums_, leaf_cost_, swept_, rows_;
  RowScratch scratch_;
  std::vector<bool> changed_;
  std::vector<PlacedLeaves> placed_;
  std::vector<int64_t> numbers_;
  std::vector<int32_t> touched_;

 public:
  std::vector<double> threshold;
};

bool is_interrupted() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_polish(nb::module_ &m) {
  m.def(
      "polish",
      [](const Matrix &matrix, const Matrix &metric, const Weights &weights, In1<double> origin, double reach, double scale,
         bool weigh_first, const std::optional<In2<double>> &directions, In1<int32_t> column, In1<double> threshold,
         In1<int32_t> right, const std::optional<In1<double>> &edges, const std::optional<In1<int32_t>> &edge_begin,
         double least_gain, std::pair<double, double> size_price, std::pair<double, double> free_size, int n_jobs) {
        require(matrix.n_rows() == metric.n_rows() && matrix.n_rows() > 0, "the matrices have the same rows");
        const size_t n_nodes = column.size();
        require(threshold.size() == n_nodes && right.size() == n_nodes && n_nodes > 0, "the arrays of a tree have one length");
        for (size_t node = 0; node < n_nodes; ++node)
          require(column(node) < matrix.n_cols() && (column(node) < 0 || (right(node) > static_cast<int32_t>(node) + 1 &&
                                                                          right(node) < static_cast<int32_t>(n_nodes))),
                  "the nodes of a tree are in preorder");
        require(edges.has_value() == edge_begin.has_value() && has_shape(edge_begin, matrix.n_cols() + 1),
                "there are edges for each column, or none");
        const GridRows grid(metric, checked(weights, matrix.n_rows()), origin, reach, scale, weigh_first, directions);
        Polish polish(matrix, grid, copied(column), copied(threshold), copied(right), data_or_null(edges),
                      data_or_null(edge_begin), least_gain,
                      {{size_price.first, size_price.second}, {free_size.first, free_size.second}});
        without_gil([&] {
          polish.add_up(std::max(n_jobs, 1));
          polish.run(is_interrupted);
        });
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        return to_numpy(std::move(polish.threshold));
      },
      "matrix"_a, "metric"_a, "weights"_a.none(), "origin"_a, "reach"_a, "scale"_a, "weigh_first"_a, "directions"_a.none(),
      "column"_a, "threshold"_a, "right"_a, "edges"_a.none(), "edge_begin"_a.none(), "least_gain"_a, "size_price"_a,
      "free_size"_a, "n_jobs"_a,
      R"(Choose the threshold of every node anew, in its own column, on all rows.

The tree is (column, threshold, right) in preorder; matrix has the columns that it cuts, metric the coordinates that costs are
made of, as in grid_rows. With edges, thresholds move among the few bins next to them; otherwise anywhere. Prices of the
length of rules are those of TreeSearch. Gives the thresholds: each a value of the rows on its left.)");
}
