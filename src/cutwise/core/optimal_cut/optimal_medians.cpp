// The single cuts that may be optimal for 2-medians: one pass over the cuts of each column, which updates the medians of both
// sides in every column.
//
// Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 3, with different bookkeeping. The paper says that moving a row x
// from the right side to the left changes the cost by |x - m1(after)| - |x - m2(before)|, where m1 and m2 are the medians of
// the sides. That does not agree with brute force: on random columns of 12 rows the sum of these changes differs from the cost
// in every one, whether the median is the midpoint or the lower or the upper of the two middle values. It is correct for a
// median that is optimal for a side both before and after the move: the one of the odd number of rows. With weights there may
// be no such median. Therefore the cost of a side is computed from sums: of its values, of the values below its median, and of
// their weights.
//
// A pass only removes rows: the costs of the right sides come from a pass that removes rows in increasing order, those of the
// left sides from one in decreasing order. The columns of the costs are the outer loop, so that the state of one stays in the
// cache.
//
// All sums are integers of 128 bits, because those of 64 bits leave too few bits to the values where weights are fractions:
// then thousands of cuts may be the best. Values are rounded, with a bound on how much that changes a cost, which is 0 for
// integers and for fractions of few binary digits. Where several cuts may be the best, the caller compares these exactly.
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "optimal_cut/ordered.hpp"

namespace cutwise {
namespace {

constexpr int64_t kRowsAhead = 24;  // rows ahead that are prefetched

#ifdef __SIZEOF_INT128__
__extension__ using Sum = __int128;
#else
using Sum = int64_t;  // compilers without it compare more cuts exactly
#endif
constexpr int kSumBits = 8 * sizeof(Sum) - 2;

// A total weight, and the weighted sum of values.
struct WeightAndSum {
  int64_t weight = 0;
  Sum value = 0;

  CUTWISE_INLINE void add(int64_t w, int64_t x) {
    weight += w;
    value += static_cast<Sum>(w) * x;
  }
};

// The value of a row in a column; ranks are in increasing order of value.
struct SortedRow {
  int64_t value, weight;
  int32_t rank;
};

struct SortedColumn {
  std::vector<SortedRow> by_rank, by_row;
  WeightAndSum all;
};

// The rows of a column that are left while rows are removed, and their l1 cost by their median. They are a linked list by rank,
// and the median moves along it by as much as the removed weight asks for: for equal weights a whole pass is O(n).
class Remaining {
 public:
  void start(const SortedColumn &column) {
    column_ = &column;
    const int32_t n = static_cast<int32_t>(column.by_rank.size());
    left_.resize(n);
    for (int32_t r = 0; r < n; ++r) left_[r] = {r - 1, r + 1};
    all_ = column.all;
    below_ = {};
    median_ = 0;
  }

  void prefetch_row(const SortedRow &row) const { prefetch(&left_[row.rank], sizeof(Neighbors)); }

  CUTWISE_INLINE void remove(const SortedRow &row) {
    const auto &[value, weight, r] = row;
    const auto [before, after] = left_[r];
    const int32_t n = static_cast<int32_t>(left_.size());
    if (before >= 0) left_[before].after = after;
    if (after < n) left_[after].before = before;
    all_.add(-weight, value);
    below_.add(r < median_ ? -weight : 0, value);  // without a branch, which would be mispredicted half of the time
    if (r == median_ && after < n) median_ = after;
    else if (r == median_ && before >= 0) step_down(before);
  }

  // The sum of the l1 distances to the median; called while some row is left.
  Sum cost() {
    // Moves to the first rank such that at least half of the weight is at or below it.
    for (; 2 * (below_.weight + here().weight) < all_.weight; median_ = left_[median_].after)
      below_.add(here().weight, here().value);
    while (2 * below_.weight > all_.weight) step_down(left_[median_].before);
    // The sum of (value - median) from the median on, and of (median - value) below it.
    return all_.value - 2 * below_.value + static_cast<Sum>(here().value) * (2 * below_.weight - all_.weight);
  }

 private:
  struct Neighbors {
    int32_t before, after;
  };

  const SortedRow &here() const { return column_->by_rank[median_]; }
  void step_down(int32_t to) {
    median_ = to;
    below_.add(-here().weight, here().value);
  }

  const SortedColumn *column_ = nullptr;
  std::vector<Neighbors> left_;  // by rank
  WeightAndSum all_, below_;     // over all rows that are left, and over those with a rank below the median's
  int32_t median_ = 0;
};

// An upper bound of log2.
int log2_above(double value) {
  int bits = 0;
  for (double reach = 1.0; reach < value; reach *= 2) ++bits;
  return bits;
}

class MediansSearch {
 public:
  MediansSearch(const CutTable &table, int n_jobs, Interrupt &interrupt)
      : table_(table), n_(table.n), d_(table.d), n_jobs_(n_jobs), interrupt_(interrupt) {}

