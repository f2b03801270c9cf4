// Splits the rows of a node at a cut, and finds the leaf of every row in a tree.
#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "encoding/encoded.hpp"
#include "nodes/node.hpp"

namespace cutwise {

namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity(), kNoEnd = std::numeric_limits<double>::quiet_NaN();

// How many rows went left, and the node's values next to the threshold (left_max, right_min) and next to the lower end of an
// interval (below_max, inside_min). They are infinite where no row is.
struct Partition {
  int64_t n_left = 0;
  double left_max = -kNowhere, right_min = kNowhere;
  double below_max = -kNowhere, inside_min = kNowhere;
};

// Brings the rows with value <= threshold to the front.
Partition partition(const Encoded &encoded, const Matrix &matrix, int32_t *rows, int64_t n, int32_t feature, double threshold) {
  const Column &column = encoded.columns[feature];
  const double *low = encoded.low.data() + column.value_begin;
  const double *high = encoded.high.data() + column.value_begin;
  // Bins below `split` lie left of the cut and bins above it right. Bin `split` has values on both sides where `inside` is
  // true, and otherwise lies right.
  const int32_t split = static_cast<int32_t>(std::upper_bound(high, high + column.n_bins, threshold) - high);
  const bool inside = split < column.n_bins && low[split] <= threshold;
  int64_t n_left = 0;
  int32_t last_left = -1, first_right = column.n_bins;
  double left_max = -kNowhere, right_min = kNowhere;
  matrix.visit([&](auto values) {
    std::vector<uint8_t> seen(column.n_bins, 0);
    const BinReader bins(encoded, column);
    n_left = split_rows(rows, n, [&](int32_t row) {
      const int32_t bin = bins(row);
      bool goes_left = bin < split;
      if (inside && bin == split) {
        const double value = values(row, feature);
        goes_left = value <= threshold;
        if (goes_left) left_max = std::max(left_max, value);
        else right_min = std::min(right_min, value);
      }
      seen[bin] = 1;
      return goes_left;
    });
    for (int32_t bin = 0; bin < column.n_bins; ++bin) {
      if (!seen[bin] || (inside && bin == split)) continue;
      if (bin < split) last_left = bin;
      else first_right = std::min(first_right, bin);
    }
    // Finds the ends of the gap: the value of an exact bin, or else the extreme value among the rows in the bin.
    auto tighten = [&](int32_t bin, int64_t begin, int64_t end, bool left) {
      if (low[bin] == high[bin]) {
        if (left) left_max = std::max(left_max, high[bin]);
        else right_min = std::min(right_min, low[bin]);
        return;
      }
      for (int64_t i = begin; i < end; ++i) {
        if (encoded.bin(rows[i], column) != bin) continue;
        const double value = values(rows[i], feature);
        if (left) left_max = std::max(left_max, value);
        else right_min = std::min(right_min, value);
      }
    };
    // Values in bin `split` were compared above, and are nearer to the threshold than those of any other bin.
    if (last_left >= 0 && !std::isfinite(left_max)) tighten(last_left, 0, n_left, true);
    if (first_right < column.n_bins && !std::isfinite(right_min)) tighten(first_right, n_left, n, false);
  });
  return {n_left, left_max, right_min, kNoEnd, kNoEnd};
}

// The same for an interval: brings the rows with lower < value <= upper to the front. This reads raw values, since codes would
// leave up to four bins whose rows have to be read anyway.
Partition partition_interval(const Matrix &matrix, int32_t *rows, int64_t n, int32_t feature, double lower, double upper) {
  Partition found;
  matrix.visit([&](auto values) {
    found.n_left = split_rows(rows, n, [&](int32_t row) {
      const double value = values(row, feature);
      if (value <= lower) {
        found.below_max = std::max(found.below_max, value);
        return false;
      }
      if (value > upper) {
        found.right_min = std::min(found.right_min, value);
        return false;
      }
      found.inside_min = std::min(found.inside_min, value);
      found.left_max = std::max(found.left_max, value);
      return true;
    });
  });
  return found;
}

// A node of a tree in 24 bytes. The nodes are in preorder, so the left child is always the next node.
struct Node {
  double threshold, lower;
  int32_t feature;  // -1: a leaf
  int32_t right;
};

std::vector<Node> read_tree(const In1<int32_t> &left, const In1<int32_t> &right, const In1<int32_t> &feature,
                            const In1<double> &threshold, const In1<double> &lower, int64_t n_cols) {
  const size_t m = left.shape(0);
  require(m > 0, "a tree has at least one node");
  require(has_shape(right, m) && has_shape(feature, m) && has_shape(threshold, m) && has_shape(lower, m),
          "the arrays of a tree have one length");
  std::vector<Node> nodes(m);
  for (size_t i = 0; i < m; ++i) {
    const int32_t l = left(i), r = right(i), f = feature(i);
    if (l < 0) {
      nodes[i] = {0.0, 0.0, -1, -1};
      continue;
    }
    // Children come after their parents, so every walk down the tree ends; route() relies on this.
    require(static_cast<size_t>(l) == i + 1 && r > l && static_cast<size_t>(r) < m,
            "the nodes of a tree are in preorder: the left child of node i is node i + 1");
    require(f >= 0 && f < n_cols, "a tree tests a column that the matrix does not have");
    const double end = lower(i) == -kNowhere ? kNoEnd : lower(i);  // missing values may be coded as -inf
    nodes[i] = {threshold(i), end, f, r};
  }
  return nodes;
}

constexpr int64_t kCodes = 256;  // possible codes of levels

// Writes the leaf of the rows first .. last - 1. sets (n_nodes, kCodes + 1): for a node that tests a set of levels (its
// threshold is nan), which codes go left; and in the last entry, for any node, whether a missing value goes left. They are read
// only with `with_sets`; without them a missing value goes right.
template <bool with_sets, class Table>
void route(const Table &x, const std::vector<Node> &nodes, const uint8_t *sets, int64_t first, int64_t last, int32_t *leaf) {
  for (int64_t row = first; row < last; ++row) {
    int32_t at = 0;
    while (nodes[at].feature >= 0) {
      const Node &node = nodes[at];
      const double value = x(row, node.feature);
      bool inside = (value <= node.threshold) & !(value <= node.lower);
      if constexpr (with_sets) {
        const uint8_t *goes_left = sets + at * (kCodes + 1);
        if (std::isnan(value)) {
          inside = goes_left[kCodes] != 0;
        } else if (std::isnan(node.threshold)) {
          inside = value >= 0 && value < static_cast<double>(kCodes) && value == std::floor(value) &&
                   goes_left[static_cast<int64_t>(value)] != 0;
        }
      }
      at = inside ? at + 1 : node.right;
    }
    leaf[row] = at;
  }
}

Owned<int32_t, 1> apply(const Matrix &x, In1<int32_t> left, In1<int32_t> right, In1<int32_t> feature, In1<double> threshold,
                        In1<double> lower, std::optional<In2<uint8_t>> sets, int n_jobs) {
  require(has_shape(sets, left.size(), kCodes + 1), "sets is of shape (n_nodes, 257)");
  const std::vector<Node> nodes = read_tree(left, right, feature, threshold, lower, x.n_cols());
  const int64_t n = x.n_rows();
  NewArray<int32_t, 1> leaf(n);
  without_gil([&] {
    constexpr int64_t block = 4096;  // rows; so few that a block of a column-major table stays in the cache
    const int64_t n_blocks = (n + block - 1) / block;
    x.visit([&](const auto &table) {
      parallel_for(n_jobs, n_blocks, [&](int64_t piece) {
        const int64_t first = piece * block, last = std::min(n, first + block);
        if (sets) route<true>(table, nodes, sets->data(), first, last, leaf.data());
        else route<false>(table, nodes, nullptr, first, last, leaf.data());
      });
    });
  });
  return leaf.to_numpy();
}

}  // namespace

}  // namespace cutwise

