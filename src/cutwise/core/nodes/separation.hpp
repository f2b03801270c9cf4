// The loss of every cut of a column: what its rows lose when it separates them from the centers of their clusters.
//
// Every row of a node is assigned to one surviving cluster, and has a loss when a cut separates it from that cluster's center:
// its weight, for IMM's mistakes; or the cost of its second nearest center minus that of its nearest, for a lower bound on the
// induced cost. The loss of a cut is the sum over the separated rows. One sweep along a column serves both criteria.
#pragma once

#include "base/matrix.hpp"
#include "encoding/bins.hpp"
#include "encoding/encoded.hpp"
#include "nodes/histogram.hpp"
#include "nodes/node.hpp"

namespace cutwise {

template <class Cluster, class Loss, class Cell_ = int64_t>
struct SeparationNode : NodeRows {
  using Cell = Cell_;
  PerRow<Cluster> cluster{};  // the surviving cluster that a row is assigned to, -1 for none
  PerRow<Loss> loss{};        // null: 1 each
  PerRow<int64_t> count{};    // the weight of a row; null: 1 each
  const Cell *histogram;      // (n_slots, k, width): sums of losses, and of counts when width is 2; null: sort every column
  const int64_t *totals;      // (k, width): the same over all rows of the node that are assigned to a cluster
  int64_t k;
  int width;
  Survivors survivors;
  const NodeLimits *limits;  // null: every cut is allowed

  // The caller sets `cluster`, `loss` and `count` afterwards.
  SeparationNode(const NodeRows &node, const Cell *sums, const int64_t *of_all, int n_sums, const In2<double> &coordinates,
                 const In1<int32_t> &surviving, const NodeLimits *of_cuts)
      : NodeRows(node),
        histogram(sums),
        totals(of_all),
        k(static_cast<int64_t>(coordinates.shape(0))),
        width(n_sums),
        survivors{coordinates.data(), encoded.n_cols(), survivors_of(surviving, k)},
        limits(of_cuts) {}

  bool allows_column(int32_t feature) const { return limits == nullptr || limits->allow_column(feature); }
  AllowedCuts allowed_cuts(int32_t feature) const { return {limits, *this, feature, survivors.clusters.size()}; }
  int64_t total_loss(int32_t c) const { return totals[c * width]; }
  int64_t loss_of(int32_t row) const { return loss ? loss[row] : 1; }
  int64_t count_of(int32_t row) const { return count ? count[row] : 1; }

  // Whether sorting a column's rows is cheaper than walking its bins, as in small nodes or with many clusters. It never is in
  // sparse tables, where every value takes a search.
  bool prefers_rows(const Column &column) const {
    const double bins = static_cast<double>(column.n_bins) * static_cast<double>(survivors.clusters.size());
    const double sort_cost = static_cast<double>(n) * (2.0 + std::log2(static_cast<double>(n) + 1.0));
    return histogram == nullptr || (!encoded.sparse && !encoded.is_bins_only() && sort_cost < bins);
  }
};

// A position on one column that moves from left to right: which centers, and how much loss of every cluster, are at or left of
// it. The loss there is that of the cut at this position.
template <class Node>
class Sweep {
 public:
  Sweep(const Node &node, const CenterLine &line) : node_(node), line_(line), left_(node.k, 0), is_left_(node.k, 0) {}

  int64_t loss() const { return loss_; }
  int64_t count() const { return count_; }
  size_t n_left() const { return n_left_; }
  bool separates_centers() const { return n_left_ > 0 && n_left_ < line_.size(); }
  bool more_centers() const { return n_left_ < line_.size(); }
  double next_center() const { return line_.coordinate[n_left_]; }

  void pass_row(int32_t row) {
    const auto c = node_.cluster[row];
    count_ += node_.count_of(row);
    if (c < 0) return;
    const int64_t loss = node_.loss_of(row);
    left_[c] += loss;
    loss_ += is_left_[c] ? -loss : loss;
  }

  // Passes all rows of one bin; cells: (k, width).
  void pass_cells(const typename Node::Cell *cells) {
    const int64_t width = node_.width;
    in_bin_ = {};
    for (int32_t c : node_.survivors.clusters) {
      const int64_t loss = cells[c * width];
      in_bin_.loss += loss;
      in_bin_.on_left += loss & -static_cast<int64_t>(is_left_[c]);
      if (width == 2) in_bin_.count += cells[c * 2 + 1];
      left_[c] += loss;
    }
    loss_ += in_bin_.loss - 2 * in_bin_.on_left;
    count_ += in_bin_.count;
  }
  // Whether the bin passed last has assigned rows, and their count.
  bool any_in_bin() const { return in_bin_.loss > 0 || in_bin_.count > 0; }
  int64_t count_in_bin() const { return in_bin_.count; }
  // Whether the centers of all assigned rows of the bin passed last are on one side of it.
  bool bin_is_of_one_side() const { return in_bin_.on_left == 0 || in_bin_.on_left == in_bin_.loss; }

