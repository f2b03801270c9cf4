// Kernel IMM's search: the cut of a surrogate feature that parts the fewest rows from their centers.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1. A feature is a function of one column; its cut at a level parts
// the column's values into those above and those below. A cut counts where one of the two sides is an interval of the
// node's values, so that a tree can test it on the column itself: always for monotone and unimodal features.
#include "cuts/feature_cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include <nanobind/stl/optional.h>

#include "base/arrays.hpp"
#include "base/parallel.hpp"

namespace cutwise {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
constexpr int32_t kExactValues = 1000;
constexpr int32_t kGroups = 512;

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

// The highest item of values that rise up to it and fall from there on; -1 where they do neither.
int32_t top_of(const double *values, int32_t n) {
  const int32_t top = static_cast<int32_t>(std::max_element(values, values + n) - values);
  for (int32_t i = 1; i < n; ++i)
    if (i <= top ? values[i - 1] > values[i] : values[i - 1] < values[i]) return -1;
  return top;
}

struct FeatureCut {
  int64_t mistakes = kNone, cost = kNone;
  int32_t column = -1, feature = -1;
  double level = 0.0;
  int32_t n_above = 0;  // surviving centers above the level: the first of the feature's order
  int32_t first = -1, last = -1;  // the interval, in places among the node's items
  bool above_is_interval = true;  // which side of the level it is: above, or at and below

  // Ties: the lowest column, the lowest feature, the lowest level, the most centers above it.
  auto rank() const { return std::make_tuple(mistakes, cost, column, feature, level, -n_above); }
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
  bool any_level;     // all levels between two values, not only the middle: centers between them may be parted too
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
    std::vector<uint8_t> held;   // a survivor holds a row at the place
    bool all_held = true;        // so it is everywhere
    std::vector<int64_t> sums;   // (n_places + 1, survivors): their weight before every place
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
    for (int32_t item = 0; item < n_items; ++item) {
      if (node.place[item] < 0) continue;
      node.place[item] = static_cast<int32_t>(node.item.size());
      node.item.push_back(item);
    }
    const size_t n_places = node.item.size();
    node.held.assign(n_places, 0);
    node.sums.assign((n_places + 1) * m, 0);
    for (size_t p = 0; p < n_places; ++p) {
      const int64_t *cell = cells.data() + node.item[p] * m;
      for (size_t s = 0; s < m; ++s) {
        node.held[p] |= cell[s] != 0;
        node.sums[(p + 1) * m + s] = node.sums[p * m + s] + cell[s];
      }
      node.all_held = node.all_held && node.held[p] != 0;
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
    struct Place {
      double value;
      int32_t place;
    };
    struct Center {
      double value;
      int32_t survivor;
    };
    Runs runs;
    std::vector<Place> places;    // from the highest to the lowest
    std::vector<double> values;   // of the feature at every place
    std::vector<Center> centers;  // likewise
    std::vector<int64_t> passed;  // by survivor: whether its center lies above the level
    size_t n_above = 0;           // how many do
    int64_t mistakes = 0;
    int32_t first = 0, last = 0;  // the side that is an interval
    bool above_is_interval = true;

    Walk(int32_t n_places, size_t m) : runs(n_places), passed(m) {}
  };

  void line_up_centers(const FeatureColumn &column, int32_t feature, Walk &walk) const {
    walk.centers.clear();
    for (int64_t r = feature * table.k; r < (feature + 1) * table.k; ++r) {
      const int32_t s = slot[column.center_order[r]];
      if (s >= 0) walk.centers.push_back({column.center[r], s});
    }
  }

  // The same walk where a feature rises and falls once and every place is held: what lies above a level is one span of
  // places, and none has to be put in order.
  template <class OnCut>
  void walk_span(const FeatureColumn &column, const NodeColumn &node, int32_t feature, Walk &walk, OnCut &&on_cut) const {
    const auto &centers = walk.centers;
    const int32_t n_places = static_cast<int32_t>(node.item.size());
    const double *value = column.value.data() + static_cast<int64_t>(feature) * column.n_items();
    int32_t right = column.top[feature];
    if (n_places < column.n_items()) {
      walk.values.resize(n_places);
      for (int32_t p = 0; p < n_places; ++p) walk.values[p] = value[node.item[p]];
      value = walk.values.data();
      right = static_cast<int32_t>(std::lower_bound(node.item.begin(), node.item.end(), right) - node.item.begin());
    }
    std::fill(walk.passed.begin(), walk.passed.end(), 0);
    walk.n_above = 0;
    int32_t left = right - 1;  // the span lies between the two
    double above = 0.0;
    for (bool first = true;; first = false) {
      if (left < 0 && right >= n_places) return;
      const double below = left < 0 ? value[right] : right >= n_places ? value[left] : std::max(value[left], value[right]);
      if (!first) {
        const double middle = above / 2 + below / 2;
        while (walk.n_above < centers.size() && centers[walk.n_above].value > middle)
          walk.passed[centers[walk.n_above++].survivor] = 1;
        if (walk.n_above == centers.size()) return;
        if (walk.n_above > 0 && (!one_sided || left < 0 || right >= n_places)) {
          walk.first = left + 1;
          walk.last = right - 1;
          walk.above_is_interval = true;
          walk.mistakes = count_mistakes(node, walk);
          on_cut(middle);
        }
      }
      while (left >= 0 && value[left] >= below) --left;
      while (right < n_places && value[right] >= below) ++right;
      above = below;
    }
  }

