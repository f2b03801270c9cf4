// The single cut of least 2-means cost: every column's rows in order of value, and one pass of running sums.
//
// Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 2: with s the sum of the left side's rows about the mean of all
// rows, a cut lowers the cost by B = |s|^2 W / (W_left W_right), W being total weights. The pass is in float64, with a bound on
// the error of every B. Where the bounds leave several cuts that could be the best, their exact sums go with them, for the
// caller to compare B in integers: ties are true ties, and neither threads nor the order of the rows decide anything.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "optimal_cut/cut_table.hpp"
#include "optimal_cut/ordered.hpp"

namespace cutwise {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kParts = 4;
constexpr int64_t kLookAhead = 16;  // rows that the pass over a column asks for before it needs them

// sum += weight * (row * scale - shift)
CUTWISE_CLONES void add_centered(const double *row, const double *scale, const double *shift, double weight, int64_t d,
                                 double *sum) {
  for (int64_t f = 0; f < d; ++f) sum[f] += weight * (row[f] * scale[f] - shift[f]);
}

CUTWISE_CLONES void add_plain(const double *row, const double *scale, const double *shift, int64_t d, double *sum) {
  for (int64_t f = 0; f < d; ++f) sum[f] += row[f] * scale[f] - shift[f];
}

// |sum|^2, in four sums side by side.
CUTWISE_CLONES double squared_norm(const double *sum, int64_t d) {
  double lane[4] = {0.0, 0.0, 0.0, 0.0};
  int64_t f = 0;
  for (; f + 4 <= d; f += 4)
    for (int i = 0; i < 4; ++i) lane[i] += sum[f + i] * sum[f + i];
  for (; f < d; ++f) lane[0] += sum[f] * sum[f];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

using Sum = Parts<kParts>;

// A cut that may be the best: the weight on its left side, and the exact sums of the rows there.
struct Candidate {
  BestCut cut;
  int64_t left;
  std::vector<Sum> sum;
};

class MeansSearch {
 public:
  explicit MeansSearch(const CutTable &table)
      : table_(table), n_(table.n), d_(table.d), weights_(table.weights), total_weight_(table.total_weight) {
    center();
  }

  // The cuts that may be the best, by feature and then by value.
  std::vector<Candidate> search(int n_jobs) const {
    std::vector<Range> ranges(table_.n_columns);
    parallel_for(n_jobs, table_.n_columns, [&](int64_t f) { ranges[f] = bound(f); });
    double least = 0.0;  // the best cut lowers the cost by at least so much
    for (const Range &range : ranges) least = std::max(least, range.low);
    std::vector<int64_t> features;
    for (int64_t f = 0; f < table_.n_columns; ++f)
      if (ranges[f].high >= least) features.push_back(f);
    std::vector<std::vector<Candidate>> found(features.size());
    parallel_for(n_jobs, static_cast<int64_t>(features.size()),
                 [&](int64_t i) { found[i] = candidates(features[i], least, features.size() == 1); });
    std::vector<Candidate> all;
    for (std::vector<Candidate> &some : found) std::move(some.begin(), some.end(), std::back_inserter(all));
    return all;
  }

  // Of all rows, as Candidate::sum.
  std::vector<Sum> total() const {
    std::vector<Sum> sum(d_);
    for (int64_t i = 0; i < n_; ++i) add_exactly(i, sum);
    return sum;
  }
  int bits() const { return bits_; }

 private:
  // Between what two values the best gain of a column lies; no cut: never.
  struct Range {
    double low = -1.0, high = -1.0;
  };

  const double *row(int64_t i) const { return table_.rows.rows + i * table_.rows.stride; }
  int64_t weight(int64_t i) const { return weights_ ? weights_[i] : 1; }

  // A common scale (a power of two), the columns' means in it, and what sums of centered values may be off by.
  void center() {
    bits_ = term_bits(static_cast<double>(total_weight_));
    const ColumnRanges ranges = ColumnRanges::of(table_.rows, n_, d_);
    scale_ = ranges.scales(ranges.spread(), 0);
    exact_scale_ = ranges.scales(ranges.largest(), bits_);
    std::vector<double> sum(d_, 0.0), size(d_, 0.0);
    shift_.assign(d_, 0.0);
    const double total = static_cast<double>(total_weight_);
    // Twice: the second time about the first mean, so that an offset common to all rows leaves no error behind.
    for (int round = 0; round < 2; ++round) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (int64_t i = 0; i < n_; ++i) add(i, sum.data());
      for (int64_t f = 0; f < d_; ++f) shift_[f] += sum[f] / total;
    }
    std::fill(sum.begin(), sum.end(), 0.0);
    for (int64_t i = 0; i < n_; ++i) {
      add(i, sum.data());
      const double w = static_cast<double>(weight(i));
      for (int64_t f = 0; f < d_; ++f) size[f] += w * std::fabs(row(i)[f] * scale_[f] - shift_[f]);
    }
    // Each of n additions, and each term, is off by at most eps times the sum of the absolute terms; the sum over all rows is
    // not quite 0 about a rounded mean, and that is left out of the gains.
    double squares = 0.0;
    for (int64_t f = 0; f < d_; ++f) {
      const double off = kEps * (2.0 * static_cast<double>(n_) + 16.0) * size[f] + std::fabs(sum[f]);
      squares += off * off;
    }
    sum_error_ = std::sqrt(squares) * (1.0 + 1e-6);
  }

  void add(int64_t i, double *sum) const {
    if (weights_) add_centered(row(i), scale_.data(), shift_.data(), static_cast<double>(weights_[i]), d_, sum);
    else add_plain(row(i), scale_.data(), shift_.data(), d_, sum);
  }

  // Calls visit(cut, low, high) for every cut of a column with bounds of its gain. About the mean the two sides' sums are each
  // other's negatives, so rows are added up from both ends, and those of the most frequent value (0 in sparse data) never are.
  template <class Visit>
  void sweep(const OrderedColumn &ordered, Visit &&visit) const {
    std::vector<double> sum(d_, 0.0);
    int64_t side = 0, i = 0;  // the weight of the rows added up
    auto take = [&](int64_t at, int64_t ahead) {
      if (ahead >= 0 && ahead < n_) prefetch(row(ordered.rows[ahead]), std::min<int64_t>(d_ * 8, 512));
      add(ordered.rows[at], sum.data());
      side += weight(ordered.rows[at]);
    };
    const size_t n_below = ordered.cuts_below_widest();
    for (size_t cut = 0; cut < n_below; ++cut) {
      for (; i < ordered.cuts[cut]; ++i) take(i, i + kLookAhead);
      report(cut, sum, side, visit);
    }
    std::fill(sum.begin(), sum.end(), 0.0);
    side = 0;
    i = n_;
    for (size_t cut = ordered.cuts.size(); cut-- > n_below;) {
      for (; i > ordered.cuts[cut]; --i) take(i - 1, i - 1 - kLookAhead);
      report(cut, sum, side, visit);
    }
  }

  template <class Visit>
  void report(size_t cut, const std::vector<double> &sum, int64_t side, Visit &&visit) const {
    const double squares = squared_norm(sum.data(), d_);
    const double factor =
        static_cast<double>(total_weight_) / (static_cast<double>(side) * static_cast<double>(total_weight_ - side));
    const double gain = squares * factor;
    const double off = factor * sum_error_ * (2.0 * std::sqrt(squares) + sum_error_) * (1.0 + 1e-6) +
                       gain * kEps * (static_cast<double>(d_) + 16.0);
    visit(cut, gain - off, gain + off);
  }

  Range bound(int64_t feature) const {
    Range range;
    sweep(order_column(table_.columns, n_, feature), [&](size_t, double low, double high) {
      range.low = std::max(range.low, low);
      range.high = std::max(range.high, high);
    });
    return range;
  }

  // A column's cuts that may gain `least`; one that is the only one at all needs no sums.
  std::vector<Candidate> candidates(int64_t feature, double least, bool only_column) const {
    const OrderedColumn ordered = order_column(table_.columns, n_, feature);
    std::vector<size_t> cuts;
    sweep(ordered, [&](size_t cut, double, double high) {
      if (high >= least) cuts.push_back(cut);
    });
    std::sort(cuts.begin(), cuts.end());
    std::vector<Candidate> found;
    std::vector<Sum> sum(only_column && cuts.size() == 1 ? 0 : d_);
    int64_t left = 0, i = 0;
    for (const size_t cut : cuts) {
      for (; i < ordered.cuts[cut]; ++i) {
        if (!sum.empty()) add_exactly(ordered.rows[i], sum);
        left += weight(ordered.rows[i]);
      }
      found.push_back({BestCut::of(table_, feature, ordered, static_cast<int64_t>(cut)), left, sum});
    }
    return found;
  }

  void add_exactly(int64_t i, std::vector<Sum> &sum) const {
    const double *values = row(i), unit = std::ldexp(1.0, bits_);
    const int64_t w = weight(i);
    for (int64_t f = 0; f < d_; ++f) sum[f].add_times(split_value<kParts>(values[f], exact_scale_[f], unit), w);
  }

  const CutTable table_;
  int64_t n_, d_;
  const int64_t *weights_;
  int64_t total_weight_;
  int bits_ = 0;
  double sum_error_ = 0.0;
  std::vector<double> scale_, exact_scale_, shift_;  // of every column
};

using Candidates = std::tuple<Owned<int64_t, 1>, Owned<double, 1>, Owned<double, 1>, Owned<int64_t, 1>, Owned<int64_t, 3>, int>;

Candidates best_means_cuts(const Matrix &rows, const Weights &weights, const Matrix *columns, int n_jobs) {
  std::vector<Candidate> found;
  std::vector<Sum> total;
  int bits = 0;
  search_cut(columns ? *columns : rows, rows, weights, [&](const CutTable &table) {
    const MeansSearch search(table);
    found = search.search(n_jobs);
    bits = search.bits();
    if (found.size() > 1) total = search.total();
  });
  const int64_t n = static_cast<int64_t>(found.size()), d = n > 1 ? rows.n_cols() : 0;
  NewArray<int64_t, 1> feature(n), left(n);
  NewArray<double, 1> left_max(n), right_min(n);
  NewArray<int64_t, 3> sums(n + 1, d, kParts);
  const auto write = [&](const std::vector<Sum> &sum, int64_t at) {
    for (int64_t f = 0; f < d; ++f) std::copy(sum[f].part.begin(), sum[f].part.end(), sums.data() + (at * d + f) * kParts);
  };
  for (int64_t i = 0; i < n; ++i) {
    feature.data()[i] = found[i].cut.feature;
    left_max.data()[i] = found[i].cut.left_max;
    right_min.data()[i] = found[i].cut.right_min;
    left.data()[i] = found[i].left;
    write(found[i].sum, i);
  }
  write(total, n);
  return std::make_tuple(feature.to_numpy(), left_max.to_numpy(), right_min.to_numpy(), left.to_numpy(), sums.to_numpy(), bits);
}

}  // namespace
}  // namespace cutwise