  // Passes all centers at the next coordinate.
  void pass_center() {
    const double coordinate = next_center();
    while (more_centers() && next_center() == coordinate) {
      const int32_t c = line_.cluster[n_left_++];
      loss_ += node_.total_loss(c) - 2 * left_[c];
      is_left_[c] = 1;
    }
  }

  // Lower bounds on the loss of cuts inside the bin passed last: bounds[i] for cuts right of the next i centers.
  void bounds_inside(const typename Node::Cell *cells, double high, std::vector<int64_t> &bounds) const {
    int64_t bound = loss_ - in_bin_.loss + in_bin_.on_left;
    bounds.assign(1, bound);
    for (size_t r = n_left_; r < line_.size() && line_.coordinate[r] < high; ++r) {
      const int32_t c = line_.cluster[r];
      bound += node_.total_loss(c) - 2 * left_[c] + cells[c * node_.width];
      bounds.push_back(bound);
    }
  }

 private:
  const Node &node_;
  const CenterLine &line_;
  std::vector<int64_t> left_;
  std::vector<uint8_t> is_left_;
  int64_t loss_ = 0, count_ = 0;
  size_t n_left_ = 0;
  // The bin passed last: loss over all clusters, loss over the clusters whose centers are on the left, and count.
  struct {
    int64_t loss = 0, on_left = 0, count = 0;
  } in_bin_;
};

// The histogram cells of every bin of one column; those of the default bin are the totals minus the cells of the other bins.
template <class Node>
class ColumnCells {
 public:
  using Cell = typename Node::Cell;

  ColumnCells(const Node &node, const Column &column) : node_(node), column_(column) {
    if (column.default_bin < 0) return;
    const int width = node.width;
    default_.assign(node.k * width, 0);
    for (int32_t c : node.survivors.clusters)
      for (int w = 0; w < width; ++w) default_[c * width + w] = static_cast<Cell>(node.totals[c * width + w]);
    for (int32_t bin = 0; bin < column.n_bins; ++bin) {
      if (bin == column.default_bin) continue;
      const Cell *cells = at(bin);
      for (int32_t c : node.survivors.clusters)
        for (int w = 0; w < width; ++w)
          default_[c * width + w] = static_cast<Cell>(default_[c * width + w] - cells[c * width + w]);
    }
  }

  const Cell *at(int32_t bin) const {
    if (bin == column_.default_bin) return default_.data();
    return node_.histogram + static_cast<int64_t>(column_.slot_of(bin)) * node_.k * node_.width;
  }

