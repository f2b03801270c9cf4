// Cuts by sets of levels for the criteria that serve each side of a cut by one cluster: ExKMC's and Expand's.
//
// For a given pair of clusters every level goes to the cheaper of the two, so the cost of the pair is the sum over levels of
// the lesser cost. The search compares all pairs, which is exact.
#include "base/arrays.hpp"
#include "cuts/level_sets.hpp"
#include "cuts/surrogate_sums.hpp"
#include "nodes/levels.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

struct BestSet {
  int64_t cost = kNone;
  double secondary = 0.0;
  NamedSide named;
  std::vector<uint8_t> in_left;
};

template <class Sums>
struct SetSearch {
  const Sums &sums;
  const int64_t *cells;  // (n_levels, k): summed costs, or label counts
  size_t n_levels;
  int64_t k;
  const int64_t *counts;             // by level, for the limits
  const NodeLimits *limits;          // null: every set is allowed
  std::vector<int64_t> total;        // by cluster: the sum over levels
  std::vector<int64_t> weight;       // by level: 0 where it has no rows; otherwise its weight, or 1 where costs are summed
  std::vector<int64_t> level_total;  // by level: the sum over clusters
  BestSet best;

  const int64_t *at(size_t v) const { return cells + static_cast<int64_t>(v) * k; }

  void prepare() {
    total.assign(k, 0);
    weight.assign(n_levels, 0);
    level_total.assign(n_levels, 0);
    for (size_t v = 0; v < n_levels; ++v)
      for (int64_t j = 0; j < k; ++j) {
        total[j] += at(v)[j];
        level_total[v] += at(v)[j];
        if (Sums::is_counts) weight[v] += at(v)[j];
        else if (at(v)[j] != 0 || (counts && counts[v] > 0)) weight[v] = 1;  // limits count rows that cost nothing
      }
  }

  void offer(const std::vector<uint8_t> &in_left, const int64_t *part) {
    const int64_t cost = sums.left(part) + sums.right(total.data(), part);
    if (cost > best.cost || !is_allowed(in_left)) return;
    const double secondary = sums.secondary(total.data(), part, part);
    if (cost == best.cost && secondary > best.secondary) return;
    NamedSide named = NamedSide::of(in_left, weight);
    if (named.levels.empty()) return;
    if (cost == best.cost && secondary == best.secondary && !(named < best.named)) return;
    best = {cost, secondary, std::move(named), in_left};
  }

  // The cells summed over the levels on the left.
  std::vector<int64_t> sums_of(const std::vector<uint8_t> &in_left) const {
    std::vector<int64_t> part(k, 0);
    for (size_t v = 0; v < n_levels; ++v)
      for (int64_t c = 0; c < k && in_left[v]; ++c) part[c] += at(v)[c];
    return part;
  }

  bool is_allowed(const std::vector<uint8_t> &in_left) const {
    if (!limits) return true;
    int64_t count[2] = {0, 0};
    for (size_t v = 0; v < n_levels; ++v) count[in_left[v] != 0] += counts[v];
    return limits->allow_sides(1, 1, count[1], count[0]);
  }

  // The cost of level v by cluster j.
  int64_t cost(size_t v, int64_t j) const { return Sums::is_counts ? level_total[v] - at(v)[j] : at(v)[j]; }