  // The node's places in the order of one feature.
  void line_up_places(const FeatureColumn &column, const NodeColumn &node, int32_t feature, Walk &walk) const {
    const int32_t n_places = static_cast<int32_t>(node.item.size());
    const double *value = column.value.data() + static_cast<int64_t>(feature) * column.n_items();
    walk.places.clear();
    if (column.top[feature] >= 0) {
      int32_t right = static_cast<int32_t>(std::lower_bound(node.item.begin(), node.item.end(), column.top[feature]) -
                                           node.item.begin());
      int32_t left = right - 1;
      while (left >= 0 || right < n_places) {
        const bool go_left = right >= n_places || (left >= 0 && value[node.item[left]] >= value[node.item[right]]);
        const int32_t place = go_left ? left-- : right++;
        walk.places.push_back({value[node.item[place]], place});
      }
    } else {
      for (uint16_t item : column.order[feature])
        if (node.place[item] >= 0) walk.places.push_back({value[item], node.place[item]});
    }
  }

  // Every cut of one feature, from the highest level down: on_cut(level). The walk holds the sides. Levels lie between
  // neighboring values of the rows that a center holds; the other rows of the node go where their value is.
  template <class OnCut>
  void walk_feature(const FeatureColumn &column, const NodeColumn &node, int32_t feature, Walk &walk, OnCut &&on_cut) const {
    line_up_centers(column, feature, walk);
    const auto &centers = walk.centers;
    if (centers.front().value == centers.back().value) return;
    if (column.top[feature] >= 0 && node.all_held && !any_level) return walk_span(column, node, feature, walk, on_cut);
    line_up_places(column, node, feature, walk);
    std::fill(walk.passed.begin(), walk.passed.end(), 0);
    walk.runs.clear();
    walk.n_above = 0;
    auto pass_center = [&] { walk.passed[centers[walk.n_above++].survivor] = 1; };
    auto offer = [&](double level) {
      if (walk.n_above == 0 || walk.n_above == centers.size() || !walk.runs.parts()) return;
      if (!(one_sided ? walk.runs.is_threshold() : walk.runs.is_interval())) return;
      std::tie(walk.first, walk.last, walk.above_is_interval) = walk.runs.interval();
      walk.mistakes = count_mistakes(node, walk);
      on_cut(level);
    };
    auto is_held = [&](const typename Walk::Place &p) { return node.held[p.place] != 0; };
    size_t added = 0;  // places above the level
    for (size_t next = 0;;) {
      while (next < walk.places.size() && !is_held(walk.places[next])) ++next;
      if (next == walk.places.size()) return;
      const double below = walk.places[next].value;
      if (added > 0) {  // a held value lies above this one
        const double above = walk.places[added - 1].value, middle = above / 2 + below / 2;
        auto pass_until = [&](double level) {
          while (added < next && walk.places[added].value > level) walk.runs.add(walk.places[added++].place);
          while (walk.n_above < centers.size() && centers[walk.n_above].value > level) pass_center();
        };
        if (!any_level) {
          pass_until(middle);
          if (walk.n_above == centers.size()) return;
          offer(middle);
        } else {
          // Centers equal to a value go with it; those between the two are parted at each of their coordinates.
          pass_until(std::nextafter(above, below));
          offer(above);
          while (walk.n_above < centers.size() && centers[walk.n_above].value > below) {
            const double level = centers[walk.n_above].value;
            pass_until(std::nextafter(level, below));
            offer(level);
          }
          if (walk.n_above == centers.size()) return;
        }
      }
      // Everything down to this value and at it.
      while (added < walk.places.size() && walk.places[added].value >= below) walk.runs.add(walk.places[added++].place);
      next = added;
    }
  }