void bind_optimal_cut(nanobind::module_ &m) {
  using namespace cutwise;
  using nb::literals::operator""_a;
  m.def("best_means_cuts", &cutwise::best_means_cuts, "matrix"_a, "weights"_a.none() = nb::none(),
        "columns"_a.none() = nb::none(), "n_jobs"_a = 1,
        R"(The cuts of a dense table that may cost least when each side is served by its own mean, by column and value.

weights are positive; a weight is a repeated row. columns: the same rows in the columns that may be cut; the matrix itself
when None. Gives (n,) features, largest values on the left, smallest on the right and weights on the left, and bits: where
there is more than one cut, sums[i, f] is the exact sum of column f over the rows on the left of cut i, and at the end over all
rows: four integers, each worth 2**bits of the next, in a unit that all columns share; 0 for constant columns. O(n d c + n (c + d) log n) time for n rows, d columns where costs are measured and c that may be cut.)");
  using Found = std::optional<std::tuple<int64_t, double, double>>;
  m.def(
      "best_medians_cut",
      [](const Matrix &matrix, const Weights &weights, const Matrix *columns, int n_jobs) -> Found {
        const BestCut best = best_medians_cut(columns ? *columns : matrix, matrix, weights, n_jobs);
        if (best.feature < 0) return std::nullopt;
        return std::make_tuple(best.feature, best.left_max, best.right_min);
      },
      "matrix"_a, "weights"_a.none() = nb::none(), "columns"_a.none() = nb::none(), "n_jobs"_a = 1,
      R"(The cut of a dense table that costs least when each side is served by its own median, as best_means_cuts.

Gives (feature, largest value on the left, smallest on the right), or None where all rows are equal in these columns. Costs are
compared exactly, as sums of the float64 values (for a million rows of 20 columns to 140 bits below the largest value of a
column that varies); of equals the lowest column's, then the lowest. In as much time for equal weights, and 32 bytes a value.)");
}
