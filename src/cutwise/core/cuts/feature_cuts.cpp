// Kernel IMM's search: the cut of a surrogate feature that separates the fewest rows from their centers.
//
// Fleissner, Vankadara, Ghoshdastidar (2024), Algorithm 1. A feature is a function of one column, and a cut at a level
// separates the column's values whose feature is above the level from the others. Only cuts count of which one side is an
// interval of the node's values, so that a tree can test it on the column itself; for monotone and unimodal features all cuts
// do.
//
// The *items* of a column are its distinct values, or groups of neighboring ones. The *positions* of a node in a column number,
// in order, the items that its rows have. A level separates the positions whose feature is above it from the others, and a cut
// is reported where one of the two sides is an interval of positions.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "nodes/node.hpp"
#include "nodes/ranks.hpp"

namespace cutwise {
namespace {

constexpr int32_t kExactUnits = 1000;
constexpr int32_t kUnitGroups = 512;

// One column and its features.
struct FeatureColumn {
  std::vector<double> low, high, middle;  // by item: its least, largest and median value
  bool exact = true;                      // whether every item is one value
  std::vector<uint16_t> item;             // by row
  std::vector<int64_t> weight;            // (n_items, k): weight of the rows of every reference cluster

  int32_t n_features = 0;
  std::vector<double> value;                 // (n_features, n_items): the features at the median values
  std::vector<double> center;                // (n_features, k): the centers' coordinates, from the highest to the lowest
  std::vector<int32_t> center_order;         // (n_features, k): the clusters in that order
  std::vector<std::vector<uint16_t>> order;  // by feature: all items from the highest to the lowest

  int32_t n_items() const { return static_cast<int32_t>(low.size()); }
};

struct FeatureTable {
  int64_t n_rows = 0, k = 0;
  std::vector<FeatureColumn> columns;