  // The cost of every pair of clusters, (k, k): each level by the cheaper of the two.
  std::vector<int64_t> costs_of_pairs() const {
    std::vector<int64_t> of_pair(k * k, kNone);
    for (int64_t i = 0; i < k; ++i) std::fill_n(of_pair.begin() + i * k + i + 1, k - i - 1, int64_t{0});
    for (size_t v = 0; v < n_levels; ++v)
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = i + 1; j < k; ++j) of_pair[i * k + j] += std::min(cost(v, i), cost(v, j));
    return of_pair;
  }

  // Offers the sets of the cheapest pairs.
  void pairs() {
    const std::vector<int64_t> of_pair = costs_of_pairs();
    const int64_t least = *std::min_element(of_pair.begin(), of_pair.end());
    std::vector<uint8_t> side(n_levels);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i + 1; j < k; ++j) {
        if (of_pair[i * k + j] > least) continue;
        for (size_t v = 0; v < n_levels; ++v) {
          const int64_t a = cost(v, i), b = cost(v, j);
          side[v] = a < b ? 1 : b < a ? 0 : 2;
        }
        assign_ties(side, weight);
        offer(side, sums_of(side).data());
      }
  }

  // For every pair the best set whose sides both have the least count that the limits ask for. Where one side has too little
  // when every level is on its cheaper side, levels have to move to it. That is a knapsack problem, solved by branch and bound:
  // levels of the least added cost per count come first, and the bound allows a fraction of the last one.
  struct Bounded {
    struct Move {
      size_t level;
      int64_t added, count;
      double a_row() const { return static_cast<double>(added) / static_cast<double>(count); }
    };
    static constexpr int64_t kMostSteps = 100'000;  // per pair; after these the best set so far is taken

    SetSearch &search;
    std::vector<size_t> present;
    std::vector<int64_t> rest_count;
    std::vector<uint8_t> side;
    std::vector<Move> moves;
    // The least cost so far; the count that the short side lacks; the most count that may move to it; steps taken for this
    // pair.
    int64_t least = kNone, lack = 0, most = 0, steps = 0;
    uint8_t to = 0;  // the short side

    explicit Bounded(SetSearch &s) : search(s), side(s.n_levels, 0) {
      for (size_t v = 0; v < s.n_levels; ++v)
        if (s.counts[v] > 0) present.push_back(v);
    }

    void run(int64_t i, int64_t j) {
      const int64_t need = search.limits->least_of(1);
      int64_t count[2] = {0, 0}, cost = 0;
      for (size_t v : present) {
        const int64_t a = search.cost(v, i), b = search.cost(v, j);
        side[v] = a < b;
        count[side[v]] += search.counts[v];
        cost += std::min(a, b);
      }
      to = count[1] < need;
      lack = std::max<int64_t>(0, need - count[to]);
      most = count[1 - to] - need;
      if (most < lack) return;
      moves.clear();
      for (size_t v : present) {
        const int64_t a = search.cost(v, i), b = search.cost(v, j);
        if (side[v] != to) moves.push_back({v, std::abs(a - b), search.counts[v]});
      }
      std::stable_sort(moves.begin(), moves.end(), [](const Move &x, const Move &y) {
        const double here = x.a_row(), there = y.a_row();
        return here != there ? here < there : x.count > y.count;
      });
      rest_count.assign(moves.size() + 1, 0);
      for (size_t at = moves.size(); at-- > 0;) rest_count[at] = rest_count[at + 1] + moves[at].count;
      steps = 0;
      move(0, cost, 0);
    }

    // A lower bound on the cost that the moves from `at` on add until nothing is lacking. It is lowered a little because costs
    // per count are rounded.
    int64_t bound(size_t at, int64_t moved) const {
      double added = 0.0;
      for (; moved < lack; moved += moves[at].count, ++at)
        added += moves[at].a_row() * static_cast<double>(std::min(moves[at].count, lack - moved));
      return static_cast<int64_t>(added * (1.0 - 1e-12));
    }

    void move(size_t at, int64_t cost, int64_t moved) {
      if (moved + rest_count[at] < lack || cost + bound(at, moved) >= least || ++steps > kMostSteps) return;
      if (moved >= lack) {
        least = cost;
        return search.offer(side, search.sums_of(side).data());
      }
      const Move &next = moves[at];
      if (moved + next.count <= most) {
        side[next.level] = to;
        move(at + 1, cost + next.added, moved + next.count);
        side[next.level] = !to;
      }
      move(at + 1, cost, moved);
    }
  };

  void bounded_pairs() {
    Bounded bounded(*this);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i + 1; j < k; ++j) bounded.run(i, j);
  }

  // Offers for every label the sets of the levels in which it has its largest shares: the first one, the first two, and so on.
  void prefixes() {
    std::vector<size_t> order;
    for (size_t v = 0; v < n_levels; ++v)
      if (weight[v] > 0) order.push_back(v);
    for (int64_t j = 0; j < k; ++j) {
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const int64_t here = at(a)[j] * weight[b], there = at(b)[j] * weight[a];  // weights sum up to less than 2^32
        return here != there ? here > there : a < b;
      });
      std::vector<uint8_t> side(n_levels, 0);
      std::vector<int64_t> part(k, 0);
      for (size_t i = 0; i + 1 < order.size(); ++i) {
        side[order[i]] = 1;
        for (int64_t c = 0; c < k; ++c) part[c] += at(order[i])[c];
        offer(side, part.data());
      }
    }
  }

  using FoundSet = std::optional<std::tuple<int64_t, double, std::vector<int32_t>, int32_t, int32_t>>;

  FoundSet run() {
    prepare();
    if (limits && limits->least_of(1) > 0) bounded_pairs();
    else pairs();
    if (sums.has_secondary()) prefixes();
    if (best.cost == kNone) return std::nullopt;
    const std::vector<int64_t> part = sums_of(best.in_left);
    std::vector<int64_t> rest = total;
    for (int64_t c = 0; c < k; ++c) rest[c] -= part[c];
    std::vector<int32_t> levels;
    for (size_t v = 0; v < n_levels; ++v)
      if (best.in_left[v] && weight[v] > 0) levels.push_back(static_cast<int32_t>(v));
    return std::make_tuple(best.cost, best.secondary, levels, sums.label_left(part.data()), sums.label_left(rest.data()));
  }
};