  int64_t count_mistakes(const NodeColumn &node, const Walk &walk) const {
    const size_t m = width();
    const int64_t *from = node.sums.data() + walk.first * m, *to = node.sums.data() + (walk.last + 1) * m;
    int64_t mistakes = 0;
    for (size_t s = 0; s < m; ++s) {
      const int64_t inside = to[s] - from[s], outside = total[s] - inside;
      mistakes += (walk.passed[s] != 0) == walk.above_is_interval ? outside : inside;
    }
    return mistakes;
  }

  FeatureCut take(int32_t f, int32_t feature, double level, const Walk &walk) const {
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
    const FeatureColumn &column = table.columns[f];
    FeatureCut best;
    if (column.n_features == 0) return best;
    const NodeColumn node = gather(column);
    fewest.assign(column.n_features, kNone);
    if (node.item.size() < 2) return best;
    Walk walk(static_cast<int32_t>(node.item.size()), width());
    for (int32_t feature = 0; feature < column.n_features; ++feature)
      walk_feature(column, node, feature, walk, [&](double level) {
        fewest[feature] = std::min(fewest[feature], walk.mistakes);
        // Levels fall along the walk: of equals in one feature the last is wanted, of several features the first.
        if (walk.mistakes < best.mistakes || (walk.mistakes == best.mistakes && feature == best.feature))
          best = take(f, feature, level, walk);
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
      walk_feature(column, node, feature, walk, [&](double level) {
        if (walk.mistakes != mistakes_wanted) return;
        FeatureCut cut = take(f, feature, level, walk);
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

void FeatureTable::drop_features(int32_t f) {
  FeatureColumn &column = columns[f];
  column.n_features = 0;
  column.value = {};
  column.center = {};
  column.center_order = {};
  column.top = {};
  column.order = {};
}

void FeatureTable::add_features(int32_t f, const double *values, int32_t n_features) {
  FeatureColumn &column = columns[f];
  const int32_t n_items = column.n_items();
  column.value.insert(column.value.end(), values, values + static_cast<int64_t>(n_features) * n_items);
  std::vector<double> share(column.weight.begin(), column.weight.end()), total(k, 0.0), center(k);
  for (int32_t i = 0; i < n_items; ++i)
    for (int64_t c = 0; c < k; ++c) total[c] += share[i * k + c];
  std::vector<int32_t> rank(k);
  for (int32_t j = 0; j < n_features; ++j) {
    const double *value = values + static_cast<int64_t>(j) * n_items;
    const int32_t top = top_of(value, n_items);
    column.top.push_back(top);
    column.order.emplace_back();
    if (top < 0) {
      std::vector<uint16_t> &order = column.order.back();
      order.resize(n_items);
      std::iota(order.begin(), order.end(), static_cast<uint16_t>(0));
      std::stable_sort(order.begin(), order.end(), [&](uint16_t a, uint16_t b) { return value[a] > value[b]; });
    }
    std::fill(center.begin(), center.end(), 0.0);
    for (int32_t i = 0; i < n_items; ++i)
      for (int64_t c = 0; c < k; ++c) center[c] += value[i] * share[i * k + c];
    for (int64_t c = 0; c < k; ++c) center[c] = total[c] > 0.0 ? center[c] / total[c] : 0.0;
    std::iota(rank.begin(), rank.end(), 0);
    std::stable_sort(rank.begin(), rank.end(), [&](int32_t a, int32_t b) { return center[a] > center[b]; });
    for (int32_t c : rank) {
      column.center.push_back(center[c]);
      column.center_order.push_back(c);
    }
  }
  column.n_features += n_features;
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
          nb::arg("column"), nb::arg("values"))
      .def(
          "drop_features",
          [](FeatureTable &table, int32_t column) {
            require(column >= 0 && column < table.n_cols(), "a column of the table");
            table.drop_features(column);
          },
          nb::arg("column"));
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
           In1<int32_t> survivors, std::optional<In2<Cost>> costs, bool one_sided, bool any_level,
           int n_jobs) -> nb::object {
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
                                     any_level,
                                     {},
                                     {}};
          typename FeatureSearch<Cost>::Result found;
          {
            nb::gil_scoped_release release;
            found = search.run(n_jobs);
          }
          if (found.cut.column < 0) return nb::none();
          return nb::make_tuple(found.cut.mistakes, costs ? found.cut.cost : 0, found.cut.column, found.cut.feature,
                                found.lower, found.upper, to_numpy(std::move(found.left)));
        },
        nb::arg("table"), nb::arg("rows"), nb::arg("cluster"), nb::arg("weights").none(), nb::arg("survivors"),
        nb::arg("costs").noconvert().none(), nb::arg("one_sided"), nb::arg("any_level"), nb::arg("n_jobs"));
  };
  for_costs(int32_t{});
  for_costs(int64_t{});
}
