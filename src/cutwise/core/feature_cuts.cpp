// Kernel IMM's search: the cut of a surrogate feature that parts the fewest rows from their centers.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1. A feature is a function of one column; its cut at a level parts
// the column's values into those above and those below. A cut counts where one of the two sides is an interval of the
// node's values, so that a tree can test it on the column itself: always for monotone and unimodal features.
#include "feature_cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "parallel.hpp"

namespace cutwise {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
constexpr int32_t kExactValues = 1000;
constexpr int32_t kGroups = 256;

FeatureTable make_table(const Ranks &ranks, const int32_t *labels, const int64_t *weights, int64_t k, int n_jobs) {
  FeatureTable table;
  table.n_rows = ranks.n_rows;
  table.k = k;
  table.columns.resize(ranks.n_cols());
  parallel_for(n_jobs, ranks.n_cols(), [&](int64_t f) {
    const RankedColumn &ranked = ranks.columns[f];
    const std::vector<uint16_t> &unit = ranks.unit[f];
    FeatureColumn &column = table.columns[f];
    const int32_t n_units = ranked.n_units();
    std::vector<int64_t> mass(n_units, 0);
    for (int64_t i = 0; i < ranks.n_rows; ++i) mass[unit[i]] += weights ? weights[i] : 1;
    std::vector<int32_t> first;
    if (n_units <= kExactValues) {
      first.resize(n_units + 1);
      std::iota(first.begin(), first.end(), 0);
    } else {
      first = group_by_mass(mass, kGroups);
      column.exact = false;
    }
    const int32_t n_items = static_cast<int32_t>(first.size()) - 1;
    std::vector<uint16_t> item_of(n_units);
    for (int32_t g = 0; g < n_items; ++g) {
      column.low.push_back(ranked.low[first[g]]);
      column.high.push_back(ranked.high[first[g + 1] - 1]);
      int64_t half = 0;
      for (int32_t u = first[g]; u < first[g + 1]; ++u) {
        item_of[u] = static_cast<uint16_t>(g);
        half += mass[u];
      }
      half -= half / 2;
      int32_t u = first[g];
      for (int64_t passed = mass[u]; passed < half; passed += mass[u]) ++u;
      column.middle.push_back(ranked.low[u]);
    }
    column.item.resize(ranks.n_rows);
    column.weight.assign(static_cast<size_t>(n_items) * k, 0);
    for (int64_t i = 0; i < ranks.n_rows; ++i) {
      const uint16_t item = item_of[unit[i]];
      column.item[i] = item;
      column.weight[item * k + labels[i]] += weights ? weights[i] : 1;
    }
  });
  return table;
}

// Items from the highest value to the lowest. Unimodal values, the usual case, are two runs to be merged.
void order_items(const double *values, int32_t n, uint16_t *order) {
  const int32_t top = static_cast<int32_t>(std::max_element(values, values + n) - values);
  bool unimodal = true;
  for (int32_t i = 1; i < n && unimodal; ++i) unimodal = i <= top ? values[i - 1] <= values[i] : values[i - 1] >= values[i];
  if (!unimodal) {
    std::iota(order, order + n, static_cast<uint16_t>(0));
    std::stable_sort(order, order + n, [&](uint16_t a, uint16_t b) { return values[a] > values[b]; });
    return;
  }
  int32_t left = top, right = top + 1;
  for (int32_t i = 0; i < n; ++i) {
    const bool go_left = right >= n || (left >= 0 && values[left] >= values[right]);
    order[i] = static_cast<uint16_t>(go_left ? left-- : right++);
  }
}

struct FeatureCut {
  int64_t mistakes = kNone, cost = kNone;
  int32_t column = -1, feature = -1;
  int32_t position = -1;  // items above the level
  int32_t n_above = 0;    // surviving centers above it: the first of the feature's order
  int32_t first = -1, last = -1;  // the interval, in places among the node's items
  bool above_is_interval = true;  // which side of the level it is: above, or at and below

  // Ties: the lowest column, the lowest feature, the lowest level.
  auto rank() const { return std::make_tuple(mistakes, cost, column, feature, -position, -n_above); }
};

template <class Cost>
struct FeatureSearch {
  const FeatureTable &table;
  const int32_t *rows;
  int64_t n;
  const int32_t *cluster;
  const int64_t *weights;
  std::vector<int32_t> survivors;
  const Cost *costs;  // null: ties are settled by position
  bool one_sided;     // only cuts that are a threshold on the column
  std::vector<int32_t> slot;    // of every cluster among the survivors, -1
  std::vector<int64_t> total;   // by survivor