auto least_costs_of_sets(const std::vector<const Levels *> &levels, In3<int64_t> histogram, bool is_counts) {
  const auto k = static_cast<int64_t>(histogram.shape(1));
  require(histogram.shape(2) == 1, "histogram has one number a cell");
  NewArray<int64_t, 1> found(levels.size());
  for (size_t j = 0; j < levels.size(); ++j) {
    const std::vector<int64_t> sums = levels[j]->sums(histogram);
    const auto least = [&](const auto &of) {
      SetSearch<std::decay_t<decltype(of)>> search{
          of, sums.data(), static_cast<size_t>(levels[j]->size()), k, nullptr, nullptr, {}, {}, {}, {}};
      search.prepare();
      const std::vector<int64_t> of_pair = search.costs_of_pairs();
      return *std::min_element(of_pair.begin(), of_pair.end());
    };
    found.data()[j] =
        is_counts ? least(LabelCounts{nullptr, nullptr, k, Purity::kMajority}) : least(CostSums<int64_t>{nullptr, k});
  }
  return found.to_numpy();
}

auto best_level_set(In2<int64_t> sums, bool is_counts, bool gini, std::optional<In1<int64_t>> counts,
                    const NodeLimits *limits) {
  const int64_t k = sums.shape(1);
  require(!limits || (counts && counts->size() == sums.shape(0)), "with limits there is one count a level");
  auto run = [&](const auto &of) {
    SetSearch<std::decay_t<decltype(of)>> search{
        of, sums.data(), sums.shape(0), k, limits ? counts->data() : nullptr, limits, {}, {}, {}, {}};
    const GilRelease release;
    return search.run();
  };
  if (is_counts) return run(LabelCounts{nullptr, nullptr, k, gini ? Purity::kMajorityThenGini : Purity::kMajority});
  return run(CostSums<int64_t>{nullptr, k});
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_sets(nb::module_ &m) {
  m.def("least_costs_of_sets", &least_costs_of_sets, "levels"_a, "histogram"_a, "is_counts"_a,
        R"(For every category the least cost of a set of levels and its complement, each served by one cluster.

histogram (n_slots, k, 1): summed costs of the rows by slot and cluster or, with is_counts, their weight by slot and label.)");
  m.def("best_level_set", &best_level_set, "sums"_a, "is_counts"_a, "gini"_a = false, "counts"_a.none() = nb::none(),
        "limits"_a.none() = nb::none(),
        R"(The set of levels for which it and its complement cost least, each served by one cluster.

sums (n_levels, k): summed costs of the rows by level and cluster or, with is_counts, their weight by level and label. gini:
impurity decides between equal costs, among the sets of pairs of labels and, for every label, the sets of the levels where its
share is largest. counts (n_levels,): of the node's rows, for the limits. Returns (cost, impurity, levels of the left side, left
label, right label), or None when there is no set with levels on both sides.)");
}