using namespace cutwise;

void bind_partition(nb::module_ &m) {
  m.def(
      "partition",
      [](const Encoded &encoded, const Matrix &matrix, Out1<int32_t> rows, int32_t feature, double lower, double threshold) {
        require(feature >= 0 && feature < encoded.n_cols(), "feature is a column of the table");
        require_same_table(encoded, matrix);
        const int64_t n = static_cast<int64_t>(rows.size());
        const Partition found = without_gil([&] {
          return lower == -kNowhere ? partition(encoded, matrix, rows.data(), n, feature, threshold)
                                    : partition_interval(matrix, rows.data(), n, feature, lower, threshold);
        });
        return std::make_tuple(found.n_left, std::make_pair(found.left_max, found.right_min),
                               std::make_pair(found.below_max, found.inside_min));
      },
      "encoded"_a, "matrix"_a, "rows"_a.noconvert(), "feature"_a, "lower"_a, "threshold"_a,
      R"(Bring the rows with lower < x[feature] <= threshold to the front, and keep the order of both parts.

Returns their number, the two values next to the threshold, and the two values next to the lower end: infinite where there is no
row, nan where lower is -inf.)");
}

void bind_apply(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("apply", &cutwise::apply, "matrix"_a, "children_left"_a, "children_right"_a, "feature"_a, "threshold"_a, "lower"_a,
        "sets"_a.none() = nb::none(), "n_jobs"_a = 1,
        R"(The node number of the leaf that every row reaches in a threshold tree, (n_rows,).

The arrays are of shape (n_nodes,), with the nodes in preorder: the left child of inner node i is i + 1, and children of -1 mark
a leaf. A row goes left when lower < value <= threshold, compared as float64; without a lower end, -inf, also where the value is
-inf. feature is not read at leaves. sets (n_nodes, 257) or None: for nodes whose threshold is nan, which levels go left; and in
the last column, for any node, whether a missing value goes left. Without sets missing values go right.)");
}
