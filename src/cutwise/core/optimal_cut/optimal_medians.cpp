// The single cut of least 2-medians cost: each column's cuts in order, the medians of both sides followed in every column.
//
// Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 3, with the same idea and another bookkeeping. Printed there is
// that moving a row x from the right side to the left changes the cost by |x - m1(after)| - |x - m2(before)|, m1 and m2 being
// the medians of the sides. Compared with brute force on random columns of 12 rows, the sum of these changes differs from the
// cost in every one, from the first row on with the usual midpoint medians, and soon with the lower or the upper of the two
// middle values. It is right with a median that serves a side equally well before AND after the move: that of whichever of
// the two has an odd number of rows. With weights there need not be such a median. So a side's cost is kept as sums instead:
// of its values, of those below its median, and of their weights.
//
// Rows are only ever taken out (remaining.hpp): the right side's costs come from a pass that removes rows in increasing
// order, the left side's from one in decreasing order. Columns are the outer loop, so that one column's state stays in cache.
//
// All sums are integers. First each value is rounded to one integer, with a bound on what that does to a cost, which is 0 for
// integers and most decimals in few digits of binary; where the bound leaves several cuts, their columns are searched again
// with every bit of the values.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "base/parallel.hpp"
#include "base/prefetch.hpp"
#include "optimal_cut/cut_table.hpp"
#include "optimal_cut/ordered.hpp"
#include "optimal_cut/parts.hpp"
#include "optimal_cut/remaining.hpp"

namespace cutwise {
namespace {

constexpr int kExactParts = 4;
constexpr int64_t kLookAhead = 24;  // rows that a pass asks for before it needs them

// An upper bound of log2.
int log2_above(double value) {
  int bits = 0;
  for (double reach = 1.0; reach < value; reach *= 2) ++bits;
  return bits;
}

class MediansSearch {
 public:
  MediansSearch(const CutTable &table, int n_jobs)
      : table_(table), n_(table.n), d_(table.d), weights_(table.weights), n_jobs_(n_jobs) {
    // A cost is a sum over d columns of at most 4 times the total weight times a value.
    bits_ = std::min(50, 62 - 2 - log2_above(static_cast<double>(table.total_weight)) - log2_above(static_cast<double>(d_)));
    require(bits_ >= 8, "the weights add up to too much for so many columns");
  }

  BestCut search() {
    ordered_.resize(table_.n_columns);
    parallel_for(n_jobs_, table_.n_columns, [&](int64_t f) { ordered_[f] = order_column(table_.columns, n_, f); });
    if (!table_.is_one()) {
      by_rank_.resize(d_);
      parallel_for(n_jobs_, d_, [&](int64_t j) { by_rank_[j] = order_column(table_.rows, n_, j).rows; });
    }
    const ColumnRanges ranges = ColumnRanges::of(table_.rows, n_, d_);
    unit_ = std::ldexp(1.0, bits_);
    exact_scale_ = ranges.scales(ranges.largest(), bits_);
    scale_ = ranges.scales(ranges.spread(), bits_ - 1);

    std::vector<SummedColumn<1>> columns(d_);
    std::vector<double> off(d_);
    parallel_for(n_jobs_, d_, [&](int64_t f) { off[f] = rank_rounded(f, columns[f]); });
    double error = 0.0;
    for (const double of_column : off) error += of_column;
    // Costs are integers, and a cut may be off by the error either way.
    const int64_t reach = error > 0.0 ? static_cast<int64_t>(std::ceil(std::min(2.0 * error * (1.0 + 1e-6), 0x1p62))) : 0;
    std::vector<Found> found(table_.n_columns);
    parallel_for(n_jobs_, table_.n_columns, [&](int64_t f) {
      found[f] = weights_ ? search_column<1, true>(f, reach, [&](int64_t j) -> const SummedColumn<1> & { return columns[j]; })
                          : search_column<1, false>(f, reach, [&](int64_t j) -> const SummedColumn<1> & { return columns[j]; });
    });
    return settle(found, reach);
  }

 private:
  // The best cut of a column, the first of those that cost the same, and how many cost at most `reach` more.
  struct Found {
    int64_t feature = -1, cut = -1, n_near = 0;
    int64_t cost = 0;
  };

  double at(int32_t row, int64_t column) const { return table_.rows.rows[row * table_.rows.stride + column]; }
  // The rows in increasing order of what they have in a column where costs are measured.
  const std::vector<int32_t> &by_rank(int64_t column) const {
    return by_rank_.empty() ? ordered_[column].rows : by_rank_[column];
  }

  // From the values of all ranks to the rest.
  template <int n_parts>
  void rank(int64_t column, SummedColumn<n_parts> &ranked) const {
    const std::vector<int32_t> &rows = by_rank(column);
    ranked.row.resize(n_);
    if (weights_) ranked.weight.resize(n_);
    for (int64_t r = 0; r < n_; ++r) {
      ranked.row[rows[r]] = {ranked.value[r], r};
      if (weights_) ranked.weight[r] = weights_[rows[r]];
    }
    ranked.sum_up();
  }

