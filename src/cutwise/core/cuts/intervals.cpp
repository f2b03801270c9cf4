// The interval `lower < x <= upper` whose inside and outside, each served by one cluster, cost least together.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Section 5: Kernel ExKMC and Kernel Expand with two-sided cuts. A column's
// prefix sums over its values give the cost of every pair of ends, so the search is quadratic in the number of values
// and does not see the rows again. Pairs are looked at in blocks, and a block only where its bound can beat the best.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "cuts/surrogate_sums.hpp"
#include "nodes/node.hpp"
#include "nodes/ranks.hpp"

namespace cutwise {
namespace {

constexpr int32_t kExactValues = 1000;  // columns of more distinct values in the node are searched on groups of values
constexpr int32_t kGroups = 256;

constexpr int32_t kBlock = 16;  // ends in a block

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

// Running sums of the costs at every end, one line a cluster: ends lie side by side, so that pairs are scored in lanes.
struct Prefixes {
  int32_t n_ends = 0;         // ends 0 .. n_groups; end e has the groups before e on its left
  std::vector<int64_t> sums;  // (k, n_ends)

  int64_t at(int64_t j, int32_t end) const { return sums[j * n_ends + end]; }
  int64_t inside(int64_t j, int32_t a, int32_t b) const { return at(j, b) - at(j, a); }
};

struct CutPair {
  int64_t score = kNone;
  double second = 0.0;
  int32_t a = -1, b = -1;  // -1: not an interval, but the cut that intervals have to beat

  bool beaten_by(int64_t other_score, double other_second, int32_t other_a, int32_t other_b) const {
    if (score != other_score) return other_score < score;
    if (second != other_second) return other_second < second;
    return a >= 0 && std::tie(other_a, other_b) < std::tie(a, b);
  }
};

// What intervals cost: each of the two sides is served by its best cluster.
struct IntervalCosts {
  int64_t k;
  const int64_t *total;  // by cluster, of all rows of the node
  bool gini;             // costs are those of 0/1 disagreement, and Gini impurity decides between equals

  // Of the interval from `low`'s end a to `high`'s end b.
  int64_t score(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    int64_t in_least = kNone, out_least = kNone;
    for (int64_t j = 0; j < k; ++j) {
      const int64_t in = high.at(j, b) - low.at(j, a);
      in_least = std::min(in_least, in);
      out_least = std::min(out_least, total[j] - in);
    }
    return in_least + out_least;
  }

  double second_score(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    return gini ? impurity(low, high, a, b) : 0.0;
  }

  // Betters `best` to the best pair of ends 0 < a < b < n_ends - 1.
  void search_pairs(const Prefixes &sums, CutPair &best) const;

 private:
  double impurity(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const;
  int64_t bound(const Prefixes &sums, int32_t a0, int32_t a1, int32_t b0, int32_t b1) const;
};

// Gini impurity of inside and outside, weighted by size; counts are what the costs of disagreement leave.
double IntervalCosts::impurity(const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
  int64_t all_in = 0, all = 0;
  for (int64_t j = 0; j < k; ++j) {
    all_in += high.at(j, b) - low.at(j, a);
    all += total[j];
  }
  const int64_t n_in = k > 1 ? all_in / (k - 1) : 0, n_all = k > 1 ? all / (k - 1) : 0;
  double squares_in = 0, squares_out = 0;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t in = high.at(j, b) - low.at(j, a);
    const double i = static_cast<double>(n_in - in), o = static_cast<double>((n_all - n_in) - (total[j] - in));
    squares_in += i * i;
    squares_out += o * o;
  }
  const double inside = static_cast<double>(n_in), outside = static_cast<double>(n_all - n_in);
  return (inside > 0 ? inside - squares_in / inside : 0.0) + (outside > 0 ? outside - squares_out / outside : 0.0);
}

// Lower bound over all intervals whose ends lie in two blocks. Inside and outside under one label cost what the uncut
// node does, which no interval beats with: without a second score only different labels count.
int64_t IntervalCosts::bound(const Prefixes &sums, int32_t a0, int32_t a1, int32_t b0, int32_t b1) const {
  MinPairSum pairs;
  for (int64_t j = 0; j < k; ++j) pairs.add(j, b0 > a1 ? sums.inside(j, a1, b0) : 0, total[j] - sums.inside(j, a0, b1));
  return gini ? pairs.of_any() : pairs.of_different();
}

void IntervalCosts::search_pairs(const Prefixes &sums, CutPair &best) const {
  const int32_t last = sums.n_ends - 2;  // the last end with something on its right
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
        const double second = second_score(sums, sums, a, first + i);
        if (best.beaten_by(scores[i], second, a, first + i)) best = {scores[i], second, a, first + i};
      }
    }
  }
}

