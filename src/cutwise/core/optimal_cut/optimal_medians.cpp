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
// Rows are only ever taken out: the right side's costs come from a pass that removes rows in increasing
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
#include "base/simd.hpp"
#include "optimal_cut/cut_table.hpp"
#include "optimal_cut/ordered.hpp"

namespace cutwise {

// What is left of a column while rows are taken out of it, and what it costs to serve the rest by its median.
//
// Ranks are the column's rows in increasing order of value. Which of them are left is one bit each; the weight of every 64
// ranks, and of every 64 times 64, tells the median's walk which stretches to step over. A removal costs a few operations,
// and the median moves by the weight removed, whatever is left: with n rows, the whole pass is O(n) for equal weights.

CUTWISE_INLINE int lowest_bit(uint64_t word) {
#if defined(__GNUC__)
  return __builtin_ctzll(word);
#else
  int bit = 0;
  while (!(word & 1)) word >>= 1, ++bit;
  return bit;
#endif
}
CUTWISE_INLINE int highest_bit(uint64_t word) {
#if defined(__GNUC__)
  return 63 - __builtin_clzll(word);
#else
  int bit = 0;
  while (word >>= 1) ++bit;
  return bit;
#endif
}

// A stretch of ranks: the weight left in it, and the sum of its values by weight.
template <int n_parts>
struct Stretch {
  int64_t weight = 0;
  Parts<n_parts> sum;

  CUTWISE_INLINE void add(int64_t w, const Parts<n_parts> &value) {
    weight += w;
    sum.add_times(value, w);
  }
};

// A column as its searches read it.
template <int n_parts>
struct SummedColumn {
  // What a removal reads of a row, side by side.
  struct Row {
    Parts<n_parts> value;
    int64_t rank;
  };
  std::vector<Row> row;
  std::vector<Parts<n_parts>> value;           // of every rank, increasing
  std::vector<int64_t> weight;                 // of every rank; empty where each is 1
  std::vector<Stretch<n_parts>> block, group;  // of 64 ranks, of 64 blocks
  Stretch<n_parts> all;

  // Once rows, values and weights are there.
  void sum_up() {
    const int64_t n = static_cast<int64_t>(value.size());
    block.assign((n + 63) / 64, {});
    group.assign((n + 4095) / 4096, {});
    all = {};
    for (int64_t r = 0; r < n; ++r) {
      const int64_t w = weight.empty() ? 1 : weight[r];
      block[r >> 6].add(w, value[r]);
      group[r >> 12].add(w, value[r]);
      all.add(w, value[r]);
    }
  }
};

template <int n_parts, bool is_weighted>
class Remaining {
 public:
  void start(const SummedColumn<n_parts> &column) {
    column_ = &column;
    const int64_t n = static_cast<int64_t>(column.value.size());
    left_.assign((n + 63) / 64, ~uint64_t{0});
    if (n % 64) left_.back() = (uint64_t{1} << (n % 64)) - 1;
    block_ = column.block;
    group_ = column.group;
    all_ = column.all;
    below_ = {};
    at_ = 0;
  }

  CUTWISE_INLINE void remove(const typename SummedColumn<n_parts>::Row &row) {
    const auto &[value, r] = row;
    const int64_t w = -weight_of(r);
    left_[r >> 6] ^= uint64_t{1} << (r & 63);
    block_[r >> 6].add(w, value);
    group_[r >> 12].add(w, value);
    all_.add(w, value);
    below_.add(r < at_ ? w : 0, value);  // no branch: it would be guessed wrong half of the time
  }

  // The sum of the l1 distances of what is left to its median; something is left.
  Parts<n_parts> cost() {
    if (2 * below_.weight > all_.weight) step_down();
    else step_up();
    // Values from the median on, less the median, and the median less the values below it.
    Parts<n_parts> sum = all_.sum;
    sum.add_times(below_.sum, -2);
    sum.add_times(column_->value[at_], 2 * below_.weight - all_.weight);
    return sum;
  }

 private:
  CUTWISE_INLINE int64_t weight_of(int64_t r) const { return is_weighted ? column_->weight[r] : 1; }
  CUTWISE_INLINE bool too_low(int64_t w) const { return 2 * (below_.weight + w) < all_.weight; }
  CUTWISE_INLINE bool too_high(int64_t w) const { return 2 * (below_.weight - w) > all_.weight; }

  // To the first rank such that at least half of the weight is at or below it. Where exactly half is below the old rank, it
  // stays there even if that row is gone: its value still lies between the two halves.
  void step_up() {
    if (!too_low((left_[at_ >> 6] >> (at_ & 63)) & 1 ? weight_of(at_) : 0)) return;
    int64_t b = at_ >> 6;
    uint64_t word = left_[b] & (~uint64_t{0} << (at_ & 63));
    for (;;) {
      for (; word; word &= word - 1) {
        const int64_t r = b * 64 + lowest_bit(word);
        if (!too_low(weight_of(r))) {
          at_ = r;
          return;
        }
        below_.add(weight_of(r), column_->value[r]);
      }
      for (++b;;) {
        if ((b & 63) == 0 && too_low(group_[b >> 6].weight)) {
          take(group_[b >> 6], 1);
          b += 64;
        } else if (too_low(block_[b].weight)) {
          take(block_[b], 1);
          ++b;
        } else {
          break;
        }
      }
      word = left_[b];
    }
  }

  // Down to the first rank such that at most half of the weight is below it.
  void step_down() {
    int64_t b = at_ >> 6;
    uint64_t word = left_[b] & ~(~uint64_t{0} << (at_ & 63));
    for (;;) {
      while (word) {
        const int bit = highest_bit(word);
        at_ = b * 64 + bit;
        below_.add(-weight_of(at_), column_->value[at_]);
        if (!too_high(0)) return;
        word ^= uint64_t{1} << bit;
      }
      for (--b;;) {
        if ((b & 63) == 63 && too_high(group_[b >> 6].weight)) {
          take(group_[b >> 6], -1);
          b -= 64;
        } else if (too_high(block_[b].weight)) {
          take(block_[b], -1);
          --b;
        } else {
          break;
        }
      }
      word = left_[b];
    }
  }

  CUTWISE_INLINE void take(const Stretch<n_parts> &stretch, int64_t sign) {
    below_.weight += sign * stretch.weight;
    below_.sum.add_times(stretch.sum, sign);
  }

  const SummedColumn<n_parts> *column_ = nullptr;
  std::vector<uint64_t> left_;
  std::vector<Stretch<n_parts>> block_, group_;
  Stretch<n_parts> all_, below_;  // of all that is left, and of it what has a rank below the median's
  int64_t at_ = 0;                // the median's rank
};

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
