// The cuts of a surrogate feature at one node, from the highest level down.
//
// The *items* of a column are its distinct values, or groups of neighboring ones. The *positions* of a node in a column number,
// in order, the items that its rows have. A level separates the positions whose feature is above it from the others, and a cut
// is reported where one of the two sides is an interval of positions.
#pragma once

#include "nodes/ranks.hpp"

namespace cutwise {

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
  std::vector<int32_t> position;  // by item, -1 where no row has it
  std::vector<int32_t> item;      // by position
  std::vector<uint8_t> occupied;  // by position: whether a row there is assigned to a survivor
  std::vector<int64_t> sums;      // (n_positions + 1, n_survivors): weight by survivor before every position

  int32_t size() const { return static_cast<int32_t>(item.size()); }

  PresentItems(const FeatureNode &node, const FeatureColumn &column) {
    const int32_t n_items = column.n_items();
    const size_t m = node.width();
    std::vector<int64_t> cells(n_items * m, 0);
    position.assign(n_items, -1);
    for (int64_t i = 0; i < node.n; ++i) {
      const int32_t row = node.rows[i], at = column.item[row], c = node.cluster[row];
      position[at] = 0;
      if (c >= 0) cells[at * m + node.slot[c]] += node.weight_of(row);
    }
    for (int32_t i = 0; i < n_items; ++i) {
      if (position[i] < 0) continue;
      position[i] = size();
      item.push_back(i);
    }
    occupied.assign(item.size(), 0);
    sums.assign((item.size() + 1) * m, 0);
    for (size_t p = 0; p < item.size(); ++p) {
      const int64_t *cell = cells.data() + item[p] * m;
      for (size_t s = 0; s < m; ++s) {
        occupied[p] |= cell[s] != 0;
        sums[(p + 1) * m + s] = sums[p * m + s] + cell[s];
      }
    }
  }
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
      : passed(node.width()), node_(node), column_(column), items_(items), wanted_(wanted), runs_(items.size()) {}

  // The current cut.
  std::vector<uint8_t> passed;  // by survivor: whether its center lies above the level
  size_t n_above = 0;           // the number of centers above the level
  int64_t mistakes = 0;
  int32_t first = 0, last = 0;  // the side that is an interval, in positions
  bool above_is_interval = true;

  // Calls on_cut(level) for every cut of one feature. Levels lie between neighboring values of the rows that are assigned to a
  // survivor; the other rows are on the side of their value.
  template <class OnCut>
  void each_cut(int32_t feature, OnCut &&on_cut) {
    line_up_centers(feature);
    if (centers_.front().value == centers_.back().value) return;
    std::fill(passed.begin(), passed.end(), uint8_t{0});
    n_above = 0;
    line_up_positions(feature);
    runs_.clear();
    size_t added = 0;  // positions above the level
    for (size_t next = 0;;) {
      while (next < line_.size() && !items_.occupied[line_[next].position]) ++next;
      if (next == line_.size()) return;
      const double below = line_[next].value;
      if (added > 0) {  // an occupied value lies above this one
        const double above = line_[added - 1].value;
        auto pass_until = [&](double level) {
          while (added < next && line_[added].value > level) runs_.add(line_[added++].position);
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
      while (added < line_.size() && line_[added].value >= below) runs_.add(line_[added++].position);
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
    while (n_above < centers_.size() && centers_[n_above].value > level) passed[centers_[n_above++].survivor] = 1;
  }

  template <class OnCut>
  void offer(double level, OnCut &&on_cut) {
    if (n_above == 0 || n_above == centers_.size() || !runs_.separates()) return;
    if (!(wanted_.one_sided ? runs_.is_threshold() : runs_.is_interval())) return;
    std::tie(first, last, above_is_interval) = runs_.interval();
    mistakes = count_mistakes();
    on_cut(level);
  }

  int64_t count_mistakes() const {
    const size_t m = node_.width();
    const int64_t *from = items_.sums.data() + first * m, *to = items_.sums.data() + (last + 1) * m;
    int64_t n_separated = 0;
    for (size_t s = 0; s < m; ++s) {
      const int64_t inside = to[s] - from[s], outside = node_.total[s] - inside;
      n_separated += (passed[s] != 0) == above_is_interval ? outside : inside;
    }
    return n_separated;
  }

  const FeatureNode &node_;
  const FeatureColumn &column_;
  const PresentItems &items_;
  const CutsWanted wanted_;
  Runs runs_;
  std::vector<Position> line_;   // from the highest to the lowest
  std::vector<Center> centers_;  // likewise
};

}  // namespace cutwise
