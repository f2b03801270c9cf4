// The single cuts that may be optimal for 2-means: one pass of running sums over the sorted rows of every column.
//
// Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 2: let s be the sum of the left side's rows minus the mean of all
// rows, and W the total weights; a cut lowers the cost by the gain |s|^2 W / (W_left W_right). Gains are computed in float64
// with a bound on their error; where several cuts may be the best, the caller compares these in integers.
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "optimal_cut/ordered.hpp"

namespace cutwise {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int64_t kLookAhead = 16;  // rows ahead that are prefetched

// sum += weight * (row * scale - shift), by Kahan's summation: `lost` keeps what rounding took from each sum.
CUTWISE_CLONES void add_centered(const double *row, const double *scale, const double *shift, double weight, int64_t d,
                                 double *sum, double *lost) {
  for (int64_t f = 0; f < d; ++f) {
    const double term = weight * (row[f] * scale[f] - shift[f]) - lost[f], grown = sum[f] + term;
    lost[f] = (grown - sum[f]) - term;
    sum[f] = grown;
  }
}

// |sum|^2, in four partial sums.
CUTWISE_CLONES double squared_norm(const double *sum, int64_t d) {
  double lane[4] = {0.0, 0.0, 0.0, 0.0};
  int64_t f = 0;
  for (; f + 4 <= d; f += 4)
    for (int i = 0; i < 4; ++i) lane[i] += sum[f + i] * sum[f + i];
  for (; f < d; ++f) lane[0] += sum[f] * sum[f];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

class MeansSearch {
 public:
  explicit MeansSearch(const CutTable &table) : table_(table), n_(table.n), d_(table.d), total_weight_(table.total_weight) {
    center();
  }

  FoundCuts search(int n_jobs, Interrupt &interrupt) const {
    std::vector<Range> ranges(table_.n_columns);
    parallel_for(n_jobs, table_.n_columns, [&](int64_t f) {
      interrupt.check();
      ranges[f] = bound(f);
    });
    double least = 0.0;  // a lower bound on the gain of the best cut
    for (const Range &range : ranges) least = std::max(least, range.low);
    FoundCuts found;
    for (int64_t f = 0; f < table_.n_columns; ++f)
      if (ranges[f].high >= least) add_candidates(f, least, found);
    return found;
  }

 private:
  // Bounds on the best gain of a column; negative where it has no cut.
  struct Range {
    double low = -1.0, high = -1.0;
  };

  // Computes a common scale (a power of two), the scaled means of the columns, and the largest error of a sum of centered
  // values.
  void center() {
    scale_ = table_.scales(0);
    std::vector<double> size(d_, 0.0);
    shift_.assign(d_, 0.0);
    const double total = static_cast<double>(total_weight_);
    // Two rounds, the second about the first mean, so that a large common offset of the rows leaves no error.
    for (int round = 0; round < 2; ++round) {
      Sums sums(d_);
      for (int64_t i = 0; i < n_; ++i) add(i, sums);
      for (int64_t f = 0; f < d_; ++f) shift_[f] += sums.sum[f] / total;
    }
    Sums sums(d_);
    for (int64_t i = 0; i < n_; ++i) {
      add(i, sums);
      const double w = static_cast<double>(table_.weight(i));
      for (int64_t f = 0; f < d_; ++f) size[f] += w * std::fabs(table_.row(i)[f] * scale_[f] - shift_[f]);
    }
    // A compensated sum has an error of at most eps (1 + n eps) times the sum of the absolute terms, and so have the terms.
    // The sum over all rows about the rounded mean is not quite 0, which the gains neglect.
    double squares = 0.0;
    for (int64_t f = 0; f < d_; ++f) {
      const double off = 16.0 * kEps * size[f] + std::fabs(sums.sum[f]);
      squares += off * off;
    }
    sum_error_ = std::sqrt(squares) * (1.0 + 1e-6);
  }

  struct Sums {
    std::vector<double> sum, lost;  // by column
    explicit Sums(int64_t d) : sum(d, 0.0), lost(d, 0.0) {}
  };

  void add(int64_t i, Sums &sums) const {
    add_centered(table_.row(i), scale_.data(), shift_.data(), static_cast<double>(table_.weight(i)), d_, sums.sum.data(),
                 sums.lost.data());
  }

  // Calls visit(cut, low, high) for every cut of a column with bounds on its gain.
  template <class Visit>
  void sweep(const OrderedColumn &ordered, Visit &&visit) const {
    Sums sums(d_);
    int64_t side = 0, i = 0;  // the weight of the rows added up
    for (size_t cut = 0; cut < ordered.cuts.size(); ++cut) {
      for (; i < ordered.cuts[cut]; ++i) {
        if (i + kLookAhead < n_) prefetch(table_.row(ordered.rows[i + kLookAhead]), std::min<int64_t>(d_ * 8, 512));
        add(ordered.rows[i], sums);
        side += table_.weight(ordered.rows[i]);
      }
      report(cut, sums.sum, side, visit);
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
    sweep(OrderedColumn(table_.columns, n_, feature), [&](size_t, double low, double high) {
      range.low = std::max(range.low, low);
      range.high = std::max(range.high, high);
    });
    return range;
  }

  // Adds the cuts of a column whose gain may be at least `least`.
  void add_candidates(int64_t feature, double least, FoundCuts &found) const {
    const OrderedColumn ordered(table_.columns, n_, feature);
    std::vector<size_t> cuts;
    sweep(ordered, [&](size_t cut, double, double high) {
      if (high >= least) cuts.push_back(cut);
    });
    for (const size_t cut : cuts) found.add(table_, feature, ordered, static_cast<int64_t>(cut));
  }

  const CutTable table_;
  int64_t n_, d_, total_weight_;
  double sum_error_ = 0.0;
  std::vector<double> scale_, shift_;  // by column
};

}  // namespace
}  // namespace cutwise

void bind_optimal_means(nanobind::module_ &m) {
  using namespace cutwise;
  bind_cut_search(
      m, "near_best_means_cuts",
      R"(The cuts of a dense table that may cost least when each side is served by its mean, by column, then by value.

weights: positive; a weight equals a repeated row. columns: the same rows in the columns that may be cut; None: the matrix itself.
Returns three arrays, (n_cuts,): the feature, the largest value on the left and the smallest on the right. There is one cut, or
several where float64 cannot decide between them, or none where all rows are equal in the columns. Takes O(n d c + n (c + d)
log n) time for n rows, d columns of the matrix and c that may be cut.)",
      [](const CutTable &table, int n_jobs, Interrupt &interrupt) { return MeansSearch(table).search(n_jobs, interrupt); });
}