 private:
  const Node &node_;
  const Column &column_;
  std::vector<Cell> default_;
};

// A lower bound on the loss of all cuts of a column that separate centers, without sorting the centers: every cluster loses at
// least the smaller of its parts left and right of the cut, the cluster with the smallest coordinate its right part, and the
// one with the largest coordinate its left part.
template <class Node>
int64_t least_loss_bound(const Node &node, int32_t feature) {
  const Column &column = node.encoded.columns[feature];
  const double *low = node.encoded.low.data() + column.value_begin;
  const double *high = node.encoded.high.data() + column.value_begin;
  const auto [first, last] = node.survivors.ends_along(feature);
  // For the cuts just before a bin of one value, or anywhere inside a bin of several values: the bound summed over all
  // clusters, and the losses of the first and of the last cluster.
  struct {
    const typename Node::Cell *cells;
    bool is_inside;
    int64_t sum, of_first, of_last;
  } cuts[kMaxBins];
  for (int32_t bin = 0; bin < column.n_bins; ++bin) {
    const typename Node::Cell *cells = nullptr;
    if (bin != column.default_bin) cells = node.histogram + static_cast<int64_t>(column.slot_of(bin)) * node.k * node.width;
    cuts[bin] = {cells, low[bin] < high[bin], 0, 0, 0};
  }
  for (const int32_t c : node.survivors.clusters) {
    const int64_t total = node.total_loss(c);
    int64_t rest = total, left = 0;
    for (int32_t bin = 0; bin < column.n_bins; ++bin)
      if (cuts[bin].cells != nullptr) rest -= cuts[bin].cells[c * node.width];
    for (int32_t bin = 0; bin < column.n_bins; ++bin) {
      auto &cut = cuts[bin];
      const int64_t in_bin = cut.cells != nullptr ? cut.cells[c * node.width] : rest;
      const int64_t right = total - left - (cut.is_inside ? in_bin : 0);
      cut.sum += std::min(left, right);
      if (c == first.cluster) cut.of_first = right;
      if (c == last.cluster) cut.of_last = left;
      left += in_bin;
    }
  }
  // Cuts right of all rows separate centers only where the last center is right of them too; likewise cuts left of all rows.
  int64_t least = last.coordinate > high[column.n_bins - 1] ? node.total_loss(last.cluster) : kNone;
  for (int32_t bin = 0; bin < column.n_bins; ++bin)
    if (bin > 0 || cuts[bin].is_inside || first.coordinate < low[bin])
      least = std::min(least, std::max({cuts[bin].sum, cuts[bin].of_first, cuts[bin].of_last}));
  return least;
}

// Walks a column bin by bin, and calls on_cut(threshold, sweep, passed) at every cut between bins or centers, where `passed`
// says whether rows or a center were passed since the last cut. For a bin of several values it calls on_inside(bin, bounds,
// sweep) when the rows of the bin were passed but its centers were not; see bounds_inside(). has_already_mistaken(bin): whether
// a bin has, or may have, rows of the node that are not assigned to any cluster.
template <class Node, class OnCut, class OnInside, class HasAlreadyMistaken>
void walk_bins(const Node &node, int32_t feature, const CenterLine &line, HasAlreadyMistaken &&has_already_mistaken,
               OnCut &&on_cut, OnInside &&on_inside) {
  const Column &column = node.encoded.columns[feature];
  const double *low = node.encoded.low.data() + column.value_begin;
  const double *high = node.encoded.high.data() + column.value_begin;
  const ColumnCells cells(node, column);
  Sweep sweep(node, line);
  std::vector<int64_t> bounds;
  for (int32_t bin = 0; bin < column.n_bins; ++bin) {
    while (sweep.more_centers() && sweep.next_center() < low[bin]) {
      const double threshold = sweep.next_center();
      sweep.pass_center();
      on_cut(threshold, sweep, true);
    }
    const auto *here = cells.at(bin);
    sweep.pass_cells(here);
    if (low[bin] < high[bin]) {
      sweep.bounds_inside(here, high[bin], bounds);
      const bool has_cuts = sweep.any_in_bin() || bounds.size() > 1 || has_already_mistaken(bin);
      if (has_cuts && sweep.n_left() + bounds.size() > 1 && sweep.n_left() < line.size()) on_inside(bin, bounds, sweep);
    }
    bool passed = sweep.any_in_bin();
    while (sweep.more_centers() && sweep.next_center() <= high[bin]) {
      sweep.pass_center();
      passed = true;
    }
    on_cut(high[bin], sweep, passed || has_already_mistaken(bin));
  }
  while (sweep.more_centers()) {
    const double threshold = sweep.next_center();
    sweep.pass_center();
    on_cut(threshold, sweep, true);
  }
}

// Walks rows that are sorted by one column, together with the centers below `until`, and calls on_cut(threshold, sweep) after
// every distinct value of a row or center. The last cut is left out where it equals the cut at `until`, the end of a bin, since
// the walk over bins has reported that one: otherwise one cut would count as two that tie.
template <class Node, class OnCut>
void walk_rows(Sweep<Node> &sweep, const std::vector<RowValue> &sorted, double until, OnCut &&on_cut) {
  size_t i = 0;
  auto center_below = [&] { return sweep.more_centers() && sweep.next_center() < until; };
  while (i < sorted.size() || center_below()) {
    double value = i < sorted.size() ? sorted[i].value : sweep.next_center();
    if (center_below()) value = std::min(value, sweep.next_center());
    while (i < sorted.size() && sorted[i].value == value) sweep.pass_row(sorted[i++].row);
    if (sweep.more_centers() && sweep.next_center() == value) sweep.pass_center();
    const bool last = i == sorted.size() && !center_below();
    const bool center_at_end = sweep.more_centers() && sweep.next_center() == until;
    if (!last || center_at_end) on_cut(value, sweep);
  }
}

// The two nearest surviving clusters of a row. One record holds all that changes for a row, so that an update touches one cache
// line; it is as narrow as the costs and the number of clusters allow.
template <class Cost_, class Index_>
struct RowState {
  using Cost = Cost_;
  using Index = Index_;
  // In NumPy the records are an array of shape (n_rows, width()) of words.
  using Word = std::conditional_t<sizeof(Cost) == 4, Index, Cost>;

  Cost loss;              // cost of the second nearest minus cost of the nearest
  Index nearest, second;  // -1: none

  static constexpr int64_t width() { return sizeof(RowState) / sizeof(Word); }

  static PerRow<Index> nearest_of(const RowState *states) { return {&states->nearest, sizeof(RowState) / sizeof(Index)}; }
  static PerRow<Index> second_of(const RowState *states) { return {&states->second, sizeof(RowState) / sizeof(Index)}; }
  static PerRow<Cost> loss_of(const RowState *states) { return {&states->loss, sizeof(RowState) / sizeof(Cost)}; }
};

// new_states() in tree/criteria/induced.py chooses among the same three.
using SmallState = RowState<int32_t, int16_t>;
using MiddleState = RowState<int32_t, int32_t>;
using LargeState = RowState<int64_t, int32_t>;
static_assert(sizeof(SmallState) == 8 && sizeof(MiddleState) == 12 && sizeof(LargeState) == 16);

// Finds the cuts that leave each side at least as many distinct rows as centers, so that no leaf below has to be empty.
// Counting stops at the number that is needed, which in most nodes takes a few rows.
class ValidCuts {
 public:
  explicit ValidCuts(const NodeRows &node) : node_(node) {}

  // Whether the node has at least `wanted` distinct rows.
  bool has_distinct(size_t wanted) const;
  // The thresholds from `begin` on, below `end`, with at least n_left and n_right distinct rows on the sides.
  ValidRange between(int32_t feature, double begin, double end, size_t n_left, size_t n_right) const;

 private:
  const NodeRows node_;
};

}  // namespace cutwise
