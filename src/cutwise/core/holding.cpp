// Follows rows down a tree that parts centers: nearest clusters, losses, and the histogram of losses.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "histogram.hpp"
#include "holding.hpp"
#include "parallel.hpp"

namespace cutwise {
namespace {

// Nearest and second nearest surviving cluster of one row, lowest number first among equals.
template <class Cost>
void two_nearest(const Cost *cost, const std::vector<int32_t> &survivors, int32_t &nearest, int32_t &second) {
  // No branch depends on the costs, which come in no order; every cost is below the largest of its type.
  Cost least = std::numeric_limits<Cost>::max(), next = least;
  nearest = second = -1;
  for (int32_t c : survivors) {
    const Cost here = cost[c];
    const bool is_least = here < least, is_next = here < next;
    second = is_least ? nearest : (is_next ? c : second);
    next = is_least ? least : (is_next ? here : next);
    nearest = is_least ? c : nearest;
    least = is_least ? here : least;
  }
}

// Rows of a child whose nearest or second nearest cluster went to the other side find new ones, and the histogram follows.
template <class Cost>
struct Reassignment {
  const Encoded &encoded;
  const PackedCodes *packed;
  const int32_t *rows;
  int64_t n;
  const Cost *excess;
  int64_t k;
  std::vector<int32_t> survivors;
  const int64_t *count;
  const int64_t *base;
  RowState *states;
  int64_t *histogram;  // null: none is kept
  int64_t *totals;     // (k, width)
  int64_t *held;       // (k,): full cost of the rows that every cluster holds
  int64_t width;
  int n_jobs;

  void add(const int32_t *some, int64_t n_some, int64_t sign) const {
    for (int64_t i = 0; i < n_some; ++i) {
      const RowState &state = states[some[i]];
      if (state.nearest >= 0) held[state.nearest] += sign * state.cost;
    }
    add_cluster_histogram(encoded, packed, some, n_some, RowState::nearest_of(states), RowState::loss_of(states), {count}, k,
                          width, sign, histogram, totals, n_jobs);
  }

  void find_nearest(const int32_t *some, int64_t n_some) const {
    const int64_t block = 1 << 16;
    parallel_for(n_some < block ? 1 : n_jobs, (n_some + block - 1) / block, [&](int64_t b) {
      for (int64_t i = b * block; i < std::min(n_some, (b + 1) * block); ++i) {
        const int64_t row = some[i];
        const Cost *cost = excess + row * k;
        RowState &state = states[row];
        two_nearest(cost, survivors, state.nearest, state.second);
        state.cost = base[row] + cost[state.nearest];
        state.loss = state.second < 0 ? 0 : static_cast<int64_t>(cost[state.second]) - cost[state.nearest];
      }
    });
  }

  void clear_cells() const {
    for (int32_t c : survivors) {
      held[c] = 0;
      for (int64_t w = 0; w < width; ++w) totals[c * width + w] = 0;
    }
    if (!histogram) return;
    for (int64_t slot = 0; slot < encoded.n_slots; ++slot)
      for (int32_t c : survivors)
        for (int64_t w = 0; w < width; ++w) histogram[(slot * k + c) * width + w] = 0;
  }

  // The root: every row, an empty histogram.
  void first_time() const {
    find_nearest(rows, n);
    add(rows, n, 1);
  }

  std::vector<uint8_t> survives() const {
    std::vector<uint8_t> flags(k, 0);
    for (int32_t c : survivors) flags[c] = 1;
    return flags;
  }

  std::vector<int32_t> parted, changed;  // rows that lost their nearest cluster; these and those that lost the second

  bool is_leaf() const { return survivors.size() == 1; }
  bool is_rebuilt() const { return 2 * static_cast<int64_t>(changed.size()) > n; }
  // Whether cells of these clusters will be read as they stand.
  bool keeps_cells() const { return !is_leaf() && !is_rebuilt(); }

  void look() {
    const std::vector<uint8_t> alive = survives();
    for (int64_t i = 0; i < n; ++i) {
      const RowState &state = states[rows[i]];
      const bool is_parted = !alive[state.nearest];
      if (is_parted) parted.push_back(rows[i]);
      if (is_parted || !alive[state.second]) changed.push_back(rows[i]);
    }
  }

  // Parted rows stand in cells of the other child.
  void release(bool from_kept_cells) {
    if (from_kept_cells) add(parted.data(), static_cast<int64_t>(parted.size()), -1);
    for (int32_t row : parted) states[row].nearest = -1;
  }

  void hold() const {
    if (is_leaf()) return;
    const int64_t n_changed = static_cast<int64_t>(changed.size());
    if (is_rebuilt()) {
      find_nearest(changed.data(), n_changed);
      clear_cells();
      add(rows, n, 1);
    } else {
      add(changed.data(), n_changed, -1);
      find_nearest(changed.data(), n_changed);
      add(changed.data(), n_changed, 1);
    }
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_holding(nb::module_ &m) {
  auto for_costs = [&](auto zero) {
    using Cost = decltype(zero);
    m.def(
        "hold_by_nearest",
        [](const Encoded &encoded, const PackedCodes *packed, In2<Cost> excess, In1<int64_t> base,
           std::optional<In1<int64_t>> weights, const std::vector<In1<int32_t>> &rows,
           const std::vector<In1<int32_t>> &survivors, Out2<int64_t> states, std::optional<Out3<int64_t>> histogram,
           Out2<int64_t> totals, Out1<int64_t> held, int n_jobs) {
          const size_t n_rows = static_cast<size_t>(encoded.n_rows);
          require(excess.shape(0) == n_rows && base.size() == n_rows && states.shape(0) == n_rows &&
                      states.shape(1) == RowState::width,
                  "costs and states have one line per encoded row");
          require(rows.size() == survivors.size() && (rows.size() == 1 || rows.size() == 2),
                  "a root, or the two children of a node");
          std::vector<Reassignment<Cost>> nodes;
          for (size_t i = 0; i < rows.size(); ++i)
            nodes.push_back({encoded, packed, rows[i].data(), static_cast<int64_t>(rows[i].size()), excess.data(),
                             static_cast<int64_t>(excess.shape(1)),
                             std::vector<int32_t>(survivors[i].data(), survivors[i].data() + survivors[i].size()),
                             weights ? weights->data() : nullptr, base.data(),
                             reinterpret_cast<RowState *>(states.data()), histogram ? histogram->data() : nullptr,
                             totals.data(), held.data(), static_cast<int64_t>(totals.shape(1)), n_jobs, {}, {}});
          nb::gil_scoped_release release;
          if (nodes.size() == 1) {
            nodes[0].first_time();
            return;
          }
          for (auto &node : nodes) node.look();
          nodes[0].release(nodes[1].keeps_cells());
          nodes[1].release(nodes[0].keeps_cells());
          for (auto &node : nodes) node.hold();
        },
        nb::arg("encoded"), nb::arg("packed").none(), nb::arg("excess").noconvert(), nb::arg("base"),
        nb::arg("weights").none(), nb::arg("rows"), nb::arg("survivors"), nb::arg("states").noconvert(),
        nb::arg("histogram").noconvert().none(), nb::arg("totals").noconvert(), nb::arg("held").noconvert(),
        nb::arg("n_jobs"));
  };
  for_costs(int32_t{});
  for_costs(int64_t{});
}
