// The cuts that may cost least by 2-medians: each column's cuts in order, the medians of both sides followed in every column.
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
// All sums are integers: each value is rounded to one, with a bound on what that does to a cost, which is 0 for integers and
// most decimals in few digits of binary. Where the bound leaves several cuts, the caller compares these with every bit.
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "optimal_cut/ordered.hpp"

namespace cutwise {
namespace {

constexpr int64_t kRowsAhead = 24;  // rows that a pass asks for before it needs them

// Weight, and the sum of values by weight.
struct WeightAndSum {
  int64_t weight = 0, value = 0;

  CUTWISE_INLINE void add(int64_t w, int64_t x) {
    weight += w;
    value += w * x;
  }
};

// A row of a column; ranks are in increasing order of value.
struct SortedRow {
  int64_t value, weight;
  int32_t rank;
};

struct SortedColumn {
  std::vector<SortedRow> by_rank, by_row;
  WeightAndSum all;
};

// What is left of a column while rows are taken out of it, and what it costs to serve the rest by its median. A removal costs
// a few operations, and the median moves over the weight removed: with n rows, a whole pass is O(n) for equal weights.
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
    below_.add(r < median_ ? -weight : 0, value);  // no branch: it would be guessed wrong half of the time
    if (r == median_ && after < n) median_ = after;
    else if (r == median_ && before >= 0) step_down(before);
  }

  // The sum of the l1 distances of what is left to its median; something is left.
  int64_t cost() {
    // The first rank such that at least half of the weight is at or below it.
    for (; 2 * (below_.weight + here().weight) < all_.weight; median_ = left_[median_].after)
      below_.add(here().weight, here().value);
    while (2 * below_.weight > all_.weight) step_down(left_[median_].before);
    // Values from the median on, less the median, and the median less the values below it.
    return all_.value - 2 * below_.value + here().value * (2 * below_.weight - all_.weight);
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
  std::vector<Neighbors> left_;  // of every rank that is left
  WeightAndSum all_, below_;     // of all that is left, and of it what has a rank below the median's
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
  MediansSearch(const CutTable &table, int n_jobs) : table_(table), n_(table.n), d_(table.d), n_jobs_(n_jobs) {}

  FoundCuts search() {
    // A cost is a sum over d columns of at most 4 times the total weight times a value.
    const int bits =
        std::min(50, 62 - 2 - log2_above(static_cast<double>(table_.total_weight)) - log2_above(static_cast<double>(d_)));
    require(bits >= 8, "the weights add up to too much for so many columns");
    std::vector<OrderedColumn> ordered(table_.n_columns);
    parallel_for(n_jobs_, table_.n_columns, [&](int64_t f) { ordered[f] = OrderedColumn(table_.columns, n_, f); });
    const std::vector<double> scale = table_.scales(bits - 1);
    columns_.resize(d_);
    std::vector<double> off(d_);
    parallel_for(n_jobs_, d_, [&](int64_t j) {
      off[j] = table_.is_one() ? rank(j, ordered[j].rows, scale[j]) : rank(j, OrderedColumn(table_.rows, n_, j).rows, scale[j]);
    });
    double error = 0.0;
    for (const double of_column : off) error += of_column;
    // Costs are integers, and a cut may be off by the error either way.
    const int64_t reach = error > 0.0 ? static_cast<int64_t>(std::ceil(std::min(2.0 * error * (1.0 + 1e-6), 0x1p62))) : 0;
    std::vector<std::vector<Near>> near(table_.n_columns);
    parallel_for(n_jobs_, table_.n_columns, [&](int64_t f) { near[f] = cheapest(ordered[f], reach); });
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const auto &of_column : near)
      for (const Near &cut : of_column) least = std::min(least, cut.cost);
    FoundCuts found;
    for (int64_t f = 0; f < table_.n_columns; ++f)
      for (const Near &cut : near[f])
        if (cut.cost - least <= reach && (reach > 0 || found.feature.empty())) found.add(table_, f, ordered[f], cut.cut);
    return found;
  }

 private:
  struct Near {
    int64_t cost, cut;
  };

  // Values about the column's middle row, rounded. Gives what the rounding may change a cost by.
  double rank(int64_t j, const std::vector<int32_t> &rows, double scale) {
    SortedColumn &column = columns_[j];
    column.by_rank.resize(n_);
    column.by_row.resize(n_);
    const double middle = table_.row(rows[n_ / 2])[j] * scale;
    double off = 0.0;
    for (int64_t r = 0; r < n_; ++r) {
      const double value = table_.row(rows[r])[j] * scale, about = value - middle;
      // What the subtraction lost, exactly (Knuth's two-sum).
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
  std::vector<Near> cheapest(const OrderedColumn &ordered, int64_t reach) const {
    const int64_t n_cuts = static_cast<int64_t>(ordered.cuts.size());
    if (n_cuts == 0) return {};
    std::vector<int64_t> costs(n_cuts, 0);
    Remaining side;
    std::vector<SortedRow> rows(n_);  // of column j, in the order of the feature
    for (const SortedColumn &column : columns_) {
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
    const int64_t least = *std::min_element(costs.begin(), costs.end());
    std::vector<Near> near;
    for (int64_t g = 0; g < n_cuts; ++g)
      if (costs[g] - least <= reach) near.push_back({costs[g], g});
    return near;
  }

  const CutTable table_;
  int64_t n_, d_;
  int n_jobs_;
  std::vector<SortedColumn> columns_;
};

}  // namespace
}  // namespace cutwise

void bind_optimal_medians(nanobind::module_ &m) {
  using namespace cutwise;
  bind_cut_search(
      m, "near_best_medians_cuts",
      R"(The cuts of a dense table that may cost least when each side is served by its own median, as near_best_means_cuts.

In as much time for equal weights, and 32 bytes a value.)",
      [](const CutTable &table, int n_jobs) { return MediansSearch(table, n_jobs).search(); });
}