// 0/1 disagreement: every cluster but the row's own costs its weight.
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
  double second = 0.0;
  int32_t feature = -1;
  double lower = 0.0, upper = 0.0;
  int32_t inside_label = -1, outside_label = -1;

  auto rank() const { return std::tie(score, second, feature, lower, upper); }
};

template <class Rows>
struct IntervalSearch {
  const Ranks &ranks;
  const int32_t *rows;
  int64_t n;
  const int64_t *weights;  // of rows, null: 1 each; only where groups are formed
  Rows costs;
  IntervalCosts sides;
  int64_t limit;  // what an interval has to beat
  double second_limit;

  // The distinct values of the node's rows on one column, and which of them every row has.
  struct NodeColumn {
    std::vector<int32_t> unit;   // in order
    std::vector<int32_t> place;  // by position among the node's rows: index into `unit`
  };

  NodeColumn gather(int32_t feature) const {
    const std::vector<uint16_t> &unit_of = ranks.unit[feature];
    const int32_t n_units = ranks.columns[feature].n_units();
    NodeColumn node;
    node.place.resize(n);
    std::vector<int32_t> index(n_units, 0);
    for (int64_t i = 0; i < n; ++i) index[unit_of[rows[i]]] = 1;
    for (int32_t u = 0; u < n_units; ++u) {
      if (!index[u]) continue;
      index[u] = static_cast<int32_t>(node.unit.size());
      node.unit.push_back(u);
    }
    for (int64_t i = 0; i < n; ++i) node.place[i] = index[unit_of[rows[i]]];
    return node;
  }