  // Values about the column's middle row, rounded. Gives what the rounding may change a cost by.
  double rank_rounded(int64_t column, SummedColumn<1> &ranked) const {
    const std::vector<int32_t> &rows = by_rank(column);
    ranked.value.resize(n_);
    const double middle = at(rows[n_ / 2], column) * scale_[column];
    double off = 0.0;
    for (int64_t r = 0; r < n_; ++r) {
      const double value = at(rows[r], column) * scale_[column], about = value - middle;
      // What the subtraction lost, exactly (Knuth's two-sum).
      const double back = about - value;
      const double lost = (value - (about - back)) + (-middle - back);
      const int64_t whole = round_small(about);
      ranked.value[r].part[0] = whole;
      const double w = weights_ ? static_cast<double>(weights_[rows[r]]) : 1.0;
      off += w * (std::fabs(about - static_cast<double>(whole)) + std::fabs(lost));
    }
    rank(column, ranked);
    return off;
  }

  void rank_exactly(int64_t column, SummedColumn<kExactParts> &ranked) const {
    const std::vector<int32_t> &rows = by_rank(column);
    ranked.value.resize(n_);
    for (int64_t r = 0; r < n_; ++r)
      ranked.value[r] = split_value<kExactParts>(at(rows[r], column), exact_scale_[column], unit_);
    rank(column, ranked);
  }

  // The cost of every cut of a column; columns(j) gives column j ranked.
  template <int n_parts, bool is_weighted, class Columns>
  std::vector<Parts<n_parts>> cut_costs(int64_t feature, Columns &&columns) const {
    const OrderedColumn &ordered = ordered_[feature];
    const int64_t n_cuts = static_cast<int64_t>(ordered.cuts.size());
    std::vector<Parts<n_parts>> costs(n_cuts);
    if (n_cuts == 0) return costs;
    Remaining<n_parts, is_weighted> side;
    std::vector<typename SummedColumn<n_parts>::Row> rows(n_);  // of column j, in the order of the feature
    for (int64_t j = 0; j < d_; ++j) {
      const SummedColumn<n_parts> &column = columns(j);
      for (int64_t i = 0; i < n_; ++i) {
        prefetch(&column.row[ordered.rows[std::min(i + kLookAhead, n_ - 1)]], sizeof column.row[0]);
        rows[i] = column.row[ordered.rows[i]];
      }
      side.start(column);
      int64_t i = 0;
      for (int64_t g = 0; g < n_cuts; ++g) {
        while (i < ordered.cuts[g]) side.remove(rows[i++]);
        costs[g].add(side.cost());
      }
      side.start(column);
      i = n_;
      for (int64_t g = n_cuts - 1; g >= 0; --g) {
        while (i > ordered.cuts[g]) side.remove(rows[--i]);
        costs[g].add(side.cost());
      }
    }
    return costs;
  }

  template <int n_parts, bool is_weighted, class Columns>
  Found search_column(int64_t feature, int64_t reach, Columns &&columns) const {
    const std::vector<Parts<1>> costs = cut_costs<1, is_weighted>(feature, columns);
    Found found;
    for (size_t g = 0; g < costs.size(); ++g)
      if (found.cut < 0 || costs[g].part[0] < found.cost) found = {feature, static_cast<int64_t>(g), 0, costs[g].part[0]};
    for (const Parts<1> &cost : costs) found.n_near += cost.part[0] - found.cost <= reach;
    return found;
  }

  BestCut settle(const std::vector<Found> &found, int64_t reach) const {
    const Found *best = nullptr;
    for (const Found &one : found)
      if (one.cut >= 0 && (!best || one.cost < best->cost)) best = &one;
    if (!best) return {};
    std::vector<int64_t> near;
    for (const Found &one : found)
      if (one.cut >= 0 && one.cost - best->cost <= reach) near.push_back(one.feature);
    if (reach == 0 || (near.size() == 1 && best->n_near == 1)) return name(best->feature, best->cut);

    std::vector<int64_t> cut(near.size());
    std::vector<Parts<kExactParts>> cost(near.size());
    parallel_for(n_jobs_, static_cast<int64_t>(near.size()), [&](int64_t i) {
      SummedColumn<kExactParts> column;
      auto columns = [&](int64_t j) -> const SummedColumn<kExactParts> & {
        rank_exactly(j, column);
        return column;
      };
      std::vector<Parts<kExactParts>> costs =
          weights_ ? cut_costs<kExactParts, true>(near[i], columns) : cut_costs<kExactParts, false>(near[i], columns);
      for (Parts<kExactParts> &one : costs) one.carry(bits_);
      const auto least =
          std::min_element(costs.begin(), costs.end(), [](const auto &a, const auto &b) { return a.part < b.part; });
      cut[i] = least - costs.begin();
      cost[i] = *least;
    });
    const auto least = std::min_element(cost.begin(), cost.end(), [](const auto &a, const auto &b) { return a.part < b.part; });
    return name(near[least - cost.begin()], cut[least - cost.begin()]);
  }

  BestCut name(int64_t feature, int64_t cut) const { return BestCut::of(table_, feature, ordered_[feature], cut); }

  const CutTable table_;
  int64_t n_, d_;
  const int64_t *weights_;
  int n_jobs_, bits_ = 0;
  double unit_ = 1.0;
  std::vector<double> scale_, exact_scale_;    // of every column
  std::vector<OrderedColumn> ordered_;         // the columns that may be cut
  std::vector<std::vector<int32_t>> by_rank_;  // empty where costs are measured in these very columns
};

}  // namespace

BestCut best_medians_cut(const Matrix &columns, const Matrix &rows, const Weights &weights, int n_jobs) {
  return search_cut(columns, rows, weights, [&](const CutTable &table) { return MediansSearch(table, n_jobs).search(); });
}

}  // namespace cutwise
