// Sums of a batch of rows by node, column and bin: what trees that grow by passes are grown from.
//
// A batch adds integers to cells that earlier batches have added to. Which batch a row comes in, and when, changes nothing.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/simd.hpp"

namespace cutwise {
namespace {

// The number of edges below a value, among at most 255 sorted ones.
CUTWISE_INLINE uint8_t bin_of(const double *edges, int64_t n, double value) {
  const double *base = edges;
  while (n > 1) {
    const int64_t half = n / 2;
    base += half * static_cast<int64_t>(base[half - 1] < value);  // a branch would be mispredicted every second time
    n -= half;
  }
  return static_cast<uint8_t>((base - edges) + (n == 1 && *base < value));
}

struct Cells {
  const uint8_t *codes;  // (n, d)
  const int64_t *begin;  // (d + 1,): where each column's bins start
  const int32_t *node;   // (n,): -1: of none
  int64_t n, d, n_bins;
};

// Every row of a node with its cell in every column: a tile of rows column by column, so that few cells are visited at a time.
template <class Visit>
CUTWISE_INLINE void for_each_cell(const Cells &at, Visit visit) {
  constexpr int64_t kTile = 4096;
  for (int64_t first = 0; first < at.n; first += kTile)
    for (int64_t f = 0; f < at.d; ++f)
      for (int64_t i = first; i < std::min(at.n, first + kTile); ++i)
        if (at.node[i] >= 0) visit(i, f, at.node[i] * at.n_bins + at.begin[f] + at.codes[i * at.d + f]);
}

template <class Cost>
CUTWISE_INLINE void add(const Cost *from, int64_t k, int64_t *to) {
  for (int64_t j = 0; j < k; ++j) to[j] += from[j];
}

template <class Cost>
CUTWISE_CLONES void add_rows(const Cells &at, const int32_t *labels, const int64_t *weights, const int64_t *base,
                             const Cost *excess, int64_t k, int64_t *sums) {
  const int64_t width = 2 + 2 * k;
  for_each_cell(at, [&](int64_t i, int64_t, int64_t of_cell) {
    int64_t *cell = sums + of_cell * width;
    cell[0] += 1;
    cell[1] += base[i];
    cell[2 + labels[i]] += weights ? weights[i] : 1;
    add(excess + i * k, k, cell + 2 + k);
  });
}

// Of the survivors of a node, in order along each column: what a row costs by the best of the first s, and of the others.
template <class Cost>
void add_sides(const Cells &at, const Cost *excess, int64_t k, const int32_t *order, const int32_t *n_survivors,
               int64_t *sums) {
  const int64_t width = 2 * k - 1;
  for_each_cell(at, [&](int64_t i, int64_t f, int64_t of_cell) {
    const int64_t m = n_survivors[at.node[i]];
    if (m < 2) return;
    const Cost *cost = excess + i * k;
    const int32_t *along = order + (at.node[i] * at.d + f) * k;
    int64_t *cell = sums + of_cell * width;
    int64_t least = cost[along[0]];
    for (int64_t s = 1; s < m; ++s) {
      cell[s] += least;
      least = std::min<int64_t>(least, cost[along[s]]);
    }
    cell[0] += least;
    least = cost[along[m - 1]];
    for (int64_t s = m - 1; s > 0; --s) {
      cell[k - 1 + s] += least;
      least = std::min<int64_t>(least, cost[along[s - 1]]);
    }
  });
}

void keep_ranges(const Matrix &matrix, const Cells &at, double *low, double *high) {
  matrix.visit([&](auto values) {
    for_each_cell(at, [&](int64_t i, int64_t f, int64_t cell) {
      const double value = values(i, f) + 0.0;
      low[cell] = std::min(low[cell], value);
      high[cell] = std::max(high[cell], value);
    });
  });
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_tallies(nb::module_ &m) {
  m.def(
      "bin_codes",
      [](const Matrix &matrix, In1<double> edges, In1<int64_t> begin) {
        const int64_t n = matrix.n_rows(), d = matrix.n_cols();
        require(
            static_cast<int64_t>(begin.size()) == d + 1 && begin(0) == 0 && begin(d) == static_cast<int64_t>(edges.size()) + d,
            "a column has one bin more than edges");
        for (int64_t f = 0; f < d; ++f) require(begin(f + 1) > begin(f) && begin(f + 1) <= begin(f) + 256, "at most 256 bins");
        NewArray<uint8_t, 2> codes(n, d);
        {
          nb::gil_scoped_release release;
          matrix.visit([&](auto values) {
            constexpr int64_t kTile = 256;  // rows of which values and codes stay in the nearest cache
            for (int64_t first = 0; first < n; first += kTile)
              for (int64_t f = 0; f < d; ++f) {
                const double *of_column = edges.data() + begin(f) - f;
                const int64_t n_edges = begin(f + 1) - begin(f) - 1;
                for (int64_t i = first; i < std::min(n, first + kTile); ++i)
                  codes.data()[i * d + f] = bin_of(of_column, n_edges, values(i, f));
              }
          });
        }
        return codes.to_numpy();
      },
      nb::arg("matrix"), nb::arg("edges"), nb::arg("begin"),
      R"(The bin of every value, (n_rows, d): how many of its column's edges are below it.

edges: sorted, column after column; begin (d + 1,): the first bin of each column, where a column has one bin more than edges.)");
  auto for_costs = [&](auto zero, const char *doc) {
    using Cost = decltype(zero);
    m.def(
        "add_to_tallies",
        [](const Matrix &matrix, In2<uint8_t> codes, In1<int64_t> begin, In1<int32_t> node, In1<int32_t> labels,
           const Weights &weights, In1<int64_t> base, In2<Cost> excess, In3<int32_t> order, In1<int32_t> n_survivors,
           Out3<int64_t> sums, std::optional<Out3<int64_t>> sides, Out2<double> low, Out2<double> high) {
          const Cells at{codes.data(),
                         begin.data(),
                         node.data(),
                         static_cast<int64_t>(codes.shape(0)),
                         static_cast<int64_t>(codes.shape(1)),
                         static_cast<int64_t>(sums.shape(1))};
          const int64_t k = static_cast<int64_t>(excess.shape(1)), n_nodes = static_cast<int64_t>(sums.shape(0));
          const auto rows = static_cast<size_t>(at.n);
          require(matrix.n_rows() == at.n && matrix.n_cols() == at.d && node.size() == rows && labels.size() == rows &&
                      base.size() == rows && excess.shape(0) == rows,
                  "there is one of everything for each row");
          require(static_cast<int64_t>(begin.size()) == at.d + 1 && begin(at.d) == at.n_bins, "begin says where bins start");
          require(static_cast<int64_t>(sums.shape(2)) == 2 + 2 * k && low.shape(0) == sums.shape(0) &&
                      low.shape(1) == sums.shape(1) && high.shape(0) == sums.shape(0) && high.shape(1) == sums.shape(1),
                  "sums is of shape (n_nodes, n_bins, 2 + 2 k)");
          require(!sides || (static_cast<int64_t>(sides->shape(2)) == 2 * k - 1 && sides->shape(0) == sums.shape(0) &&
                             sides->shape(1) == sums.shape(1)),
                  "sides is of shape (n_nodes, n_bins, 2 k - 1)");
          require(order.shape(0) == sums.shape(0) && static_cast<int64_t>(order.shape(1)) == at.d &&
                      static_cast<int64_t>(order.shape(2)) == k && n_survivors.size() == sums.shape(0),
                  "order is of shape (n_nodes, d, k)");
          for (size_t j = 0; j < order.size(); ++j)
            require(order.data()[j] >= 0 && order.data()[j] < k, "survivors are clusters");
          for (size_t i = 0; i < rows; ++i) {
            require(node(i) < n_nodes, "nodes are those that sums has");
            require(labels(i) >= 0 && labels(i) < k, "labels are clusters");
          }
          const int64_t *weight = checked(weights, at.n);
          nb::gil_scoped_release release;
          add_rows(at, labels.data(), weight, base.data(), excess.data(), k, sums.data());
          if (sides) add_sides(at, excess.data(), k, order.data(), n_survivors.data(), sides->data());
          keep_ranges(matrix, at, low.data(), high.data());
        },
        nb::arg("matrix"), nb::arg("codes"), nb::arg("begin"), nb::arg("node"), nb::arg("labels"), nb::arg("weights").none(),
        nb::arg("base"), nb::arg("excess").noconvert(), nb::arg("order"), nb::arg("n_survivors"), nb::arg("sums"),
        nb::arg("sides").none(), nb::arg("low"), nb::arg("high"), doc);
  };
  for_costs(int32_t{}, R"(Add a batch of rows to the sums of their nodes, by column and bin.

codes (n, d), begin: as bin_codes gives and takes them. node (n,): of each row, -1 for none. sums (n_nodes, n_bins, 2 + 2 k): rows,
base, weight by label, costs by cluster. sides (n_nodes, n_bins, 2 k - 1) or None: what rows cost by the best of all survivors; of the
first s along the column, s = 1 .. m - 1, at s; of the others at k - 1 + s. order (n_nodes, d, k): survivors by coordinate, n_survivors
(n_nodes,): how many there are. low, high (n_nodes, n_bins): the least and the largest value, kept along.)");
  for_costs(int64_t{}, "");
}
