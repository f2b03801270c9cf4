// Sums of a batch of rows by node, column and bin, from which trees are grown in passes over data that is not in memory.
//
// Every batch adds integers to the same cells, so neither the order of the rows nor their batches change a result.
#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "encoding/bins.hpp"

namespace cutwise {
namespace {

constexpr int64_t kInterleaved = 256;  // rows of which all columns fit in the first-level cache

// A checksum modulo 2^32: the bits of every value times an odd number made of the number of its row. `first` is the number of
// the first row.
template <class Value>
CUTWISE_CLONES uint32_t sum_in_order(const Value *values, int64_t n, uint32_t first) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t words[2] = {};
    std::memcpy(words, values + i, sizeof(Value));
    sum += (words[0] + 0x9e3779b9u * words[1]) * (2 * (first + static_cast<uint32_t>(i)) + 1);
  }
  return sum;
}

struct Cells {
  const uint8_t *codes;    // (n, d)
  const int64_t *begin;    // (d + 1,): the first bin of each column
  const int32_t *node;     // (n,): the node of each row, -1 for none
  const int64_t *weights;  // (n,), null: each row counts once
  int64_t n, d, n_bins;
};

// Rows that are listed by node together: the cells of one node and column then stay in the first-level cache.
constexpr int64_t kTile = 8192;

// Every row adds 1, its weight and its k numbers to its cell. cells: of one node and column.
template <class Number>
CUTWISE_CLONES void add_rows(const Cells &at, int64_t f, const int64_t *rows, int64_t m, const Number *payload, int64_t k,
                             int64_t *cells) {
  for (int64_t j = 0; j < m; ++j) {
    const int64_t i = rows[j];
    int64_t *cell = cells + at.codes[i * at.d + f] * (2 + k);
    const Number *numbers = payload + i * k;
    cell[0] += 1;
    cell[1] += at.weights ? at.weights[i] : 1;
    for (int64_t c = 0; c < k; ++c) cell[2 + c] += numbers[c];
  }
}

// Every row adds to its cell 1, its weight, and its least cost among all n clusters, among the first s and among the others,
// for every s = 1 .. n - 1. along: the clusters by coordinate in this column. least: scratch of n numbers.
template <class Number>
CUTWISE_CLONES void add_sides(const Cells &at, int64_t f, const int64_t *rows, int64_t m, const Number *costs, int64_t k,
                              const int32_t *along, int64_t n, Number *least, int64_t *cells) {
  for (int64_t j = 0; j < m; ++j) {
    const int64_t i = rows[j];
    int64_t *cell = cells + at.codes[i * at.d + f] * (2 * k + 1);
    const Number *cost = costs + i * k;
    cell[0] += 1;
    cell[1] += at.weights ? at.weights[i] : 1;
    // Selections in place of branches, which would be mispredicted as costs are in no order.
    least[0] = cost[along[0]];
    for (int64_t s = 1; s < n; ++s) least[s] = cost[along[s]] < least[s - 1] ? cost[along[s]] : least[s - 1];
    cell[2] += least[n - 1];
    for (int64_t s = 1; s < n; ++s) cell[2 + s] += least[s - 1];
    least[n - 1] = cost[along[n - 1]];
    for (int64_t s = n - 1; s > 0; --s) least[s - 1] = cost[along[s - 1]] < least[s] ? cost[along[s - 1]] : least[s];
    for (int64_t s = 1; s < n; ++s) cell[1 + k + s] += least[s];
  }
}