  void prepare() {
    slot.assign(table.k, -1);
    for (size_t s = 0; s < survivors.size(); ++s) slot[survivors[s]] = static_cast<int32_t>(s);
    total.assign(survivors.size(), 0);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t c = cluster[rows[i]];
      if (c >= 0) total[slot[c]] += weights ? weights[rows[i]] : 1;
    }
  }

  size_t width() const { return survivors.size(); }

  // The node's rows on one column.
  struct NodeColumn {
    std::vector<int32_t> place;  // of every item among those present, -1
    std::vector<int32_t> item;   // of every place
    // Survivors' weight at every place: entries begin[p] .. begin[p + 1] - 1.
    std::vector<int32_t> begin, of;
    std::vector<int64_t> weight;
  };

  NodeColumn gather(const FeatureColumn &column) const {
    const int32_t n_items = column.n_items();
    const size_t m = width();
    std::vector<int64_t> cells(n_items * m, 0);
    NodeColumn node;
    node.place.assign(n_items, -1);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t item = column.item[rows[i]], c = cluster[rows[i]];
      node.place[item] = 0;
      if (c >= 0) cells[item * m + slot[c]] += weights ? weights[rows[i]] : 1;
    }
    node.begin.push_back(0);
    for (int32_t item = 0; item < n_items; ++item) {
      if (node.place[item] < 0) continue;
      node.place[item] = static_cast<int32_t>(node.item.size());
      node.item.push_back(item);
      for (size_t s = 0; s < m; ++s) {
        if (cells[item * m + s] == 0) continue;
        node.of.push_back(static_cast<int32_t>(s));
        node.weight.push_back(cells[item * m + s]);
      }
      node.begin.push_back(static_cast<int32_t>(node.of.size()));
    }
    return node;
  }

  // Which places lie above the level, as runs that grow and join; the ends of a run know each other.
  class Runs {
   public:
    explicit Runs(int32_t n) : n_(n), stamp_(n, 0), start_of_(n), end_of_(n) {}
    void clear() {
      ++now_;
      n_inside_ = n_runs_ = 0;
      lowest_ = n_;
    }
    void add(int32_t p) {
      const bool left = p > 0 && stamp_[p - 1] == now_, right = p + 1 < n_ && stamp_[p + 1] == now_;
      const int32_t start = left ? start_of_[p - 1] : p, end = right ? end_of_[p + 1] : p;
      stamp_[p] = now_;
      end_of_[start] = end;
      start_of_[end] = start;
      n_runs_ += 1 - left - right;
      ++n_inside_;
      lowest_ = std::min(lowest_, p);
    }
    bool parts() const { return n_inside_ > 0 && n_inside_ < n_; }
    bool first_inside() const { return stamp_[0] == now_; }
    bool last_inside() const { return stamp_[n_ - 1] == now_; }
    bool is_threshold() const { return n_runs_ == 1 && (first_inside() || last_inside()); }
    bool is_interval() const { return n_runs_ == 1 || (n_runs_ == 2 && first_inside() && last_inside()); }
    // The side that is an interval; of a threshold's two, the one above the level.
    std::tuple<int32_t, int32_t, bool> interval() const {
      if (n_runs_ == 1) return {lowest_, end_of_[lowest_], true};
      return {end_of_[0] + 1, start_of_[n_ - 1] - 1, false};
    }

   private:
    int32_t n_;
    std::vector<uint32_t> stamp_;
    std::vector<int32_t> start_of_, end_of_;
    uint32_t now_ = 0;
    int32_t n_inside_ = 0, n_runs_ = 0, lowest_ = 0;
  };

  struct Walk {
    Runs runs;
    std::vector<int64_t> above;   // weight above the level, by survivor
    std::vector<uint8_t> passed;  // the survivor's center lies above the level
    struct Center {
      int32_t key, survivor;
      double value;
    };
    std::vector<Center> centers;
    size_t next = 0;  // how many of the centers lie above the level

    Walk(int32_t n_places, size_t m) : runs(n_places), above(m), passed(m) {}
  };

  // Every cut of one feature, from the highest level down: on_cut(mistakes, position). The walk holds the sides.
  template <class OnCut>
  void walk_feature(const FeatureColumn &column, const NodeColumn &node, int32_t feature, Walk &walk, OnCut &&on_cut) const {
    const int32_t n_items = column.n_items();
    const int64_t k = table.k;
    walk.centers.clear();
    for (int64_t r = feature * k; r < (feature + 1) * k; ++r) {
      const int32_t s = slot[column.center_order[r]];
      if (s >= 0) walk.centers.push_back({column.center_key[r], s, column.center[r]});
    }
    if (walk.centers.front().value == walk.centers.back().value) return;
    std::fill(walk.above.begin(), walk.above.end(), 0);
    std::fill(walk.passed.begin(), walk.passed.end(), 0);
    walk.runs.clear();
    const uint16_t *order = column.order.data() + static_cast<int64_t>(feature) * n_items;
    const uint8_t *ends_level = column.ends_level.data() + static_cast<int64_t>(feature) * n_items;
    int64_t mistakes = 0;
    size_t &next = walk.next = 0;
    auto pass = [&] {
      const int32_t s = walk.centers[next++].survivor;
      mistakes += total[s] - 2 * walk.above[s];
      walk.passed[s] = 1;
    };
    auto offer = [&](int32_t position) {
      if (next == 0 || !walk.runs.parts()) return;
      if (one_sided ? walk.runs.is_threshold() : walk.runs.is_interval()) on_cut(mistakes, position);
    };
    bool moved = false;
    auto pass_between = [&](int32_t p) {  // centers below the p-th item and above the next one, level by level
      while (next < walk.centers.size() && walk.centers[next].key == 2 * p + 1) {
        const double value = walk.centers[next].value;
        while (next < walk.centers.size() && walk.centers[next].key == 2 * p + 1 && walk.centers[next].value == value) pass();
        if (next < walk.centers.size()) offer(p);
      }
    };
    pass_between(0);
    for (int32_t p = 1; p <= n_items && next < walk.centers.size(); ++p) {
      const int32_t place = node.place[order[p - 1]];
      if (place >= 0) {
        moved = true;
        walk.runs.add(place);
        for (int32_t e = node.begin[place]; e < node.begin[place + 1]; ++e) {
          const int32_t s = node.of[e];
          walk.above[s] += node.weight[e];
          mistakes += walk.passed[s] ? -node.weight[e] : node.weight[e];
        }
      }
      if (!ends_level[p - 1]) continue;
      for (; next < walk.centers.size() && walk.centers[next].key == 2 * p; moved = true) pass();
      if (next == walk.centers.size()) break;
      if (moved) offer(p);
      moved = false;
      pass_between(p);
    }
  }

  FeatureCut take(int64_t mistakes, int32_t f, int32_t feature, int32_t position, const Walk &walk) const {
    FeatureCut cut;
    cut.mistakes = mistakes;
    cut.column = f;
    cut.feature = feature;
    cut.position = position;
    cut.n_above = static_cast<int32_t>(walk.next);
    std::tie(cut.first, cut.last, cut.above_is_interval) = walk.runs.interval();
    return cut;
  }

  struct Result {
    FeatureCut cut;
    std::vector<int32_t> left;  // the survivors inside the interval
    double lower = -std::numeric_limits<double>::infinity(), upper = 0.0;
  };

  // A column's best cut by position, and the fewest mistakes of every feature.
  FeatureCut look(int32_t f, std::vector<int64_t> &fewest) const {
    const FeatureColumn &column = table.columns[f];
    const NodeColumn node = gather(column);
    FeatureCut best;
    fewest.assign(column.n_features, kNone);
    if (node.item.size() < 2) return best;
    Walk walk(static_cast<int32_t>(node.item.size()), width());
    for (int32_t feature = 0; feature < column.n_features; ++feature)
      walk_feature(column, node, feature, walk, [&](int64_t mistakes, int32_t position) {
        fewest[feature] = std::min(fewest[feature], mistakes);
        // Levels fall along the walk: of equals in one feature the last is wanted, of several features the first.
        if (mistakes < best.mistakes || (mistakes == best.mistakes && feature == best.feature))
          best = take(mistakes, f, feature, position, walk);
      });
    return best;
  }

  // Of a column's cuts with the fewest mistakes, the one whose sides cost least, each served by its best center.
  FeatureCut settle(int32_t f, int64_t mistakes_wanted, const std::vector<int64_t> &fewest) const {
    const FeatureColumn &column = table.columns[f];
    const NodeColumn node = gather(column);
    const size_t m = width();
    const int32_t n_places = static_cast<int32_t>(node.item.size());
    std::vector<int64_t> sums((n_places + 1) * m, 0);
    for (int64_t i = 0; i < n; ++i) {
      int64_t *cell = sums.data() + (node.place[column.item[rows[i]]] + 1) * m;
      const Cost *cost = costs + static_cast<int64_t>(rows[i]) * table.k;
      for (size_t s = 0; s < m; ++s) cell[s] += cost[survivors[s]];
    }
    for (size_t e = m; e < sums.size(); ++e) sums[e] += sums[e - m];
    const int64_t *all = sums.data() + n_places * m;
    FeatureCut best;
    Walk walk(n_places, m);
    for (int32_t feature = 0; feature < column.n_features; ++feature) {
      if (fewest[feature] != mistakes_wanted) continue;
      walk_feature(column, node, feature, walk, [&](int64_t mistakes, int32_t position) {
        if (mistakes != mistakes_wanted) return;
        FeatureCut cut = take(mistakes, f, feature, position, walk);
        const int64_t *from = sums.data() + cut.first * m, *to = sums.data() + (cut.last + 1) * m;
        int64_t least_above = kNone, least_below = kNone;
        for (size_t s = 0; s < m; ++s) {
          const int64_t in = to[s] - from[s], above = cut.above_is_interval ? in : all[s] - in;
          if (walk.passed[s])
            least_above = std::min(least_above, above);
          else
            least_below = std::min(least_below, all[s] - above);
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
    const FeatureColumn &column = table.columns[cut.column];
    const NodeColumn node = gather(column);
    const int32_t n_places = static_cast<int32_t>(node.item.size());
    // A cut whose interval reaches to the last value is the threshold before it, and its left side the other one.
    const bool to_the_end = cut.last == n_places - 1;
    const bool left_is_above = cut.above_is_interval != to_the_end;
    if (!to_the_end && cut.first > 0) result.lower = column.high[node.item[cut.first - 1]];
    result.upper = column.high[node.item[to_the_end ? cut.first - 1 : cut.last]];
    std::vector<uint8_t> above(table.k, 0);
    int32_t n_above = 0;
    for (int64_t r = cut.feature * table.k; n_above < cut.n_above; ++r) {
      const int32_t c = column.center_order[r];
      if (slot[c] < 0) continue;
      above[c] = 1;
      ++n_above;
    }
    for (int32_t c : survivors)
      if ((above[c] != 0) == left_is_above) result.left.push_back(c);
    return result;
  }

  Result run(int n_jobs) {
    prepare();
    const int32_t d = table.n_cols();
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

void FeatureTable::add_features(int32_t f, const double *values, int32_t n_features) {
  FeatureColumn &column = columns[f];
  const int32_t n_items = column.n_items();
  const int64_t begin = column.n_features;
  column.n_features += n_features;
  column.order.resize(static_cast<size_t>(column.n_features) * n_items);
  column.ends_level.resize(column.order.size());
  column.center.resize(static_cast<size_t>(column.n_features) * k);
  column.center_order.resize(column.center.size());
  column.center_key.resize(column.center.size());
  std::vector<double> share(static_cast<size_t>(n_items) * k), total(k, 0.0), center(k);
  for (int32_t i = 0; i < n_items; ++i)
    for (int64_t c = 0; c < k; ++c) total[c] += static_cast<double>(column.weight[i * k + c]);
  for (size_t e = 0; e < share.size(); ++e) share[e] = static_cast<double>(column.weight[e]);
  for (int32_t j = 0; j < n_features; ++j) {
    const double *value = values + static_cast<int64_t>(j) * n_items;
    uint16_t *order = column.order.data() + (begin + j) * n_items;
    uint8_t *ends_level = column.ends_level.data() + (begin + j) * n_items;
    order_items(value, n_items, order);
    for (int32_t p = 0; p < n_items; ++p) ends_level[p] = p + 1 == n_items || value[order[p]] != value[order[p + 1]];
    std::fill(center.begin(), center.end(), 0.0);
    for (int32_t i = 0; i < n_items; ++i)
      for (int64_t c = 0; c < k; ++c) center[c] += value[i] * share[i * k + c];
    for (int64_t c = 0; c < k; ++c) center[c] = total[c] > 0.0 ? center[c] / total[c] : 0.0;
    int32_t *rank = column.center_order.data() + (begin + j) * k;
    std::iota(rank, rank + k, 0);
    std::stable_sort(rank, rank + k, [&](int32_t a, int32_t b) { return center[a] > center[b]; });
    for (int64_t r = 0; r < k; ++r) {
      const double level = center[rank[r]];
      // The items at or above the center; it moves with the last of them if that one is equal to it.
      const int32_t p = static_cast<int32_t>(
          std::partition_point(order, order + n_items, [&](uint16_t item) { return value[item] >= level; }) - order);
      const bool with_item = p > 0 && value[order[p - 1]] == level;
      column.center[(begin + j) * k + r] = level;
      column.center_key[(begin + j) * k + r] = with_item ? 2 * p : 2 * p + 1;
    }
  }
}

}  // namespace cutwise

using namespace cutwise;

void bind_feature_cuts(nb::module_ &m) {
  nb::class_<FeatureTable>(m, "FeatureTable", "Surrogate features of every column, ready for cuts.")
      .def_ro("n_rows", &FeatureTable::n_rows)
      .def_ro("n_clusters", &FeatureTable::k)
      .def_prop_ro("n_cols", &FeatureTable::n_cols)
      .def(
          "values",
          [](const FeatureTable &table, int32_t column) {
            require(column >= 0 && column < table.n_cols(), "a column of the table");
            std::vector<double> middle = table.columns[column].middle;
            return to_numpy(std::move(middle));
          },
          nb::arg("column"))
      .def(
          "is_exact",
          [](const FeatureTable &table, int32_t column) {
            require(column >= 0 && column < table.n_cols(), "a column of the table");
            return table.columns[column].exact;
          },
          nb::arg("column"))
      .def(
          "add_features",
          [](FeatureTable &table, int32_t column, In2<double> values) {
            require(column >= 0 && column < table.n_cols(), "a column of the table");
            require(static_cast<int32_t>(values.shape(1)) == table.columns[column].n_items(),
                    "one value of every feature for each of the column's values");
            const size_t n = values.shape(0) * values.shape(1);
            require(std::all_of(values.data(), values.data() + n, [](double v) { return std::isfinite(v); }),
                    "features are finite");
            nb::gil_scoped_release release;
            table.add_features(column, values.data(), static_cast<int32_t>(values.shape(0)));
          },
          nb::arg("column"), nb::arg("values"));
  m.def(
      "feature_table",
      [](const Ranks &ranks, In1<int32_t> labels, std::optional<In1<int64_t>> weights, int64_t k, int n_jobs) {
        require(static_cast<int64_t>(labels.size()) == ranks.n_rows, "labels has one entry per row");
        require(!weights || static_cast<int64_t>(weights->size()) == ranks.n_rows, "weights has one entry per row");
        for (size_t i = 0; i < labels.size(); ++i)
          require(labels.data()[i] >= 0 && labels.data()[i] < k, "labels are 0 to k - 1");
        nb::gil_scoped_release release;
        return make_table(ranks, labels.data(), weights ? weights->data() : nullptr, k, n_jobs);
      },
      nb::arg("ranks"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("k"), nb::arg("n_jobs"));

  auto for_costs = [&](auto zero) {
    using Cost = decltype(zero);
    m.def(
        "fewest_feature_mistakes",
        [](const FeatureTable &table, In1<int32_t> rows, In1<int32_t> cluster, std::optional<In1<int64_t>> weights,
           In1<int32_t> survivors, std::optional<In2<Cost>> costs, bool one_sided, int n_jobs) -> nb::object {
          require(static_cast<int64_t>(cluster.size()) == table.n_rows, "cluster has one entry per row");
          require(!weights || static_cast<int64_t>(weights->size()) == table.n_rows, "weights has one entry per row");
          require(!costs || (static_cast<int64_t>(costs->shape(0)) == table.n_rows &&
                             static_cast<int64_t>(costs->shape(1)) == table.k),
                  "costs has one line per row and one column per cluster");
          FeatureSearch<Cost> search{table,
                                     rows.data(),
                                     static_cast<int64_t>(rows.size()),
                                     cluster.data(),
                                     weights ? weights->data() : nullptr,
                                     std::vector<int32_t>(survivors.data(), survivors.data() + survivors.size()),
                                     costs ? costs->data() : nullptr,
                                     one_sided,
                                     {},
                                     {}};
          typename FeatureSearch<Cost>::Result found;
          {
            nb::gil_scoped_release release;
            found = search.run(n_jobs);
          }
          if (found.cut.column < 0) return nb::none();
          return nb::make_tuple(found.cut.mistakes, found.cut.column, found.cut.feature, found.lower, found.upper,
                                to_numpy(std::move(found.left)));
        },
        nb::arg("table"), nb::arg("rows"), nb::arg("cluster"), nb::arg("weights").none(), nb::arg("survivors"),
        nb::arg("costs").noconvert().none(), nb::arg("one_sided"), nb::arg("n_jobs"));
  };
  for_costs(int32_t{});
  for_costs(int64_t{});
}