  int32_t n_cols() const { return static_cast<int32_t>(columns.size()); }
  FeatureColumn &at(int32_t column) {
    require(column >= 0 && column < n_cols(), "a column of the table");
    return columns[column];
  }
  // values: (n_features, n_items), finite: the features of a column at the median values of its items.
  void add_features(int32_t column, const double *values, int32_t n_features);
  void drop_features(int32_t column);
};

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
    std::vector<int64_t> first;
    if (n_units <= kExactUnits) {
      first.resize(n_units + 1);
      std::iota(first.begin(), first.end(), 0);
    } else {
      first = group_by_mass(mass, kUnitGroups);
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

void FeatureTable::drop_features(int32_t f) {
  FeatureColumn &column = at(f);
  column.n_features = 0;
  column.value = {};
  column.center = {};
  column.center_order = {};
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
    std::vector<uint16_t> &order = column.order.emplace_back(n_items);
    std::iota(order.begin(), order.end(), static_cast<uint16_t>(0));
    std::stable_sort(order.begin(), order.end(), [&](uint16_t a, uint16_t b) { return value[a] > value[b]; });
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

struct FeatureNode {
  const FeatureTable &table;
  const int32_t *rows;
  int64_t n;
  const int32_t *cluster;           // by row: the surviving cluster that it is assigned to, -1 for none
  const int64_t *weights;           // by row, null: 1 each
  std::vector<int32_t> survivors;   // increasing
  std::vector<int32_t> slot = {};   // by cluster: its index among the survivors, -1
  std::vector<int64_t> total = {};  // weight by survivor

  int64_t weight_of(int32_t row) const { return weights ? weights[row] : 1; }
  size_t width() const { return survivors.size(); }

  void prepare() {
    slot.assign(table.k, -1);
    for (size_t s = 0; s < survivors.size(); ++s) slot[survivors[s]] = static_cast<int32_t>(s);
    total.assign(survivors.size(), 0);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t c = cluster[rows[i]];
      if (c >= 0) total[slot[c]] += weight_of(rows[i]);
    }
  }
};

// The items of one column that the node's rows have.
struct PresentItems {
  struct Cell {
    int32_t survivor;
    int64_t weight;
  };
  std::vector<int32_t> position;  // by item, -1 where no row has it
  std::vector<int32_t> item;      // by position

  int32_t size() const { return static_cast<int32_t>(item.size()); }

  PresentItems(const FeatureNode &node, const FeatureColumn &column) {
    const int32_t n_items = column.n_items();
    const size_t m = node.width();
    std::vector<int64_t> sums(n_items * m, 0);
    position.assign(n_items, -1);
    for (int64_t i = 0; i < node.n; ++i) {
      const int32_t row = node.rows[i], at = column.item[row], c = node.cluster[row];
      position[at] = 0;
      if (c >= 0) sums[at * m + node.slot[c]] += node.weight_of(row);
    }
    for (int32_t i = 0; i < n_items; ++i) {
      if (position[i] < 0) continue;
      position[i] = size();
      item.push_back(i);
      first_.push_back(cells_.size());
      for (size_t s = 0; s < m; ++s)
        if (sums[i * m + s] != 0) cells_.push_back({static_cast<int32_t>(s), sums[i * m + s]});
    }
    first_.push_back(cells_.size());
  }

  // The weights of a position by survivor; none where its rows are assigned to no survivor.
  const Cell *begin(int32_t p) const { return cells_.data() + first_[p]; }
  const Cell *end(int32_t p) const { return cells_.data() + first_[p + 1]; }
  bool is_occupied(int32_t p) const { return first_[p] < first_[p + 1]; }

 private:
  std::vector<Cell> cells_;
  std::vector<size_t> first_;  // by position
};

// The set of positions above the level, as runs of neighboring positions. The two ends of a run refer to each other, so that a
// position is added in constant time.
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
  bool separates() const { return n_inside_ > 0 && n_inside_ < n_; }
  bool first_inside() const { return stamp_[0] == now_; }
  bool last_inside() const { return stamp_[n_ - 1] == now_; }
  bool is_threshold() const { return n_runs_ == 1 && (first_inside() || last_inside()); }
  bool is_interval() const { return n_runs_ == 1 || (n_runs_ == 2 && first_inside() && last_inside()); }
  // The first and last position of the side that is an interval, and whether that is the side above the level, as it is for a
  // threshold, both of whose sides are intervals.
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

// Which cuts count.
struct CutsWanted {
  bool one_sided;  // only cuts that are a threshold on the column
  bool any_level;  // all levels between two values and not only the middle, so that centers between them are separated too
};

class FeatureWalk {
 public:
  FeatureWalk(const FeatureNode &node, const FeatureColumn &column, const PresentItems &items, CutsWanted wanted)
      : node_(node), column_(column), items_(items), wanted_(wanted), survivors_(node.width()), runs_(items.size()) {}

  // The current cut.
  size_t n_above = 0;  // the number of centers above the level
  int64_t mistakes = 0;
  int32_t first = 0, last = 0;  // the side that is an interval, in positions
  bool above_is_interval = true;

  // Calls on_cut(level) for every cut of one feature. Levels lie between neighboring values of the rows that are assigned to a
  // survivor; the other rows are on the side of their value.
  template <class OnCut>
  void each_cut(int32_t feature, OnCut &&on_cut) {
    line_up_centers(feature);
    if (centers_.front().value == centers_.back().value) return;
    std::fill(survivors_.begin(), survivors_.end(), Survivor{});
    n_above = 0;
    mistakes = 0;
    line_up_positions(feature);
    runs_.clear();
    size_t added = 0;  // positions above the level
    for (size_t next = 0;;) {
      while (next < line_.size() && !items_.is_occupied(line_[next].position)) ++next;
      if (next == line_.size()) return;
      const double below = line_[next].value;
      if (added > 0) {  // an occupied value lies above this one
        const double above = line_[added - 1].value;
        auto pass_until = [&](double level) {
          while (added < next && line_[added].value > level) add(line_[added++].position);
          pass_centers(level);
        };
        if (!wanted_.any_level) {
          const double middle = above / 2 + below / 2;
          pass_until(middle);
          if (n_above == centers_.size()) return;
          offer(middle, on_cut);
        } else {
          // Centers equal to a value are on its side; between the two values there is a cut at every center's coordinate.
          pass_until(std::nextafter(above, below));
          offer(above, on_cut);
          while (n_above < centers_.size() && centers_[n_above].value > below) {
            const double level = centers_[n_above].value;
            pass_until(std::nextafter(level, below));
            offer(level, on_cut);
          }
          if (n_above == centers_.size()) return;
        }
      }
      // Adds everything down to this value, and the value itself.
      while (added < line_.size() && line_[added].value >= below) add(line_[added++].position);
      next = added;
    }
  }

 private:
  struct Position {
    double value;
    int32_t position;
  };
  struct Center {
    double value;
    int32_t survivor;
  };
  struct Survivor {
    int64_t above = 0;    // weight of its rows above the level
    int64_t mistake = 1;  // what a row of it adds to the mistakes above the level: -1 where its center is there too
  };

  void line_up_centers(int32_t feature) {
    const int64_t k = node_.table.k;
    centers_.clear();
    for (int64_t r = feature * k; r < (feature + 1) * k; ++r) {
      const int32_t s = node_.slot[column_.center_order[r]];
      if (s >= 0) centers_.push_back({column_.center[r], s});
    }
  }

  // Fills line_ with the positions in the order of one feature.
  void line_up_positions(int32_t feature) {
    const double *value = column_.value.data() + static_cast<int64_t>(feature) * column_.n_items();
    line_.clear();
    for (uint16_t item : column_.order[feature])
      if (items_.position[item] >= 0) line_.push_back({value[item], items_.position[item]});
  }

  void pass_centers(double level) {
    for (; n_above < centers_.size() && centers_[n_above].value > level; ++n_above) {
      Survivor &survivor = survivors_[centers_[n_above].survivor];
      survivor.mistake = -1;
      mistakes += node_.total[centers_[n_above].survivor] - 2 * survivor.above;
    }
  }

  void add(int32_t position) {
    runs_.add(position);
    int64_t more = 0;
    for (const auto *cell = items_.begin(position), *end = items_.end(position); cell != end; ++cell) {
      Survivor &survivor = survivors_[cell->survivor];
      survivor.above += cell->weight;
      more += survivor.mistake * cell->weight;
    }
    mistakes += more;
  }

  template <class OnCut>
  void offer(double level, OnCut &&on_cut) {
    if (n_above == 0 || n_above == centers_.size() || !runs_.separates()) return;
    if (!(wanted_.one_sided ? runs_.is_threshold() : runs_.is_interval())) return;
    std::tie(first, last, above_is_interval) = runs_.interval();
    on_cut(level);
  }

  const FeatureNode &node_;
  const FeatureColumn &column_;
  const PresentItems &items_;
  const CutsWanted wanted_;
  std::vector<Survivor> survivors_;
  Runs runs_;
  std::vector<Position> line_;   // from the highest to the lowest
  std::vector<Center> centers_;  // likewise
};

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

using FoundFeatureCut = std::optional<std::tuple<int64_t, int32_t, int32_t, double, double, Owned<int32_t, 1>>>;

FoundFeatureCut fewest_feature_mistakes(const FeatureTable &table, In1<int32_t> rows, In1<int32_t> cluster,
                                        const Weights &weights, In1<int32_t> survivors, bool one_sided, bool any_level,
                                        int n_jobs) {
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
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_feature_cuts(nb::module_ &m) {
  nb::class_<FeatureTable>(m, "FeatureTable", R"(The surrogate features of every column, for fewest_feature_mistakes.

values(column): the values at which features have to be computed, increasing: all distinct values of the column if there are at
most 1,000, so that is_exact(column) is true, and otherwise the medians of 512 or more groups of equal weight.
add_features(column, values): adds features, (n_features, n_values). drop_features(column): frees their memory.)")
      .def_prop_ro("n_cols", &FeatureTable::n_cols)
      .def(
          "values", [](FeatureTable &table, int32_t column) { return to_numpy(std::vector<double>(table.at(column).middle)); },
          "column"_a)
      .def(
          "is_exact", [](FeatureTable &table, int32_t column) { return table.at(column).exact; }, "column"_a)
      .def(
          "add_features",
          [](FeatureTable &table, int32_t column, In2<double> values) {
            require(static_cast<int32_t>(values.shape(1)) == table.at(column).n_items(),
                    "one value of every feature for each of the column's values");
            const size_t n = values.shape(0) * values.shape(1);
            require(std::all_of(values.data(), values.data() + n, [](double v) { return std::isfinite(v); }),
                    "features are finite");
            const GilRelease release;
            table.add_features(column, values.data(), static_cast<int32_t>(values.shape(0)));
          },
          "column"_a, "values"_a)
      .def("drop_features", &FeatureTable::drop_features, "column"_a);
  m.def(
      "feature_table",
      [](const Ranks &ranks, In1<int32_t> labels, const Weights &weights, int64_t k, int n_jobs) {
        require(has_shape(labels, ranks.n_rows), "labels has one entry per row");
        const int64_t *weight = checked(weights, ranks.n_rows);
        for (size_t i = 0; i < labels.size(); ++i)
          require(labels.data()[i] >= 0 && labels.data()[i] < k, "labels are 0 to k - 1");
        const GilRelease release;
        return make_table(ranks, labels.data(), weight, k, n_jobs);
      },
      "ranks"_a, "labels"_a, "weights"_a.none(), "k"_a, "n_jobs"_a = 1,
      R"(A FeatureTable without features yet.

labels (n_rows,): reference clusters, 0 to k - 1. A center's coordinate in a feature is the mean over the rows of its cluster.)");
  m.def(
      "fewest_feature_mistakes", &fewest_feature_mistakes, "table"_a, "rows"_a, "cluster"_a, "weights"_a.none(), "survivors"_a,
      "one_sided"_a, "any_level"_a, "n_jobs"_a = 1,
      R"(The cut of a surrogate feature that separates the fewest rows from their centers (Fleissner et al. 2024, Algorithm 1).

A cut at a level has rows and surviving centers on both sides, above the level and at or below it, and one of its sides is an
interval of the node's values in the column. Columns without features are left out. cluster (n_rows,): the surviving cluster of
every row, -1 if an earlier cut separated them. one_sided: only cuts that are thresholds on the column. any_level: levels lie
anywhere between neighboring values, so that centers between two values can be separated too; otherwise half way between values
of rows with a cluster. Ties: the lowest column, feature, level.

Returns (mistakes, column, feature, lower, upper, left), or None when there is no such cut: rows with lower < x <= upper go left,
lower is -inf for a threshold, and left are the survivors that go left.)");
}