template <class Number>
void add_all(const Cells &at, const Number *payload, int64_t k, const int32_t *order, const int32_t *n_survivors,
             int64_t n_nodes, int64_t *sums) {
  const int64_t width = order ? 2 * k + 1 : 2 + k;
  std::vector<Number> least(k);
  for (int64_t tile = 0; tile < at.n; tile += kTile) {
    const ClusterRows by_node(at.node + tile, std::min(at.n - tile, kTile), n_nodes, tile);
    for (int64_t node = 0; node < n_nodes; ++node) {
      const int64_t *in_node = by_node.rows(node), m = by_node.size(node);
      if (m == 0) continue;
      const int32_t *along = order ? order + node * at.d * k : nullptr;
      int64_t *cells = sums + node * at.n_bins * width;
      for (int64_t f = 0; f < at.d; ++f) {
        int64_t *of_column = cells + at.begin[f] * width;
        if (order) add_sides(at, f, in_node, m, payload, k, along + f * k, n_survivors[node], least.data(), of_column);
        else add_rows(at, f, in_node, m, payload, k, of_column);
      }
    }
  }
}

auto bin_codes(const Matrix &matrix, In1<double> edges, In1<int64_t> begin, Out1<double> low, Out1<double> high) {
  const int64_t n = matrix.n_rows(), d = matrix.n_cols();
  require(has_shape(begin, d + 1) && begin(0) == 0 && has_shape(edges, begin(d) - d), "a column has one bin more than edges");
  for (int64_t f = 0; f < d; ++f) require(begin(f + 1) > begin(f) && begin(f + 1) <= begin(f) + 256, "at most 256 bins");
  require(has_shape(low, begin(d)) && has_shape(high, begin(d)), "low and high have one entry per bin");
  NewArray<uint8_t, 2> codes(n, d);
  without_gil([&] {
    matrix.visit([&](auto values) {
      for (int64_t first = 0; first < n; first += kCountedTogether)
        for (int64_t f = 0; f < d; ++f) {
          const double *of_column = edges.data() + begin(f) - f;
          const int64_t n_edges = begin(f + 1) - begin(f) - 1;
          double *least = low.data() + begin(f), *most = high.data() + begin(f);
          double column[kCountedTogether] = {};
          int64_t bins[kCountedTogether] = {};
          const int64_t n_here = std::min(n - first, kCountedTogether);
          for (int64_t i = 0; i < n_here; ++i) column[i] = values(first + i, f) + 0.0;
          count_below(of_column, n_edges, column, n_here, bins);
          for (int64_t i = 0; i < n_here; ++i) {
            codes.data()[(first + i) * d + f] = static_cast<uint8_t>(bins[i]);
            least[bins[i]] = std::min(least[bins[i]], column[i]);
            most[bins[i]] = std::max(most[bins[i]], column[i]);
          }
        }
    });
  });
  return codes.to_numpy();
}

template <class Value>
auto interleave(const std::vector<In1<Value>> &of_columns, In1<int64_t> columns, uint32_t first, Out2<Value> rows) {
  const auto d = static_cast<int64_t>(columns.size()), n = static_cast<int64_t>(rows.shape(0));
  const auto width = static_cast<int64_t>(rows.shape(1));
  require(of_columns.size() == columns.size(), "every column has a number");
  for (int64_t c = 0; c < d; ++c)
    require(has_shape(of_columns[c], n) && columns(c) >= 0 && columns(c) < width, "columns are of the rows");
  NewArray<uint32_t, 1> sums(d);
  without_gil([&] {
    std::fill_n(sums.data(), d, uint32_t{0});
    for (int64_t tile = 0; tile < n; tile += kInterleaved) {
      const int64_t n_here = std::min(kInterleaved, n - tile);
      for (int64_t c = 0; c < d; ++c) {
        const Value *from = of_columns[c].data() + tile;
        Value *to = rows.data() + tile * width + columns(c);
        for (int64_t i = 0; i < n_here; ++i) to[i * width] = from[i];
        sums.data()[c] += sum_in_order(from, n_here, first + static_cast<uint32_t>(tile));
      }
    }
  });
  return sums.to_numpy();
}

