// Kernel IMM's search: the cut of a surrogate feature that parts the fewest rows from their centers.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1. A feature is a function of one column; its cut at a level parts
// the column's values into those above and those below. A cut counts where one of the two sides is an interval of the
// node's values, so that a tree can test it on the column itself: always for monotone and unimodal features.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "cuts/feature_walk.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

struct FeatureCut {
  int64_t mistakes = kNone, cost = kNone;
  int32_t column = -1, feature = -1;
  double level = 0.0;
  int32_t n_above = 0;            // surviving centers above the level: the first of the feature's order
  int32_t first = -1, last = -1;  // the interval, in places among the node's items
  bool above_is_interval = true;  // which side of the level it is: above, or at and below

  // Ties: the lowest column, the lowest feature, the lowest level, the most centers above it.
  auto rank() const { return std::make_tuple(mistakes, cost, column, feature, level, -n_above); }
};

template <class Cost>
struct FeatureSearch {
  const FeatureNode &node;
  const Cost *costs;  // null: ties are settled by position
  CutsWanted wanted;

  FeatureCut take(int32_t f, int32_t feature, double level, const FeatureWalk &walk) const {
    FeatureCut cut;
    cut.mistakes = walk.mistakes;
    cut.column = f;
    cut.feature = feature;
    cut.level = level;
    cut.n_above = static_cast<int32_t>(walk.n_above);
    cut.first = walk.first;
    cut.last = walk.last;
    cut.above_is_interval = walk.above_is_interval;
    return cut;
  }

  struct Result {
    FeatureCut cut;
    std::vector<int32_t> left;  // the survivors inside the interval
    double lower = -std::numeric_limits<double>::infinity(), upper = 0.0;
  };

  // A column's best cut by position, and the fewest mistakes of every feature.
  FeatureCut look(int32_t f, std::vector<int64_t> &fewest) const {
    const FeatureColumn &column = node.table.columns[f];
    FeatureCut best;
    if (column.n_features == 0) return best;
    const Places places(node, column);
    fewest.assign(column.n_features, kNone);
    if (places.size() < 2) return best;
    FeatureWalk walk(node, column, places, wanted);
    for (int32_t feature = 0; feature < column.n_features; ++feature)
      walk.each_cut(feature, [&](double level) {
        fewest[feature] = std::min(fewest[feature], walk.mistakes);
        // Levels fall along the walk: of equals in one feature the last is wanted, of several features the first.
        if (walk.mistakes < best.mistakes || (walk.mistakes == best.mistakes && feature == best.feature))
          best = take(f, feature, level, walk);
      });
    return best;
  }

  // Of a column's cuts with the fewest mistakes, the one whose sides cost least, each served by its best center.
  FeatureCut settle(int32_t f, int64_t mistakes_wanted, const std::vector<int64_t> &fewest) const {
    const FeatureColumn &column = node.table.columns[f];
    const Places places(node, column);
    const size_t m = node.width();
    std::vector<int64_t> sums((places.size() + 1) * m, 0);
    for (int64_t i = 0; i < node.n; ++i) {
      const int32_t row = node.rows[i];
      int64_t *cell = sums.data() + (places.place[column.item[row]] + 1) * m;
      const Cost *cost = costs + row * node.table.k;
      for (size_t s = 0; s < m; ++s) cell[s] += cost[node.survivors[s]];
    }
    for (size_t e = m; e < sums.size(); ++e) sums[e] += sums[e - m];
    const int64_t *all = sums.data() + places.size() * m;
    FeatureCut best;
    FeatureWalk walk(node, column, places, wanted);
    for (int32_t feature = 0; feature < column.n_features; ++feature) {
      if (fewest[feature] != mistakes_wanted) continue;
      walk.each_cut(feature, [&](double level) {
        if (walk.mistakes != mistakes_wanted) return;
        FeatureCut cut = take(f, feature, level, walk);
        const int64_t *from = sums.data() + cut.first * m, *to = sums.data() + (cut.last + 1) * m;
        int64_t least_above = kNone, least_below = kNone;
        for (size_t s = 0; s < m; ++s) {
          const int64_t in = to[s] - from[s], above = cut.above_is_interval ? in : all[s] - in;
          if (walk.passed[s]) least_above = std::min(least_above, above);
          else least_below = std::min(least_below, all[s] - above);
        }
        cut.cost = least_above + least_below;
        if (cut.rank() < best.rank()) best = cut;
      });
    }
    return best;
  }