  // Running sums over groups of values; group_of maps values to groups, -1 for values that are left out.
  Prefixes prefixes(const NodeColumn &node, const std::vector<int32_t> &group_of, int32_t n_groups,
                    const std::vector<int64_t> &start) const {
    std::vector<int64_t> cells(static_cast<size_t>(n_groups) * sides.k, 0);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t group = group_of[node.place[i]];
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

  // What is found between two of the node's values, `from` and `to`: of low's end a and high's end b.
  IntervalCut labeled(int32_t feature, const NodeColumn &node, int32_t from, int32_t to, const CutPair &pair,
                      const Prefixes &low, const Prefixes &high, int32_t a, int32_t b) const {
    std::vector<int64_t> in(sides.k), out(sides.k);
    for (int64_t j = 0; j < sides.k; ++j) {
      in[j] = high.at(j, b) - low.at(j, a);
      out[j] = sides.total[j] - in[j];
    }
    const auto cheapest = [](const auto &sums) {
      return static_cast<int32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
    };
    const std::vector<double> &ends = ranks.columns[feature].high;
    return {pair.score, pair.second, feature, ends[node.unit[from - 1]], ends[node.unit[to - 1]], cheapest(in), cheapest(out)};
  }

  // Moves the ends of the best pair of groups to the best single values next to them, one end and then the other until
  // neither moves: the cost never rises.
  IntervalCut refine(int32_t feature, const NodeColumn &node, const Prefixes &groups, const std::vector<int32_t> &first,
                     const CutPair &coarse) const {
    // Ends among single values, of the two groups around each end: end e lies before value begin + e.
    struct Window {
      int32_t begin, n_values;
      Prefixes sums;
    };
    auto window_around = [&](int32_t end) {
      Window window;
      window.begin = first[end - 1];
      window.n_values = first[end + 1] - window.begin;
      std::vector<int32_t> value_of(node.unit.size(), -1);
      for (int32_t v = 0; v < window.n_values; ++v) value_of[window.begin + v] = v;
      std::vector<int64_t> start(sides.k);
      for (int64_t j = 0; j < sides.k; ++j) start[j] = groups.at(j, end - 1);
      window.sums = prefixes(node, value_of, window.n_values, start);
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
        const int64_t score = sides.score(low.sums, high.sums, new_a, new_b);
        if (score > best.score) return;
        const double second = sides.second_score(low.sums, high.sums, new_a, new_b);
        if (score == best.score && !(second < best.second)) return;
        best.score = score;
        best.second = second;
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
    std::vector<int32_t> first;  // of every group, and the end
    const bool grouped = n_values > kExactValues;
    if (grouped) {
      std::vector<int64_t> mass(n_values, 0);
      for (int64_t i = 0; i < n; ++i) mass[node.place[i]] += weights ? weights[rows[i]] : 1;
      first = group_by_mass(mass, kGroups);
    } else {
      for (int32_t v = 0; v <= n_values; ++v) first.push_back(v);
    }
    const int32_t n_groups = static_cast<int32_t>(first.size()) - 1;
    std::vector<int32_t> group_of(n_values);
    for (int32_t g = 0; g < n_groups; ++g) std::fill(group_of.begin() + first[g], group_of.begin() + first[g + 1], g);
    const Prefixes sums = prefixes(node, group_of, n_groups, std::vector<int64_t>(sides.k, 0));
    CutPair best;
    // Refinement may still better a pair of groups that does not beat the limit, so it is not asked for yet.
    if (!grouped) {
      best.score = limit;
      best.second = second_limit;
    }
    sides.search_pairs(sums, best);
    if (best.a < 0) return {};
    if (grouped) {
      const IntervalCut found = refine(feature, node, sums, first, best);
      const bool beats = found.score < limit || (found.score == limit && found.second < second_limit);
      return beats ? found : IntervalCut{};
    }
    return labeled(feature, node, best.a, best.b, best, sums, sums, best.a, best.b);
  }

  IntervalCut run(int n_jobs) const {
    const int32_t d = ranks.n_cols();
    std::vector<IntervalCut> found(d);
    // Columns know nothing of each other's finds: what a grouped column comes to must not depend on the threads.
    parallel_for(n_jobs, d, [&](int64_t f) { found[f] = search(static_cast<int32_t>(f)); });
    return *std::min_element(found.begin(), found.end(),
                             [](const IntervalCut &x, const IntervalCut &y) { return x.rank() < y.rank(); });
  }
};

// Cost, second score, feature, lower, upper, inside label, outside label.
using FoundInterval = std::optional<std::tuple<int64_t, double, int32_t, double, double, int32_t, int32_t>>;

template <class Rows>
FoundInterval run(const IntervalSearch<Rows> &search, int n_jobs) {
  const IntervalCut best = without_gil([&] { return search.run(n_jobs); });
  if (best.score == kNone) return std::nullopt;
  return std::make_tuple(best.score, best.second, best.feature, best.lower, best.upper, best.inside_label, best.outside_label);
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_intervals(nb::module_ &m) {
  for_types<int32_t, int64_t>(
      R"(The interval whose inside and outside cost least together, each served by the cluster that serves it best.

costs (n_rows, k), not negative, weights in them already: weights only form groups of values. totals (k,): summed costs of
the node's rows. limit: what the interval has to beat, such as the cost of the best one-sided cut. Gives (cost, 0.0, feature,
lower, upper, inside label, outside label), or None: lower is the largest value of the node below the interval, upper the
largest inside; of equals the lowest feature, then lower, then upper. Over all pairs of the node's values in columns of at
most 1,000 distinct ones there; other columns are searched on 256 or more groups of equal weight, and the ends of the best
pair moved to the best single values next to them. Fleissner, Vankadara, Ghoshdastidar (2024), Section 5.)",
      [&](auto zero, const char *doc) {
        using Cost = decltype(zero);
        m.def(
            "best_surrogate_interval",
            [](const Ranks &ranks, In1<int32_t> rows, const Weights &weights, In2<Cost> costs, In1<int64_t> totals,
               int64_t limit, int n_jobs) {
              const int64_t k = costs.shape(1);
              require(has_shape(costs, ranks.n_rows), "costs has one line per row");
              require(has_shape(totals, k), "totals has one entry per cluster");
              const int64_t *weight = checked(weights, ranks.n_rows);
              const auto n = static_cast<int64_t>(rows.size());
              const IntervalSearch<CostSums<Cost>> search{
                  ranks, rows.data(), n, weight, {costs.data(), k}, {k, totals.data(), false}, limit, 0.0};
              return run(search, n_jobs);
            },
            "ranks"_a, "rows"_a, "weights"_a.none(), "costs"_a.noconvert(), "totals"_a, "limit"_a, "n_jobs"_a = 1, doc);
      });

  m.def(
      "best_disagreement_interval",
      [](const Ranks &ranks, In1<int32_t> rows, const Weights &weights, In1<int32_t> labels, In1<int64_t> totals, bool gini,
         int64_t limit, double second_limit, int n_jobs) {
        const int64_t k = totals.size();
        require(has_shape(labels, ranks.n_rows), "labels has one entry per row");
        // Weight by label becomes cost by label: the weight of all other labels.
        int64_t all = 0;
        for (int64_t j = 0; j < k; ++j) all += totals.data()[j];
        std::vector<int64_t> costs(k);
        for (int64_t j = 0; j < k; ++j) costs[j] = all - totals.data()[j];
        const int64_t *weight = checked(weights, ranks.n_rows);
        const IntervalSearch<RowLabels> search{
            ranks, rows.data(), static_cast<int64_t>(rows.size()), weight, {labels.data(), weight, k}, {k, costs.data(), gini},
            limit, second_limit};
        return run(search, n_jobs);
      },
      "ranks"_a, "rows"_a, "weights"_a.none(), "labels"_a, "totals"_a, "gini"_a, "limit"_a, "second_limit"_a, "n_jobs"_a = 1,
      R"(The interval that leaves the fewest rows outside their side's commonest label.

labels (n_rows,): 0 to k - 1; totals (k,): weights of the node's rows by label. With gini impurity decides between equals;
second_limit is the impurity that an interval as costly as limit has to beat. Gives (disagreement, impurity, feature, lower,
upper, inside label, outside label), or None.)");
}
