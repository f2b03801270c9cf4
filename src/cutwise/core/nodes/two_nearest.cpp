// Updates the two nearest surviving clusters of every row, and the histogram of losses, after a node was cut.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "nodes/histogram.hpp"
#include "nodes/node.hpp"
#include "nodes/separation.hpp"

namespace cutwise {
namespace {

constexpr int64_t kRowsOfPiece = 1 << 14;
constexpr int64_t kChangedAhead = 8;  // rows ahead whose costs are prefetched

// Nearest and second nearest surviving cluster of one row, lowest number first among equals.
template <class Cost>
void two_nearest(const Cost *cost, const std::vector<int32_t> &survivors, int32_t &nearest, int32_t &second) {
  // Masks in place of branches, which would be mispredicted as costs are in no order. Every cost is below its type's maximum.
  Cost least = std::numeric_limits<Cost>::max(), next = least;
  nearest = second = -1;
  for (int32_t c : survivors) {
    const Cost here = cost[c];
    const int32_t is_least = -static_cast<int32_t>(here < least), is_next = -static_cast<int32_t>(here < next);
    second ^= (second ^ c ^ ((c ^ nearest) & is_least)) & is_next;
    nearest ^= (nearest ^ c) & is_least;
    next ^= (next ^ here ^ ((here ^ least) & static_cast<Cost>(is_least))) & static_cast<Cost>(is_next);
    least ^= (least ^ here) & static_cast<Cost>(is_least);
  }
}

// One child of a node that was cut. Rows whose nearest or second nearest cluster is on the other side get new ones, and the
// histogram is updated with them.
template <class State>
struct Reassignment {
  using Cost = typename State::Cost;
  using Index = typename State::Index;

  const Encoded &encoded;
  const int32_t *rows;
  int64_t n;
  const Cost *excess;
  int64_t k;
  std::vector<int32_t> survivors;
  const int64_t *count;
  const int64_t *base;
  State *states;
  int64_t *histogram;      // (n_slots, k, width), or null
  int64_t *totals;         // (k, width)
  int64_t *nearest_costs;  // (k, 2): base costs and excess costs of the rows, summed by nearest cluster
  int64_t width;
  int n_jobs;

  std::vector<uint8_t> alive;
  int64_t n_changed = 0;  // rows whose nearest or second nearest cluster is on the other side

  void prepare() {
    alive.assign(k, 0);
    for (int32_t c : survivors) alive[c] = 1;
    for (int64_t i = 0; i < n; ++i) n_changed += is_changed(states[rows[i]]);
  }

  bool is_separated(const State &state) const { return state.nearest < 0 || !alive[state.nearest]; }
  bool is_changed(const State &state) const { return is_separated(state) || !alive[state.second]; }

  bool is_leaf() const { return survivors.size() == 1; }
  bool is_rebuilt() const { return 2 * n_changed > n; }
  // Whether the histogram cells of these clusters are kept, and not cleared or never read again.
  bool keeps_cells() const { return !is_leaf() && !is_rebuilt(); }

  void add(const int32_t *some, int64_t n_some, int64_t sign) const {
    add_cluster_histogram(encoded, some, n_some, State::nearest_of(states), State::loss_of(states), PerRow<int64_t>{count}, k,
                          width, sign, histogram, totals, n_jobs);
  }

  void add_nearest_cost(int64_t row, int64_t sign, int64_t *to) const {
    const Index nearest = states[row].nearest;
    to[2 * nearest] += sign * base[row];
    to[2 * nearest + 1] += sign * static_cast<int64_t>(excess[row * k + nearest]);
  }

  // Finds the two nearest clusters of those of the given rows that changed.
  void find_nearest(const int32_t *some, int64_t n_some) const {
    std::mutex adding;
    const int64_t n_pieces = (n_some + kRowsOfPiece - 1) / kRowsOfPiece;
    parallel_for(n_some < 4 * kRowsOfPiece ? 1 : n_jobs, n_pieces, [&](int64_t piece) {
      std::vector<int64_t> found(2 * k, 0);
      for (int64_t i = piece * kRowsOfPiece; i < std::min(n_some, (piece + 1) * kRowsOfPiece); ++i) {
        const int64_t row = some[i];
        if (i + kChangedAhead < n_some) prefetch(excess + some[i + kChangedAhead] * k, k * static_cast<int64_t>(sizeof(Cost)));
        State &state = states[row];
        if (!is_changed(state)) continue;
        const bool finds_new = is_separated(state);
        const Cost *cost = excess + row * k;
        int32_t nearest, second;
        two_nearest(cost, survivors, nearest, second);
        state.nearest = static_cast<Index>(nearest);
        state.second = static_cast<Index>(second);
        state.loss = second < 0 ? 0 : cost[second] - cost[nearest];
        if (finds_new) add_nearest_cost(row, 1, found.data());
      }
      std::lock_guard<std::mutex> lock(adding);
      for (int32_t c : survivors)
        for (int w = 0; w < 2; ++w) nearest_costs[2 * c + w] += found[2 * c + w];
    });
  }