template <class Number>
void add_to_tallies(In2<uint8_t> codes, In1<int64_t> begin, In1<int32_t> node, const Weights &weights, In2<Number> payload,
                    std::optional<In3<int32_t>> order, In1<int32_t> n_survivors, Out3<int64_t> sums) {
  const int64_t k = payload.shape(1), n_nodes = sums.shape(0);
  const Cells at{codes.data(),
                 begin.data(),
                 node.data(),
                 checked(weights, static_cast<int64_t>(codes.shape(0))),
                 static_cast<int64_t>(codes.shape(0)),
                 static_cast<int64_t>(codes.shape(1)),
                 static_cast<int64_t>(sums.shape(1))};
  require(has_shape(node, at.n) && has_shape(payload, at.n), "there is one of everything for each row");
  require(has_shape(begin, at.d + 1) && begin(at.d) == at.n_bins, "begin says where bins start");
  require(has_shape(sums, n_nodes, at.n_bins, order ? 2 * k + 1 : 2 + k), "sums has a cell for each number");
  require(!order || (has_shape(order, n_nodes, at.d, k) && has_shape(n_survivors, n_nodes)),
          "order is of shape (n_nodes, d, k)");
  for (size_t j = 0; order && j < order->size(); ++j)
    require(order->data()[j] >= 0 && order->data()[j] < k, "survivors are clusters");
  for (size_t j = 0; order && j < n_survivors.size(); ++j)
    require(n_survivors(j) > 0 && n_survivors(j) <= k, "survivors are clusters");
  for (size_t i = 0; i < node.size(); ++i) require(node(i) < n_nodes, "nodes are those that sums has");
  const GilRelease release;
  add_all(at, payload.data(), k, data_or_null(order), n_survivors.data(), n_nodes, sums.data());
}

auto rows_in_ranges(const Matrix &matrix, In1<int32_t> node, In1<int64_t> first, In1<int32_t> column, In1<double> low,
                    In1<double> high) {
  const int64_t n_nodes = static_cast<int64_t>(first.size()) - 1, n_ranges = column.size();
  require(has_shape(node, matrix.n_rows()), "node has one entry per row");
  require(n_nodes >= 0 && first(0) == 0 && first(n_nodes) == n_ranges, "first says where the ranges of a node start");
  for (int64_t j = 0; j < n_nodes; ++j) require(first(j) <= first(j + 1), "first increases");
  for (int64_t r = 0; r < n_ranges; ++r) require(column(r) >= 0 && column(r) < matrix.n_cols(), "columns are of the table");
  require(low.size() == column.size() && high.size() == column.size(), "a range has two ends");
  std::vector<int32_t> row, range;
  std::vector<double> value;
  without_gil([&] {
    std::vector<int64_t> end(n_ranges);  // of the ranges in the same column of the same node
    for (int64_t j = 0; j < n_nodes; ++j)
      for (int64_t r = first(j + 1) - 1; r >= first(j); --r)
        end[r] = r + 1 < first(j + 1) && column(r + 1) == column(r) ? end[r + 1] : r + 1;
    matrix.visit([&](auto values) {
      for (size_t i = 0; i < node.size(); ++i) {
        if (node(i) < 0 || node(i) >= n_nodes) continue;
        for (int64_t r = first(node(i)), last = first(node(i) + 1); r < last; r = end[r]) {
          const double x = values(i, column(r)) + 0.0;
          if (x < low(r) || x > high(end[r] - 1)) continue;
          const int64_t found = std::lower_bound(high.data() + r, high.data() + end[r], x) - high.data();
          if (x < low(found)) continue;
          row.push_back(static_cast<int32_t>(i));
          range.push_back(static_cast<int32_t>(found));
          value.push_back(x);
        }
      }
    });
  });
  return std::make_tuple(to_numpy(std::move(row)), to_numpy(std::move(range)), to_numpy(std::move(value)));
}

