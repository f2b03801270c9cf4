// Means of clusters, as exact sums that are divided once, so that they do not depend on the order of the rows or on threads.
#include "base/arrays.hpp"
#include "base/exact_sums.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "clustering/centers.hpp"
#include "clustering/sums.hpp"

namespace cutwise {
namespace {

// For every cluster the power of two that scales its largest fractional weight to at most 1. Then products with values stay in
// range, and a cluster of light rows has as many digits as one of heavy rows.
std::vector<double> weight_scales(const AnyWeights &weights, const In1<int32_t> &labels, int64_t k) {
  std::vector<double> scale(k, 1.0);
  const auto *w = std::get_if<In1<double>>(&weights);
  if (w == nullptr) return scale;
  std::vector<double> largest(k, 0.0);
  for (size_t i = 0; i < labels.shape(0); ++i)
    if (labels(i) >= 0) largest[labels(i)] = std::max(largest[labels(i)], (*w)(i));
  for (int64_t j = 0; j < k; ++j) scale[j] = term_scale(largest[j], 0);
  return scale;
}

constexpr double kLargest = std::numeric_limits<double>::max();  // stands for squares that overflow too

CUTWISE_CLONES void square_distances(const double *row, int64_t d, const double *around, double *to) {
  for (int64_t f = 0; f < d; ++f) to[f] = smaller((row[f] - around[f]) * (row[f] - around[f]), kLargest);
}

// The least and the largest value of each column in each cluster. Products with float64 weights are rounded, so the mean of
// equal values could differ from them in the last bit: it is clipped to this range.
class ClusterRanges {
 public:
  ClusterRanges(int64_t k, int64_t d)
      : d_(d),
        n_rows_(k, 0),
        n_stored_(k * d, 0),
        least_(k * d, std::numeric_limits<double>::infinity()),
        largest_(k * d, -std::numeric_limits<double>::infinity()) {}

  template <class Row>
  void add(int32_t label, const Row &row) {
    n_rows_[label] += 1;
    for (int64_t p = 0; p < row.n; ++p) {
      const int64_t i = label * d_ + row.column(p);
      n_stored_[i] += 1;
      least_[i] = std::min(least_[i], row.values[p]);
      largest_[i] = std::max(largest_[i], row.values[p]);
    }
  }
  void add(const ClusterRanges &other) {
    for (size_t j = 0; j < n_rows_.size(); ++j) n_rows_[j] += other.n_rows_[j];
    for (size_t i = 0; i < least_.size(); ++i) {
      n_stored_[i] += other.n_stored_[i];
      least_[i] = std::min(least_[i], other.least_[i]);
      largest_[i] = std::max(largest_[i], other.largest_[i]);
    }
  }
  // The mean, clipped to the range; rows that store no value are 0.
  double within(int64_t cluster, int64_t f, double mean) const {
    const int64_t i = cluster * d_ + f;
    const double absent = n_stored_[i] < n_rows_[cluster] ? 0.0 : least_[i];
    return std::max(std::min(least_[i], absent), std::min(std::max(largest_[i], absent), mean));
  }

 private:
  int64_t d_;
  std::vector<int64_t> n_rows_, n_stored_;
  std::vector<double> least_, largest_;
};

// Reads the squared differences between dense values and one number per column.
class SquaresReader final : public RowReader {
 public:
  SquaresReader(std::unique_ptr<RowReader> rows, const double *around)
      : RowReader(rows->n_rows(), rows->n_cols(), false, true), rows_(std::move(rows)), around_(around) {}

  Tile tile(int64_t first, int64_t n, std::vector<double> &scratch) const override {
    const int64_t d = n_cols();
    const Tile from = rows_->tile(first, n, scratch);
    if (scratch.size() < static_cast<size_t>(n * d)) scratch.resize(n * d);
    for (int64_t r = 0; r < n; ++r) square_distances(from.rows + r * from.stride, d, around_, scratch.data() + r * d);
    return {scratch.data(), d};
  }
  double value(int64_t, int64_t) const override { throw std::logic_error("squares are read in tiles"); }

 private:
  std::unique_ptr<RowReader> rows_;
  const double *around_;
};

// Sums over some rows by cluster.
struct ClusterSums {
  ClusterSums(int64_t k, int64_t d, bool fractional)
      : high(k * d, 0),
        low(k * d, 0),
        weight(k, 0),
        weight_high(k, 0),
        weight_low(k, 0),
        ranges(fractional ? k : 0, fractional ? d : 0) {}

  void add(const ClusterSums &other) {
    add_all(high, other.high);
    add_all(low, other.low);
    add_all(weight, other.weight);
    add_all(weight_high, other.weight_high);
    add_all(weight_low, other.weight_low);
    ranges.add(other.ranges);
  }

