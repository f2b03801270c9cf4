// The interval `lower < x <= upper` whose inside and outside cost least, each served by one cluster.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Section 5: Kernel ExKMC and Kernel Expand with two-sided cuts. Prefix sums over
// the values of a column give the cost of every pair of ends, so after one pass over the rows the search is quadratic in the
// number of values. Pairs are searched in blocks, by branch and bound.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "cuts/surrogate_sums.hpp"
#include "nodes/node.hpp"
#include "nodes/ranks.hpp"

namespace cutwise {
namespace {

constexpr int32_t kExactValues = 1000;  // a column with more distinct values in the node is searched on kGroups groups of them
constexpr int32_t kGroups = 256;

constexpr int32_t kBlock = 16;  // ends in a block

// An *end* is a position between two neighboring values (or groups) of a column: end e has the values before e on its left.

// Scores of the intervals [a, b) for b = first .. first + n - 1.
CUTWISE_CLONES void score_ends(const int64_t *sums, int64_t n_ends, int64_t k, const int64_t *total, int32_t a, int32_t first,
                               int32_t n, int64_t *scores) {
  int64_t in_least[kBlock], out_least[kBlock];
  for (int32_t i = 0; i < n; ++i) in_least[i] = out_least[i] = kNone;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t *line = sums + j * n_ends;
    const int64_t before = line[a], all = total[j];
    for (int32_t i = 0; i < n; ++i) {
      const int64_t in = line[first + i] - before, out = all - in;
      in_least[i] = in < in_least[i] ? in : in_least[i];
      out_least[i] = out < out_least[i] ? out : out_least[i];
    }
  }
  for (int32_t i = 0; i < n; ++i) scores[i] = in_least[i] + out_least[i];
}

// Prefix sums of the costs of every cluster at every end. Ends are contiguous, so that pairs are scored in lanes.
struct Prefixes {
  int32_t n_ends = 0;         // the number of groups, and 1
  std::vector<int64_t> sums;  // (k, n_ends)

  int64_t at(int64_t j, int32_t end) const { return sums[j * n_ends + end]; }
};

struct CutPair {
  int64_t score = kNone;
  double secondary = 0.0;
  int32_t a = -1, b = -1;  // -1: the limit that an interval has to beat, and not an interval

  bool beaten_by(int64_t other_score, double other_secondary, int32_t other_a, int32_t other_b) const {
    if (score != other_score) return other_score < score;
    if (secondary != other_secondary) return other_secondary < secondary;
    return a >= 0 && std::tie(other_a, other_b) < std::tie(a, b);
  }
};

// The cost of intervals: inside and outside are each served by their best cluster.
struct IntervalCosts {
  int64_t k;
  const int64_t *total;  // by cluster, over all rows of the node
  bool gini;             // costs are those of 0/1 disagreement, and Gini impurity decides between equal costs

  // The costs of the rows inside the interval from end a of `low` to end b of `high`, by cluster, and of those outside.
  std::vector<int64_t> inside(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    std::vector<int64_t> in(k);
    for (int64_t j = 0; j < k; ++j) in[j] = high.at(j, b) - low.at(j, a);
    return in;
  }
  std::vector<int64_t> outside(std::vector<int64_t> in) const {
    for (int64_t j = 0; j < k; ++j) in[j] = total[j] - in[j];
    return in;
  }
  int64_t score(const std::vector<int64_t> &in) const { return least(in.data(), k) + least_rest(total, in.data(), k); }
  double secondary_score(const std::vector<int64_t> &in) const { return gini ? impurity(in) + impurity(outside(in)) : 0.0; }

  // Replaces `best` by the best pair of ends 0 < a < b < n_ends - 1, if that is better.
  void search_pairs(const Prefixes &sums, CutPair &best) const;