void step_down(const Matrix &matrix, Out1<int32_t> node, In1<int32_t> column, In1<double> threshold, In1<int32_t> left,
               In1<int32_t> right, Out2<double> gaps) {
  const auto n_nodes = static_cast<int32_t>(column.size());
  require(has_shape(node, matrix.n_rows()), "node has one entry per row");
  require(has_shape(threshold, n_nodes) && has_shape(left, n_nodes) && has_shape(right, n_nodes) && has_shape(gaps, n_nodes, 2),
          "there is one of everything for each node");
  for (int32_t j = 0; j < n_nodes; ++j)
    require(column(j) < 0 ||
                (column(j) < matrix.n_cols() && left(j) > j && right(j) > j && left(j) < n_nodes && right(j) < n_nodes),
            "children come after their parents");
  for (size_t i = 0; i < node.size(); ++i) require(node(i) >= 0 && node(i) < n_nodes, "rows are in nodes");
  const GilRelease release;
  matrix.visit([&](auto values) {
    for (size_t i = 0; i < node.size(); ++i) {
      int32_t at = node(i);
      while (column(at) >= 0) {
        const double value = values(i, column(at)) + 0.0;
        double &low = gaps.data()[2 * at], &high = gaps.data()[2 * at + 1];
        const bool is_left = value <= threshold(at);
        if (is_left) low = std::max(low, value);
        else high = std::min(high, value);
        at = is_left ? left(at) : right(at);
      }
      node.data()[i] = at;
    }
  });
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_tallies(nb::module_ &m) {
  m.def("bin_codes", &bin_codes, "matrix"_a, "edges"_a, "begin"_a, "low"_a.noconvert(), "high"_a.noconvert(),
        R"(The bin of every value, (n_rows, d) uint8: how many edges of its column are below it.

edges: sorted, those of one column after those of another. begin (d + 1,): the first bin of each column, which has one bin more
than it has edges. low, high (begin[d],): the least and the largest value in each bin so far; they are updated.)");
  for_types<float, double, int32_t, int64_t, uint8_t>(
      R"(Write some columns, each (n_rows,), into a table of rows, (n_rows, d).

columns: the numbers of the columns in the table. first: the number of the first row. Returns a checksum of each column modulo
2^32, which depends on the order of the rows as well; the checksums of batches add up.)",
      [&](auto zero, const char *doc) {
        using Value = decltype(zero);
        m.def("interleave", &interleave<Value>, "of_columns"_a, "columns"_a, "first"_a, "rows"_a.noconvert(), doc);
      });
  for_types<int32_t, int64_t>(
      R"(Add a batch of rows to the sums of their nodes, by column and bin, in place.

codes (n, d), begin: as bin_codes returns and takes them. node (n,): the node of each row, -1 for none. payload (n, k).

Without order every row adds 1, its weight and its payload to sums (n_nodes, n_bins, 2 + k).

With order (n_nodes, d, k), the clusters of each node by coordinate in each column, of which the first n_survivors (n_nodes,)
are the node's, payload is costs, and sums is of shape (n_nodes, n_bins, 2 k + 1). Every row adds 1 and its weight; then at 2
its least cost among all survivors of the node; at 2 + s, for s = 1 .. n_survivors - 1, that among the first s along the column;
and at 1 + k + s that among the others.)",
      [&](auto zero, const char *doc) {
        using Number = decltype(zero);
        m.def("add_to_tallies", &add_to_tallies<Number>, "codes"_a, "begin"_a, "node"_a, "weights"_a.none(),
              "payload"_a.noconvert(), "order"_a.none(), "n_survivors"_a, "sums"_a.noconvert(), doc);
      });
  m.def(
      "rows_in_ranges", &rows_in_ranges, "matrix"_a, "node"_a, "first"_a, "column"_a, "low"_a, "high"_a,
      R"(The rows of a batch whose values lie in given ranges, as three arrays: number of the row, number of the range, and value.

node (n,): the node of each row, -1 for none. first (n_nodes + 1,): the first range of each node. column, low, high (n_ranges,):
the ranges, by node, then by column, then by value.)");
  m.def("step_down", &step_down, "matrix"_a, "node"_a.noconvert(), "column"_a, "threshold"_a, "left"_a, "right"_a,
        "gaps"_a.noconvert(),
        R"(Move every row from its node, (n,), down to a leaf, in place.

column (n_nodes,): -1 at leaves. threshold, left, right (n_nodes,): children come after their parents. gaps (n_nodes, 2): the
largest value that went left, and the least that went right, at each node so far; they are updated.)");
}
