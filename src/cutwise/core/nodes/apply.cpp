// Routing rows down a threshold tree: the leaf of every row.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"

namespace cutwise {
namespace {

using nb::literals::operator""_a;

// One inner node in 24 bytes. The left child is always the next node, for trees are kept in preorder.
struct Node {
  double threshold, lower;
  int32_t feature;  // -1: a leaf
  int32_t right;
};

std::vector<Node> read_tree(const In1<int32_t> &left, const In1<int32_t> &right, const In1<int32_t> &feature,
                            const In1<double> &threshold, const In1<double> &lower, int64_t n_cols) {
  const size_t m = left.shape(0);
  if (m == 0) throw std::invalid_argument("a tree has at least one node");
  if (right.shape(0) != m || feature.shape(0) != m || threshold.shape(0) != m || lower.shape(0) != m)
    throw std::invalid_argument("the arrays of a tree have one length");
  std::vector<Node> nodes(m);
  for (size_t i = 0; i < m; ++i) {
    const int32_t l = left(i), r = right(i), f = feature(i);
    if (l < 0) {
      nodes[i] = {0.0, 0.0, -1, -1};
      continue;
    }
    // Children come after their parent, so every walk ends; this is what makes the unchecked walk below safe.
    if (static_cast<size_t>(l) != i + 1 || r <= l || static_cast<size_t>(r) >= m)
      throw std::invalid_argument("the nodes of a tree are in preorder: the left child of node i is node i + 1");
    if (f < 0 || f >= n_cols) throw std::invalid_argument("a tree tests a column that the matrix does not have");
    nodes[i] = {threshold(i), lower(i), f, r};
  }
  return nodes;
}

template <class Table>
void route(const Table &x, const std::vector<Node> &nodes, int64_t first, int64_t last, int32_t *leaf) {
  for (int64_t row = first; row < last; ++row) {
    int32_t at = 0;
    while (nodes[at].feature >= 0) {
      const Node &node = nodes[at];
      const double value = x(row, node.feature);
      const bool inside = (value <= node.threshold) & (value > node.lower);
      at = inside ? at + 1 : node.right;
    }
    leaf[row] = at;
  }
}

Owned<int32_t, 1> apply(const Matrix &x, In1<int32_t> left, In1<int32_t> right, In1<int32_t> feature, In1<double> threshold,
                        In1<double> lower, int n_jobs) {
  const std::vector<Node> nodes = read_tree(left, right, feature, threshold, lower, x.n_cols());
  const int64_t n = x.n_rows();
  NewArray<int32_t, 1> leaf(n);
  {
    nb::gil_scoped_release release;
    constexpr int64_t block = 4096;  // small enough that a column-major block stays in cache from one row to the next
    const int64_t n_blocks = (n + block - 1) / block;
    x.visit([&](const auto &table) {
      parallel_for(n_jobs, n_blocks,
                   [&](int64_t piece) { route(table, nodes, piece * block, std::min(n, (piece + 1) * block), leaf.data()); });
    });
  }
  return leaf.to_numpy();
}

}  // namespace
}  // namespace cutwise

void bind_apply(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("apply", &cutwise::apply, "matrix"_a, "children_left"_a, "children_right"_a, "feature"_a, "threshold"_a, "lower"_a,
        "n_jobs"_a = 1,
        R"(The node number of the leaf that every row reaches in a threshold tree, (n_rows,).

Nodes are in preorder, each array of shape (n_nodes,): the left child of inner node i is i + 1, and -1 marks a leaf. A row
goes left when lower < value <= threshold, compared as float64; feature is not read at leaves.)");
}