  std::vector<int64_t> high, low, weight, weight_high, weight_low;
  ClusterRanges ranges;  // only for float64 weights
};

struct SumPlan {
  std::vector<double> scale;         // by column
  std::vector<double> weight_scale;  // by cluster
  double unit;
};

// Adds one row to one cluster.
struct RowAdder {
  const SumPlan &plan;
  const double *weight_scale;  // by label
  const AnyWeights &weights;
  int64_t d;

  // Row: dense or stored.
  template <class Row>
  void add(ClusterSums &sums, int64_t number, int32_t label, const Row &row) const {
    int64_t *high = sums.high.data() + label * d, *low = sums.low.data() + label * d;
    if (const auto *fractions = std::get_if<In1<double>>(&weights)) {
      const double weight = (*fractions)(number)*weight_scale[label];
      const SplitTerm term = split_term(weight * plan.unit, plan.unit);
      sums.weight_high[label] += term.high;
      sums.weight_low[label] += term.low;
      add_product(row, plan.scale.data(), plan.unit, weight, high, low);
      if (weight > 0.0) sums.ranges.add(label, row);
      return;
    }
    const auto *whole = std::get_if<In1<int64_t>>(&weights);
    const int64_t weight = whole != nullptr ? (*whole)(number) : 1;
    sums.weight[label] += weight;
    add_row(row, plan.scale.data(), plan.unit, weight, high, low);
  }
};

// Calls take(sums, at, j) for every cluster j, whose sums are those of cluster `at` in `sums`.
template <class Take>
void sum_clusters(const RowReader &rows, const In1<int32_t> &labels, int64_t k, const SumPlan &plan, const AnyWeights &weights,
                  int n_jobs, Take &&take) {
  const int64_t n = rows.n_rows(), d = rows.n_cols();
  const bool fractional = std::holds_alternative<In1<double>>(weights);
  if (rows.is_sparse()) {  // there may be many columns, so the sums of one cluster at a time
    const ClusterRows clusters(labels.data(), n, k);
    parallel_for(n_jobs, k, [&](int64_t j) {
      const RowAdder adder{plan, plan.weight_scale.data() + j, weights, d};
      ClusterSums sums(1, d, fractional);
      std::vector<double> scratch;
      for (int64_t i = 0; i < clusters.size(j); ++i) {
        const int64_t row = clusters.rows(j)[i];
        adder.add(sums, row, 0, rows.stored(row, scratch));
      }
      take(sums, 0, j);
    });
    return;
  }
  const int64_t n_pieces = std::max<int64_t>(1, std::min<int64_t>(n_jobs, count_blocks(n)));
  std::vector<ClusterSums> parts;
  for (int64_t piece = 0; piece < n_pieces; ++piece) parts.emplace_back(k, d, fractional);
  parallel_for(n_jobs, n_pieces, [&](int64_t piece) {
    const RowAdder adder{plan, plan.weight_scale.data(), weights, d};
    rows.each(n * piece / n_pieces, n * (piece + 1) / n_pieces, [&](int64_t row, const auto &values) {
      if (labels(row) >= 0) adder.add(parts[piece], row, labels(row), values);
    });
  });
  for (int64_t piece = 1; piece < n_pieces; ++piece) parts[0].add(parts[piece]);
  for (int64_t j = 0; j < k; ++j) take(parts[0], j, j);
}

std::tuple<Owned<double, 2>, Owned<double, 1>> cluster_means(const Matrix &x, const In1<int32_t> &labels, int64_t k,
                                                             const AnyWeights &weights, int n_jobs,
                                                             const std::optional<In1<double>> &sizes,
                                                             const std::optional<In1<double>> &around) {
  const int64_t n = x.n_rows(), d = x.n_cols();
  check_labels(labels, n, k);
  for (const auto &of_columns : {sizes, around}) require(has_shape(of_columns, d), "there is one number for each column");
  require(!around || !x.is_sparse(), "squares are of dense rows");
  check_weights(weights, n);
  NewArray<double, 2> means(k, d);
  NewArray<double, 1> totals(k);
  without_gil([&] {
    std::unique_ptr<RowReader> rows = RowReader::of(x);
    if (around) rows = std::make_unique<SquaresReader>(std::move(rows), around->data());
    const bool fractional = std::holds_alternative<In1<double>>(weights);
    const int bits = bits_of_terms(weights, n);
    const std::vector<double> largest =
        sizes ? std::vector<double>(sizes->data(), sizes->data() + d) : column_sizes(*rows, n_jobs);
    SumPlan plan{largest, weight_scales(weights, labels, k), std::ldexp(1.0, bits)};
    for (double &s : plan.scale) s = term_scale(s, bits);
    const auto divide = [&](const ClusterSums &sums, int64_t at, int64_t j) {
      const double total = fractional ? sum_of_terms(sums.weight_high[at], sums.weight_low[at], plan.unit, plan.unit)
                                      : static_cast<double>(sums.weight[at]);
      totals.data()[j] = total / plan.weight_scale[j];
      for (int64_t f = 0; f < d; ++f) {
        const int64_t high = sums.high[at * d + f], low = sums.low[at * d + f];
        double &mean = means.data()[j * d + f];
        if (!(total > 0.0) || (around && largest[f] == kLargest)) mean = std::numeric_limits<double>::quiet_NaN();
        else if (fractional) mean = sums.ranges.within(at, f, sum_of_terms(high, low, plan.unit, plan.scale[f]) / total);
        else mean = mean_of_terms(high, low, sums.weight[at], plan.unit, plan.scale[f]);
      }
    };
    sum_clusters(*rows, labels, k, plan, weights, n_jobs, divide);
  });
  return {means.to_numpy(), totals.to_numpy()};
}

using Sums = std::tuple<Owned<int64_t, 2>, Owned<int64_t, 2>, Owned<int64_t, 1>>;

// The plan for integer weights. sizes: the largest absolute value of every column.
SumPlan whole_plan(const In1<double> &sizes, int64_t k, double total_weight) {
  const int bits = term_bits(total_weight);
  SumPlan plan{std::vector<double>(sizes.data(), sizes.data() + sizes.size()), std::vector<double>(k, 1.0),
               std::ldexp(1.0, bits)};
  for (double &s : plan.scale) s = term_scale(s, bits);
  return plan;
}

Sums cluster_sums(const Matrix &x, const In1<int32_t> &labels, int64_t k, const Weights &weights, const In1<double> &sizes,
                  double total_weight, int n_jobs) {
  const int64_t d = x.n_cols();
  check_labels(labels, x.n_rows(), k);
  require(has_shape(sizes, d), "there is one size for each column");
  checked(weights, x.n_rows());
  NewArray<int64_t, 2> high(k, d), low(k, d);
  NewArray<int64_t, 1> weight(k);
  {
    const AnyWeights any = weights ? AnyWeights(*weights) : AnyWeights();
    const GilRelease release;
    const auto take = [&](const ClusterSums &sums, int64_t at, int64_t j) {
      std::copy_n(sums.high.begin() + at * d, d, high.data() + j * d);
      std::copy_n(sums.low.begin() + at * d, d, low.data() + j * d);
      weight.data()[j] = sums.weight[at];
    };
    sum_clusters(*RowReader::of(x), labels, k, whole_plan(sizes, k, total_weight), any, n_jobs, take);
  }
  return {high.to_numpy(), low.to_numpy(), weight.to_numpy()};
}

Owned<double, 2> means_of_sums(const In2<int64_t> &high, const In2<int64_t> &low, const In1<int64_t> &weight,
                               const In1<double> &sizes, double total_weight) {
  const int64_t k = weight.size(), d = sizes.size();
  for (const auto *each : {&high, &low}) require(has_shape(*each, k, d), "sums are of shape (k, d)");
  const SumPlan plan = whole_plan(sizes, k, total_weight);
  NewArray<double, 2> means(k, d);
  for (int64_t j = 0; j < k; ++j)
    for (int64_t f = 0; f < d; ++f)
      means.data()[j * d + f] = weight(j) > 0 ? mean_of_terms(high(j, f), low(j, f), weight(j), plan.unit, plan.scale[f])
                                              : std::numeric_limits<double>::quiet_NaN();
  return means.to_numpy();
}

}  // namespace
}  // namespace cutwise