 private:
  double impurity(const std::vector<int64_t> &costs) const;
  int64_t bound(const Prefixes &sums, int32_t a0, int32_t a1, int32_t b0, int32_t b1) const;
};

// The Gini impurity of a side, weighted by size. The cost of a label is the weight of all other labels, so the weight of a
// label is the total weight minus its cost.
double IntervalCosts::impurity(const std::vector<int64_t> &costs) const {
  const int64_t n = k > 1 ? std::accumulate(costs.begin(), costs.end(), int64_t{0}) / (k - 1) : 0;
  SideCounts side;
  for (const int64_t cost : costs) side.add(n - cost);
  return side.impurity();
}

// A lower bound over all intervals with ends a in [a0, a1] and b in [b0, b1]. With one label for inside and outside the cost is
// that of the uncut node, which cannot be better than the limit: without a secondary score only different labels matter.
int64_t IntervalCosts::bound(const Prefixes &sums, int32_t a0, int32_t a1, int32_t b0, int32_t b1) const {
  MinPairSum pairs;
  for (int64_t j = 0; j < k; ++j)
    pairs.add(j, b0 > a1 ? sums.at(j, b0) - sums.at(j, a1) : 0, total[j] - (sums.at(j, b1) - sums.at(j, a0)));
  return gini ? pairs.of_any() : pairs.of_different();
}

void IntervalCosts::search_pairs(const Prefixes &sums, CutPair &best) const {
  const int32_t last = sums.n_ends - 2;  // the last end with values on its right
  struct BlockPair {
    int64_t bound;
    int32_t a, b;
  };
  std::vector<BlockPair> pairs;
  for (int32_t a0 = 1; a0 < last; a0 += kBlock) {
    const int32_t a1 = std::min(a0 + kBlock - 1, last);
    for (int32_t b0 = a0; b0 <= last; b0 += kBlock) {
      const int64_t least = bound(sums, a0, a1, b0, std::min(b0 + kBlock - 1, last));
      if (least <= best.score && least != kNone) pairs.push_back({least, a0, b0});
    }
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const BlockPair &x, const BlockPair &y) { return std::tie(x.bound, x.a, x.b) < std::tie(y.bound, y.a, y.b); });
  int64_t scores[kBlock];
  for (const BlockPair &pair : pairs) {
    if (pair.bound > best.score) break;
    if (pair.bound == best.score && !gini && (best.a < 0 || best.a < pair.a)) continue;
    const int32_t a1 = std::min(pair.a + kBlock - 1, last), b1 = std::min(pair.b + kBlock - 1, last);
    for (int32_t a = pair.a; a <= a1; ++a) {
      const int32_t first = std::max(pair.b, a + 1), count = b1 - first + 1;
      if (count <= 0) continue;
      score_ends(sums.sums.data(), sums.n_ends, k, total, a, first, count, scores);
      for (int32_t i = 0; i < count; ++i) {
        if (scores[i] > best.score) continue;
        const double secondary = secondary_score(inside(sums, sums, a, first + i));
        if (best.beaten_by(scores[i], secondary, a, first + i)) best = {scores[i], secondary, a, first + i};
      }
    }
  }
}

// 0/1 disagreement: a row costs its weight by every cluster but that of its label.
struct RowLabels {
  const int32_t *labels;
  const int64_t *weights;
  int64_t k;
  void add_row(int64_t *sums, int32_t row) const {
    const int64_t weight = weights ? weights[row] : 1;
    for (int64_t j = 0; j < k; ++j) sums[j] += weight;
    sums[labels[row]] -= weight;
  }
};

struct IntervalCut {
  int64_t score = kNone;
  double secondary = 0.0;
  int32_t feature = -1;
  double lower = 0.0, upper = 0.0;
  int32_t inside_label = -1, outside_label = -1;

  auto rank() const { return std::tie(score, secondary, feature, lower, upper); }
};

template <class Rows>
struct IntervalSearch {
  const Ranks &ranks;
  const int32_t *rows;
  int64_t n;
  const int64_t *weights;  // by row, null: 1 each; they only decide how values are grouped
  Rows costs;
  IntervalCosts sides;
  int64_t limit;  // the cost and the secondary score that an interval has to beat
  double second_limit;

  // The distinct values of the node's rows in one column, and the value of every row.
  struct NodeColumn {
    std::vector<int32_t> unit;      // the units that occur, increasing
    std::vector<int32_t> value_of;  // by position among the node's rows: index into `unit`
  };

  NodeColumn gather(int32_t feature) const {
    const std::vector<uint16_t> &unit_of = ranks.unit[feature];
    const int32_t n_units = ranks.columns[feature].n_units();
    NodeColumn node;
    node.value_of.resize(n);
    std::vector<int32_t> index(n_units, 0);
    for (int64_t i = 0; i < n; ++i) index[unit_of[rows[i]]] = 1;
    for (int32_t u = 0; u < n_units; ++u) {
      if (!index[u]) continue;
      index[u] = static_cast<int32_t>(node.unit.size());
      node.unit.push_back(u);
    }
    for (int64_t i = 0; i < n; ++i) node.value_of[i] = index[unit_of[rows[i]]];
    return node;
  }