  // The rows whose state `wanted` accepts.
  template <class Wanted>
  std::vector<int32_t> rows_with(Wanted &&wanted) const {
    std::vector<int32_t> list;
    std::copy_if(rows, rows + n, std::back_inserter(list), [&](int32_t row) { return wanted(states[row]); });
    return list;
  }

  void clear_cells() const {
    for (int32_t c : survivors)
      for (int64_t w = 0; w < width; ++w) totals[c * width + w] = 0;
    if (!histogram) return;
    for (int64_t slot = 0; slot < encoded.n_slots; ++slot)
      for (int32_t c : survivors)
        for (int64_t w = 0; w < width; ++w) histogram[(slot * k + c) * width + w] = 0;
  }

  // Takes rows out that were separated from their nearest cluster: it belongs to the other child, whose histogram cells and
  // costs still include them. from_cells: whether those cells are used further.
  void unassign_separated(bool from_cells) const {
    const std::vector<int32_t> list = rows_with([&](const State &state) { return is_separated(state); });
    if (from_cells) add(list.data(), static_cast<int64_t>(list.size()), -1);
    for (int32_t row : list) {
      add_nearest_cost(row, -1, nearest_costs);
      states[row].nearest = -1;
    }
  }

  void update() const {
    if (is_leaf()) return;
    if (is_rebuilt()) {
      find_nearest(rows, n);
      clear_cells();
      add(rows, n, 1);
      return;
    }
    const std::vector<int32_t> list = rows_with([&](const State &state) { return is_changed(state); });
    const auto n_list = static_cast<int64_t>(list.size());
    add(list.data(), n_list, -1);
    find_nearest(list.data(), n_list);
    add(list.data(), n_list, 1);
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_two_nearest(nb::module_ &m) {
  for_types<SmallState, MiddleState, LargeState>(
      R"(Update every row's two nearest surviving clusters, and the histogram of losses, in place.

excess (n_rows, k): costs above base (n_rows,). rows, survivors: one entry for the root, with zeros in all sums and -1 in all
states; later two, for the children of a node that was cut. states, histogram, totals, nearest_costs: as in best_induced_cut.
They are not updated for a child with one survivor, which is never cut.)",
      [&](auto of_type, const char *doc) {
        using State = decltype(of_type);
        m.def(
            "update_two_nearest",
            [](const Encoded &encoded, In2<typename State::Cost> excess, In1<int64_t> base, const Weights &weights,
               const std::vector<In1<int32_t>> &rows, const std::vector<In1<int32_t>> &survivors,
               Out2<typename State::Word> states, std::optional<Out3<int64_t>> histogram, Out2<int64_t> totals,
               Out2<int64_t> nearest_costs, int n_jobs) {
              const int64_t n_rows = encoded.n_rows, k = excess.shape(1);
              require(has_shape(excess, n_rows) && has_shape(base, n_rows) && has_shape(states, n_rows, State::width()),
                      "costs and states have one line per encoded row");
              require(k <= std::numeric_limits<typename State::Index>::max(),
                      "the states have room for the numbers of the clusters");
              require(has_shape(nearest_costs, k, 2) && has_shape(totals, k),
                      "nearest_costs and totals have one line per cluster");
              require(rows.size() == survivors.size() && (rows.size() == 1 || rows.size() == 2),
                      "a root, or the two children of a node");
              require(totals.shape(1) == 1 || totals.shape(1) == 2, "a cell holds one or two numbers");
              require(has_shape(histogram, encoded.n_slots, k, totals.shape(1)),
                      "histogram has one line per slot, and as many cells as totals");
              std::vector<Reassignment<State>> nodes;
              for (size_t i = 0; i < rows.size(); ++i)
                nodes.push_back({encoded,
                                 rows[i].data(),
                                 static_cast<int64_t>(rows[i].size()),
                                 excess.data(),
                                 k,
                                 survivors_of(survivors[i], k),
                                 checked(weights, encoded.n_rows),
                                 base.data(),
                                 reinterpret_cast<State *>(states.data()),
                                 data_or_null(histogram),
                                 totals.data(),
                                 nearest_costs.data(),
                                 static_cast<int64_t>(totals.shape(1)),
                                 n_jobs,
                                 {}});
              const GilRelease release;
              for (auto &node : nodes) node.prepare();
              for (size_t i = 0; i < nodes.size() && nodes.size() == 2; ++i)
                nodes[i].unassign_separated(nodes[1 - i].keeps_cells());
              for (auto &node : nodes) node.update();
            },
            "encoded"_a, "excess"_a.noconvert(), "base"_a.noconvert(), "weights"_a.none(), "rows"_a, "survivors"_a,
            "states"_a.noconvert(), "histogram"_a.noconvert().none(), "totals"_a.noconvert(), "nearest_costs"_a.noconvert(),
            "n_jobs"_a = 1, doc);
      });
}