  Result finished(const FeatureCut &cut) const {
    Result result;
    result.cut = cut;
    if (cut.column < 0) return result;
    const FeatureColumn &column = node.table.columns[cut.column];
    const Places places(node, column);
    // A cut whose interval reaches to the last value is the threshold before it, and its left side the other one.
    const bool to_the_end = cut.last == places.size() - 1;
    const bool left_is_above = cut.above_is_interval != to_the_end;
    if (!to_the_end && cut.first > 0) result.lower = column.high[places.item[cut.first - 1]];
    result.upper = column.high[places.item[to_the_end ? cut.first - 1 : cut.last]];
    std::vector<uint8_t> above(node.table.k, 0);
    int32_t n_above = 0;
    for (int64_t r = cut.feature * node.table.k; n_above < cut.n_above; ++r) {
      const int32_t c = column.center_order[r];
      if (node.slot[c] < 0) continue;
      above[c] = 1;
      ++n_above;
    }
    for (int32_t c : node.survivors)
      if ((above[c] != 0) == left_is_above) result.left.push_back(c);
    return result;
  }

  Result run(int n_jobs) const {
    const int32_t d = node.table.n_cols();
    std::vector<FeatureCut> best(d);
    std::vector<std::vector<int64_t>> fewest(d);
    parallel_for(n_jobs, d, [&](int64_t f) { best[f] = look(static_cast<int32_t>(f), fewest[f]); });
    auto lowest = [&] {
      return *std::min_element(best.begin(), best.end(),
                               [](const FeatureCut &x, const FeatureCut &y) { return x.rank() < y.rank(); });
    };
    const int64_t mistakes = lowest().mistakes;
    if (costs && mistakes != kNone)
      parallel_for(n_jobs, d, [&](int64_t f) {
        if (best[f].mistakes == mistakes) best[f] = settle(static_cast<int32_t>(f), mistakes, fewest[f]);
      });
    return finished(lowest());
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_feature_cuts(nb::module_ &m) {
  using Found = std::optional<std::tuple<int64_t, int64_t, int32_t, int32_t, double, double, Owned<int32_t, 1>>>;
  auto for_costs = [&](auto zero, const char *doc) {
    using Cost = decltype(zero);
    m.def(
        "fewest_feature_mistakes",
        [](const FeatureTable &table, In1<int32_t> rows, In1<int32_t> cluster, const Weights &weights, In1<int32_t> survivors,
           std::optional<In2<Cost>> costs, bool one_sided, bool any_level, int n_jobs) -> Found {
          require(static_cast<int64_t>(cluster.size()) == table.n_rows, "cluster has one entry per row");
          require(!costs || (static_cast<int64_t>(costs->shape(0)) == table.n_rows &&
                             static_cast<int64_t>(costs->shape(1)) == table.k),
                  "costs has one line per row and one column per cluster");
          FeatureNode node{table,
                           rows.data(),
                           static_cast<int64_t>(rows.size()),
                           cluster.data(),
                           checked(weights, table.n_rows),
                           survivors_of(survivors, table.k)};
          const FeatureSearch<Cost> search{node, costs ? costs->data() : nullptr, {one_sided, any_level}};
          typename FeatureSearch<Cost>::Result found;
          {
            nb::gil_scoped_release release;
            node.prepare();
            found = search.run(n_jobs);
          }
          if (found.cut.column < 0) return std::nullopt;
          return std::make_tuple(found.cut.mistakes, costs ? found.cut.cost : 0, found.cut.column, found.cut.feature,
                                 found.lower, found.upper, to_numpy(std::move(found.left)));
        },
        nb::arg("table"), nb::arg("rows"), nb::arg("cluster"), nb::arg("weights").none(), nb::arg("survivors"),
        nb::arg("costs").noconvert().none(), nb::arg("one_sided"), nb::arg("any_level"), nb::arg("n_jobs") = 1, doc);
  };
  for_costs(int32_t{}, R"(The cut of a surrogate feature that parts the fewest rows from their centers.

A cut at a level has rows and surviving centers above it and at or below it, and counts where one of its sides is an interval
of the node's values on the column; columns without features are passed over. cluster (n_rows,): the surviving one, -1 where
a row was separated before. costs (n_rows, k) or None settle ties: the sides that cost least, each served by its best surviving
center; then the lowest column, feature, level. one_sided: only thresholds on the column. any_level: levels lie anywhere
between neighboring values, so that centers between two values are separated at their own coordinates; otherwise half way
between values of rows that a center holds. Gives (mistakes, cost, column, feature, lower, upper, left): rows with lower < x
<= upper go left, lower is -inf for a threshold, left are the survivors that go left. None when no cut has rows and centers
on both sides. Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1.)");
  for_costs(int64_t{}, "");
}