void bind_means(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("cluster_sums", &cutwise::cluster_sums, "matrix"_a, "labels"_a, "n_clusters"_a, "weights"_a.none(), "sizes"_a,
        "total_weight"_a, "n_jobs"_a = 1,
        R"(Exact sums of a batch of rows by cluster, as high and low parts, (n_clusters, d), and the weights, (n_clusters,).

The sums of all batches add up for means_of_sums. sizes (d,), total_weight: the largest absolute value of every column, and the
weight, over all batches.)");
  m.def("means_of_sums", &cutwise::means_of_sums, "high"_a, "low"_a, "weight"_a, "sizes"_a, "total_weight"_a,
        "The means, (n_clusters, d), with the same bits as those of cluster_means, from the added sums of all batches.");
  m.def("cluster_means", &cutwise::cluster_means, "matrix"_a, "labels"_a, "n_clusters"_a, "weights"_a.none() = nb::none(),
        "n_jobs"_a = 1, "column_sizes"_a.none() = nb::none(), "squares_around"_a.none() = nb::none(),
        R"(Weighted means of the rows of each cluster, (n_clusters, d), and the weight of each cluster.

Rows with a negative label are left out; clusters without weight are nan. Terms are split into integers and summed exactly (to
2**-80 of a column's largest value for a million rows): offsets lose no digits, threads and the order of rows do not change a bit,
and an int64 weight equals a repeated row. Integer weights add up to 2**45 at most. column_sizes (d,): the largest absolute value
of every column, if it is known, which saves a pass over the rows. squares_around (d,), for dense rows: returns means of the
squared differences from these numbers in place of the values; nan where one overflows float64.)");
}