  FoundCuts search() {
    // A cost is a sum over d columns of at most 4 times the total weight times a value.
    const int bits =
        std::min(50, kSumBits - 2 - log2_above(static_cast<double>(table_.total_weight)) - log2_above(static_cast<double>(d_)));
    require(bits >= 8, "the weights add up to too much for so many columns");
    std::vector<OrderedColumn> ordered(table_.n_columns);
    parallel_for(n_jobs_, table_.n_columns, [&](int64_t f) { ordered[f] = OrderedColumn(table_.columns, n_, f); });
    const std::vector<double> scale = table_.scales(bits - 1);
    columns_.resize(d_);
    std::vector<double> off(d_);
    parallel_for(n_jobs_, d_, [&](int64_t j) {
      interrupt_.check();
      off[j] = table_.is_one() ? rank_values(j, ordered[j].rows, scale[j])
                               : rank_values(j, OrderedColumn(table_.rows, n_, j).rows, scale[j]);
    });
    double error = 0.0;
    for (const double of_column : off) error += of_column;
    // The costs of two cuts have an error of at most `error` each.
    const auto reach = static_cast<Sum>(std::ceil(std::min(2.0 * error * (1.0 + 1e-6), std::ldexp(1.0, kSumBits))));
    std::vector<std::vector<Near>> near(table_.n_columns);
    parallel_for(n_jobs_, table_.n_columns, [&](int64_t f) { near[f] = cheapest(ordered[f], reach); });
    Sum least = -1;
    for (const auto &of_column : near)
      for (const Near &cut : of_column) least = least < 0 ? cut.cost : std::min(least, cut.cost);
    FoundCuts found;
    for (int64_t f = 0; f < table_.n_columns; ++f)
      for (const Near &cut : near[f])
        if (cut.cost - least <= reach && (reach > 0 || found.feature.empty())) found.add(table_, f, ordered[f], cut.cut);
    return found;
  }

 private:
  struct Near {
    Sum cost;
    int64_t cut;
  };

  // Fills column j with the differences from its median value, rounded to integers. Returns how much the rounding may change a
  // cost.
  double rank_values(int64_t j, const std::vector<int32_t> &rows, double scale) {
    SortedColumn &column = columns_[j];
    column.by_rank.resize(n_);
    column.by_row.resize(n_);
    const double middle = table_.row(rows[n_ / 2])[j] * scale;
    double off = 0.0;
    for (int64_t r = 0; r < n_; ++r) {
      const double value = table_.row(rows[r])[j] * scale, about = value - middle;
      // The exact rounding error of the subtraction (Knuth's two-sum).
      const double back = about - value;
      const double lost = (value - (about - back)) + (-middle - back);
      const int64_t whole = round_small(about), weight = table_.weight(rows[r]);
      off += static_cast<double>(weight) * (std::fabs(about - static_cast<double>(whole)) + std::fabs(lost));
      column.by_rank[r] = column.by_row[rows[r]] = {whole, weight, static_cast<int32_t>(r)};
      column.all.add(weight, whole);
    }
    return off;
  }

  // The cuts of a column that cost at most `reach` more than the cheapest of them.
  std::vector<Near> cheapest(const OrderedColumn &ordered, Sum reach) const {
    const int64_t n_cuts = static_cast<int64_t>(ordered.cuts.size());
    if (n_cuts == 0) return {};
    std::vector<Sum> costs(n_cuts, 0);
    Remaining side;
    std::vector<SortedRow> rows(n_);  // of column j, in the order of the feature
    for (const SortedColumn &column : columns_) {
      interrupt_.check();
      for (int64_t i = 0; i < n_; ++i) {
        prefetch(&column.by_row[ordered.rows[std::min(i + kRowsAhead, n_ - 1)]], sizeof(SortedRow));
        rows[i] = column.by_row[ordered.rows[i]];
      }
      side.start(column);
      int64_t i = 0;
      for (int64_t g = 0; g < n_cuts; ++g) {
        for (; i < ordered.cuts[g]; side.remove(rows[i++])) side.prefetch_row(rows[std::min(i + kRowsAhead, n_ - 1)]);
        costs[g] += side.cost();
      }
      side.start(column);
      i = n_;
      for (int64_t g = n_cuts - 1; g >= 0; --g) {
        for (; i > ordered.cuts[g]; side.remove(rows[--i])) side.prefetch_row(rows[std::max<int64_t>(i - kRowsAhead, 0)]);
        costs[g] += side.cost();
      }
    }
    const Sum least = *std::min_element(costs.begin(), costs.end());
    std::vector<Near> near;
    for (int64_t g = 0; g < n_cuts; ++g)
      if (costs[g] - least <= reach) near.push_back({costs[g], g});
    return near;
  }

  const CutTable table_;
  int64_t n_, d_;
  int n_jobs_;
  Interrupt &interrupt_;
  std::vector<SortedColumn> columns_;
};

}  // namespace
}  // namespace cutwise

void bind_optimal_medians(nanobind::module_ &m) {
  using namespace cutwise;
  bind_cut_search(
      m, "near_best_medians_cuts",
      R"(The same as near_best_means_cuts for 2-medians: each side is served by its coordinate-wise median.

It takes the same time for equal weights, and 56 bytes per value.)",
      [](const CutTable &table, int n_jobs, Interrupt &interrupt) { return MediansSearch(table, n_jobs, interrupt).search(); });
}