  // Prefix sums over groups of values, beginning with `start`; group_of maps values to groups, -1 for those left out.
  Prefixes prefixes(const NodeColumn &node, const std::vector<int32_t> &group_of, int32_t n_groups,
                    const std::vector<int64_t> &start) const {
    std::vector<int64_t> cells(static_cast<size_t>(n_groups) * sides.k, 0);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t group = group_of[node.value_of[i]];
      if (group >= 0) costs.add_row(cells.data() + group * sides.k, rows[i]);
    }
    Prefixes result;
    result.n_ends = n_groups + 1;
    result.sums.resize(static_cast<size_t>(result.n_ends) * sides.k);
    for (int64_t j = 0; j < sides.k; ++j) {
      int64_t *line = result.sums.data() + j * result.n_ends;
      line[0] = start[j];
      for (int32_t g = 0; g < n_groups; ++g) line[g + 1] = line[g] + cells[g * sides.k + j];
    }
    return result;
  }

  // The result for the interval from end a of `low` to end b of `high`, which are the node's ends `from` and `to`.
  IntervalCut labeled(int32_t feature, const NodeColumn &node, int32_t from, int32_t to, const CutPair &pair,
                      const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    const std::vector<int64_t> in = sides.inside(low, high, a, b), out = sides.outside(in);
    const auto cheapest = [](const auto &sums) {
      return static_cast<int32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
    };
    const std::vector<double> &ends = ranks.columns[feature].high;
    return {pair.score,   pair.secondary, feature, ends[node.unit[from - 1]], ends[node.unit[to - 1]],
            cheapest(in), cheapest(out)};
  }

  // Moves the ends of the best pair of groups to the best single values in the groups next to them, one end and then the other,
  // until neither moves.
  IntervalCut refine(int32_t feature, const NodeColumn &node, const Prefixes &groups, const std::vector<int64_t> &first,
                     const CutPair &coarse) const {
    // The single values in the two groups around an end; end e of the window is before value begin + e.
    struct Window {
      int32_t begin, n_values;
      Prefixes sums;
    };
    auto window_around = [&](int32_t end) {
      Window window;
      window.begin = first[end - 1];
      window.n_values = first[end + 1] - window.begin;
      std::vector<int32_t> window_of(node.unit.size(), -1);
      for (int32_t v = 0; v < window.n_values; ++v) window_of[window.begin + v] = v;
      std::vector<int64_t> start(sides.k);
      for (int64_t j = 0; j < sides.k; ++j) start[j] = groups.at(j, end - 1);
      window.sums = prefixes(node, window_of, window.n_values, start);
      return window;
    };
    const Window low = window_around(coarse.a), high = window_around(coarse.b);
    const int32_t n_values = static_cast<int32_t>(node.unit.size());
    int32_t a = first[coarse.a] - low.begin, b = first[coarse.b] - high.begin;
    CutPair best = coarse;
    for (bool moved = true; moved;) {
      moved = false;
      auto offer = [&](int32_t new_a, int32_t new_b) {
        const int32_t from = low.begin + new_a, to = high.begin + new_b;
        if (from < 1 || to <= from || to >= n_values) return;
        const std::vector<int64_t> in = sides.inside(low.sums, high.sums, new_a, new_b);
        const int64_t score = sides.score(in);
        if (score > best.score) return;
        const double secondary = sides.secondary_score(in);
        if (score == best.score && !(secondary < best.secondary)) return;
        best.score = score;
        best.secondary = secondary;
        a = new_a;
        b = new_b;
        moved = true;
      };
      const int32_t b_before = b;
      for (int32_t e = 0; e <= low.n_values; ++e) offer(e, b_before);
      const int32_t a_before = a;
      for (int32_t e = 0; e <= high.n_values; ++e) offer(a_before, e);
    }
    return labeled(feature, node, low.begin + a, high.begin + b, best, low.sums, high.sums, a, b);
  }

  IntervalCut search(int32_t feature) const {
    const NodeColumn node = gather(feature);
    const int32_t n_values = static_cast<int32_t>(node.unit.size());
    if (n_values < 3) return {};
    std::vector<int64_t> first;  // the first value of every group, and after them n_values
    const bool grouped = n_values > kExactValues;
    if (grouped) {
      std::vector<int64_t> mass(n_values, 0);
      for (int64_t i = 0; i < n; ++i) mass[node.value_of[i]] += weights ? weights[rows[i]] : 1;
      first = group_by_mass(mass, kGroups);
    } else {
      for (int32_t v = 0; v <= n_values; ++v) first.push_back(v);
    }
    const int32_t n_groups = static_cast<int32_t>(first.size()) - 1;
    std::vector<int32_t> group_of(n_values);
    for (int32_t g = 0; g < n_groups; ++g) std::fill(group_of.begin() + first[g], group_of.begin() + first[g + 1], g);
    const Prefixes sums = prefixes(node, group_of, n_groups, std::vector<int64_t>(sides.k, 0));
    CutPair best;
    // A pair of groups need not beat the limit yet, as refine() may improve it.
    if (!grouped) {
      best.score = limit;
      best.secondary = second_limit;
    }
    sides.search_pairs(sums, best);
    if (best.a < 0) return {};
    if (grouped) {
      const IntervalCut found = refine(feature, node, sums, first, best);
      const bool beats = found.score < limit || (found.score == limit && found.secondary < second_limit);
      return beats ? found : IntervalCut{};
    }
    return labeled(feature, node, best.a, best.b, best, sums, sums, best.a, best.b);
  }

  IntervalCut run(int n_jobs) const {
    const int32_t d = ranks.n_cols();
    std::vector<IntervalCut> found(d);
    // Columns do not share the best interval so far: the result of a grouped column would depend on the threads.
    parallel_for(n_jobs, d, [&](int64_t f) { found[f] = search(static_cast<int32_t>(f)); });
    return *std::min_element(found.begin(), found.end(),
                             [](const IntervalCut &x, const IntervalCut &y) { return x.rank() < y.rank(); });
  }
};

