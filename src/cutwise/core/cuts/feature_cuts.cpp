// Kernel IMM's search: the cut of a surrogate feature that separates the fewest rows from their centers.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1. A feature is a function of one column, and a cut at a level
// separates the column's values whose feature is above the level from the others. Only cuts count of which one side is an
// interval of the node's values, so that a tree can test it on the column itself; for monotone and unimodal features all cuts
// do.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "cuts/feature_walk.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

struct FeatureCut {
  int64_t mistakes = kNone;
  int32_t column = -1, feature = -1;
  double level = 0.0;
  int32_t n_above = 0;            // surviving centers above the level, which are the first of the feature's order
  int32_t first = -1, last = -1;  // the first and the last position of the interval
  bool above_is_interval = true;  // whether the interval is the side above the level, or the other one

  // Ties: the lowest column, then the lowest feature, the lowest level, and the most centers above it.
  auto rank() const { return std::make_tuple(mistakes, column, feature, level, -n_above); }
};

struct FeatureSearch {
  const FeatureNode &node;
  CutsWanted wanted;

  struct Result {
    FeatureCut cut;
    std::vector<int32_t> left;  // the survivors inside the interval
    double lower = -std::numeric_limits<double>::infinity(), upper = 0.0;
  };

  // The best cut of column f.
  FeatureCut best_of_column(int32_t f) const {
    const FeatureColumn &column = node.table.columns[f];
    FeatureCut best;
    if (column.n_features == 0) return best;
    const PresentItems items(node, column);
    if (items.size() < 2) return best;
    FeatureWalk walk(node, column, items, wanted);
    for (int32_t feature = 0; feature < column.n_features; ++feature)
      walk.each_cut(feature, [&](double level) {
        // Levels fall along the walk, so of equal cuts of one feature the last is taken; of several features the first.
        if (walk.mistakes < best.mistakes || (walk.mistakes == best.mistakes && feature == best.feature))
          best = {walk.mistakes,         f, feature, level, static_cast<int32_t>(walk.n_above), walk.first, walk.last,
                  walk.above_is_interval};
      });
    return best;
  }

  Result finished(const FeatureCut &cut) const {
    Result result;
    result.cut = cut;
    if (cut.column < 0) return result;
    const FeatureColumn &column = node.table.columns[cut.column];
    const PresentItems items(node, column);
    // A cut whose interval reaches the last value is a threshold before the interval, and its left side is the other one.
    const bool to_the_end = cut.last == items.size() - 1;
    const bool left_is_above = cut.above_is_interval != to_the_end;
    if (!to_the_end && cut.first > 0) result.lower = column.high[items.item[cut.first - 1]];
    result.upper = column.high[items.item[to_the_end ? cut.first - 1 : cut.last]];
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
    parallel_for(n_jobs, d, [&](int64_t f) { best[f] = best_of_column(static_cast<int32_t>(f)); });
    return finished(*std::min_element(best.begin(), best.end(),
                                      [](const FeatureCut &x, const FeatureCut &y) { return x.rank() < y.rank(); }));
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_feature_cuts(nb::module_ &m) {
  using FoundFeatureCut = std::optional<std::tuple<int64_t, int32_t, int32_t, double, double, Owned<int32_t, 1>>>;
  m.def(
      "fewest_feature_mistakes",
      [](const FeatureTable &table, In1<int32_t> rows, In1<int32_t> cluster, const Weights &weights, In1<int32_t> survivors,
         bool one_sided, bool any_level, int n_jobs) -> FoundFeatureCut {
        require(has_shape(cluster, table.n_rows), "cluster has one entry per row");
        FeatureNode node{table,
                         rows.data(),
                         static_cast<int64_t>(rows.size()),
                         cluster.data(),
                         checked(weights, table.n_rows),
                         survivors_of(survivors, table.k)};
        auto found = without_gil([&] {
          node.prepare();
          return FeatureSearch{node, {one_sided, any_level}}.run(n_jobs);
        });
        if (found.cut.column < 0) return std::nullopt;
        return std::make_tuple(found.cut.mistakes, found.cut.column, found.cut.feature, found.lower, found.upper,
                               to_numpy(std::move(found.left)));
      },
      "table"_a, "rows"_a, "cluster"_a, "weights"_a.none(), "survivors"_a, "one_sided"_a, "any_level"_a, "n_jobs"_a = 1,
      R"(The cut of a surrogate feature that separates the fewest rows from their centers (Fleissner et al. 2024, Algorithm 1).

A cut at a level has rows and surviving centers on both sides, above the level and at or below it, and one of its sides is an
interval of the node's values in the column. Columns without features are left out. cluster (n_rows,): the surviving cluster of
every row, -1 if an earlier cut separated them. one_sided: only cuts that are thresholds on the column. any_level: levels lie
anywhere between neighboring values, so that centers between two values can be separated too; otherwise half way between values
of rows with a cluster. Ties: the lowest column, feature, level.

Returns (mistakes, column, feature, lower, upper, left), or None when there is no such cut: rows with lower < x <= upper go left,
lower is -inf for a threshold, and left are the survivors that go left.)");
}