// Cost, secondary score, feature, lower, upper, inside label, outside label.
using FoundInterval = std::optional<std::tuple<int64_t, double, int32_t, double, double, int32_t, int32_t>>;

template <class Rows>
FoundInterval run(const IntervalSearch<Rows> &search, int n_jobs) {
  const IntervalCut best = without_gil([&] { return search.run(n_jobs); });
  if (best.score == kNone) return std::nullopt;
  return std::make_tuple(best.score, best.secondary, best.feature, best.lower, best.upper, best.inside_label,
                         best.outside_label);
}

template <class Cost>
auto best_surrogate_interval(const Ranks &ranks, In1<int32_t> rows, const Weights &weights, In2<Cost> costs,
                             In1<int64_t> totals, int64_t limit, int n_jobs) {
  const int64_t k = costs.shape(1);
  require(has_shape(costs, ranks.n_rows), "costs has one line per row");
  require(has_shape(totals, k), "totals has one entry per cluster");
  const int64_t *weight = checked(weights, ranks.n_rows);
  const auto n = static_cast<int64_t>(rows.size());
  const IntervalSearch<CostSums<Cost>> search{ranks, rows.data(), n, weight, {costs.data(), k}, {k, totals.data(), false},
                                              limit, 0.0};
  return run(search, n_jobs);
}

auto best_disagreement_interval(const Ranks &ranks, In1<int32_t> rows, const Weights &weights, In1<int32_t> labels,
                                In1<int64_t> totals, bool gini, int64_t limit, double second_limit, int n_jobs) {
  const int64_t k = totals.size();
  require(has_shape(labels, ranks.n_rows), "labels has one entry per row");
  // The cost of a label is the weight of all other labels.
  int64_t all = 0;
  for (int64_t j = 0; j < k; ++j) all += totals.data()[j];
  std::vector<int64_t> costs(k);
  for (int64_t j = 0; j < k; ++j) costs[j] = all - totals.data()[j];
  const int64_t *weight = checked(weights, ranks.n_rows);
  const IntervalSearch<RowLabels> search{
      ranks, rows.data(), static_cast<int64_t>(rows.size()), weight, {labels.data(), weight, k}, {k, costs.data(), gini},
      limit, second_limit};
  return run(search, n_jobs);
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_intervals(nb::module_ &m) {
  for_types<int32_t, int64_t>(
      R"(The interval whose inside and outside cost least, each served by its best cluster (Fleissner et al. 2024, Section 5).

costs (n_rows, k): not negative, with the weights multiplied in; weights (n_rows,) only decide how values are grouped. totals
(k,): summed costs of the node's rows. limit: the cost that the interval has to beat, such as that of the best one-sided cut.
Returns (cost, 0.0, feature, lower, upper, inside label, outside label), or None: lower is the largest value of the node below
the interval, upper the largest inside. Ties: the lowest feature, then lower, then upper.

In columns of at most 1,000 distinct values in the node all pairs of values are compared. Other columns are searched on 256 or
more groups of equal weight, and the ends of the best pair moved to the best single values next to them.)",
      [&](auto zero, const char *doc) {
        using Cost = decltype(zero);
        m.def("best_surrogate_interval", &best_surrogate_interval<Cost>, "ranks"_a, "rows"_a, "weights"_a.none(),
              "costs"_a.noconvert(), "totals"_a, "limit"_a, "n_jobs"_a = 1, doc);
      });

  m.def("best_disagreement_interval", &best_disagreement_interval, "ranks"_a, "rows"_a, "weights"_a.none(), "labels"_a,
        "totals"_a, "gini"_a, "limit"_a, "second_limit"_a, "n_jobs"_a = 1,
        R"(The interval that leaves the fewest rows outside their side's commonest label.

labels (n_rows,): 0 to k - 1. totals (k,): weights of the node's rows by label. gini: impurity decides between equals, and
second_limit is the impurity that an interval has to beat whose disagreement equals limit. Returns (disagreement, impurity,
feature, lower, upper, inside label, outside label), or None.)");
}
