// Coordinate-wise weighted medians of clusters, by selection: exact, and linear in the number of values.
//
// They are lower medians: the smallest value of the cluster such that the rows at or below it have at least half of its weight.
// Any value between the lower and the upper median costs the same. Weights are integers here, so that nothing is rounded, and
// the result depends on the values and their weights only, and not on the order of the rows or on threads.
#include "clustering/centers.hpp"

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "clustering/sums.hpp"

namespace cutwise {

namespace {

// A value of a column and the weight of its row.
struct Weighted {
  double value;
  int64_t weight;
};
inline bool operator<(const Weighted &a, const Weighted &b) { return a.value < b.value; }

// The smallest value such that the values at or below it have a weight of at least `needed`; 1 <= needed <= total weight.
double select(std::vector<double> &values, int64_t needed) {
  const auto at = values.begin() + (needed - 1);
  std::nth_element(values.begin(), at, values.end());
  return plain_zero(*at);
}

double select(std::vector<Weighted> &values, int64_t needed) {
  auto first = values.begin(), last = values.end();
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last);
    int64_t below = 0;
    for (auto v = first; v != middle; ++v) below += v->weight;
    if (below >= needed) {
      last = middle;
    } else {
      needed -= below;
      first = middle;

      if (middle->weight >= needed) return plain_zero(middle->value);
      needed -= middle->weight;
      ++first;
    }
  }
  return plain_zero(first->value);
}

inline double value_of(double item) { return item; }
inline double value_of(const Weighted &item) { return item.value; }
inline int64_t weight_of(double) { return 1; }
inline int64_t weight_of(const Weighted &item) { return item.weight; }

// The same as select(), but faster if `guess` is near: one pass finds out on which side of it the value is, or that it is the
// value. `side` is scratch.
template <class Item>
double select_near(std::vector<Item> &values, int64_t needed, double guess, std::vector<Item> &side) {
  if (std::isnan(guess)) return select(values, needed);
  int64_t below = 0, above = 0, total = 0;
  for (const Item &item : values) {
    const int64_t weight = weight_of(item);
    total += weight;
    below += value_of(item) < guess ? weight : 0;
    above += value_of(item) > guess ? weight : 0;
  }
  if (below < needed && needed <= total - above) return plain_zero(guess);
  const bool left = needed <= below;
  side.clear();
  for (const Item &item : values)
    if (left ? value_of(item) < guess : value_of(item) > guess) side.push_back(item);
  return select(side, left ? needed : needed - (total - above));
}

// What the selection works on: values of weight 1 each, or values with weights.
struct Counted {
  using Item = double;
  int64_t weight(int64_t) const { return 1; }
  Item item(int64_t, double value) const { return value; }
};
struct Weighing {
  using Item = Weighted;
  const int64_t *weights;
  int64_t weight(int64_t row) const { return weights[row]; }
  Item item(int64_t row, double value) const { return {value, weights[row]}; }
};

// Columns that are read together, as their values of a row share a cache line.
constexpr int64_t kColumns = 8;
// The most values that a thread gathers at once, unless one column has more.
constexpr int64_t kMostGathered = int64_t{1} << 21;

template <class Weights>
void dense_medians(const RowReader &x, const Weights &weights, const int64_t *rows, int64_t n, int64_t first, int64_t last,
                   double *medians) {
  std::vector<std::vector<typename Weights::Item>> columns(last - first);
  for (auto &column : columns) column.reserve(n);
  std::vector<double> values(kMostTileRows * (last - first));
  std::vector<typename Weights::Item> side;
  int64_t total = 0;
  for (int64_t at = 0; at < n; at += kMostTileRows) {
    const int64_t some = std::min(kMostTileRows, n - at);
    x.gather_columns(rows + at, some, first, last, values.data());
    for (int64_t r = 0; r < some; ++r) {
      const int64_t row = rows[at + r], weight = weights.weight(row);
      if (weight == 0) continue;
      total += weight;
      for (int64_t f = 0; f < last - first; ++f) columns[f].push_back(weights.item(row, values[r * (last - first) + f]));
    }
  }
  if (total == 0) return;
  for (int64_t f = first; f < last; ++f) medians[f] = select_near(columns[f - first], half_of(total), medians[f], side);
}

// The weight of the zeros, which are not read, is the total minus that of the stored values.
template <class Weights>
void sparse_medians(const RowReader &x, const Weights &weights, const int64_t *rows, int64_t n, double *medians) {
  using Item = typename Weights::Item;
  const int64_t d = x.n_cols();
  std::vector<double> scratch;
  std::vector<int64_t> end(d + 1, 0);
  int64_t total = 0;
  for (int64_t r = 0; r < n; ++r) {
    const int64_t weight = weights.weight(rows[r]);
    total += weight;
    if (weight == 0) continue;
    const StoredRow stored = x.stored(rows[r], scratch);
    for (int64_t p = 0; p < stored.n; ++p) ++end[stored.columns[p] + 1];
  }
  if (total == 0) return;
  for (int64_t f = 0; f < d; ++f) end[f + 1] += end[f];
  std::vector<Item> items(end[d]);
  // end[f] is the begin of column f before this loop, and its end afterwards.
  for (int64_t r = 0; r < n; ++r) {
    if (weights.weight(rows[r]) == 0) continue;
    const StoredRow stored = x.stored(rows[r], scratch);
    for (int64_t p = 0; p < stored.n; ++p) items[end[stored.columns[p]]++] = weights.item(rows[r], stored.values[p]);
  }
  std::vector<Item> negative, positive;
  for (int64_t f = 0; f < d; ++f) {
    negative.clear();
    positive.clear();
    int64_t below = 0, above = 0;
    for (int64_t p = f == 0 ? 0 : end[f - 1]; p < end[f]; ++p) {
      const bool left = value_of(items[p]) < 0.0;
      (left ? negative : positive).push_back(items[p]);
      (left ? below : above) += weight_of(items[p]);
    }
    const int64_t needed = half_of(total);
    if (below >= needed) medians[f] = select(negative, needed);
    else if (total - above >= needed) medians[f] = 0.0;
    else medians[f] = select(positive, needed - (total - above));
  }
}

template <class Weights>
void medians_by(const RowReader &x, const ClusterRows &clusters, const Weights &weights, const char *wanted, double *medians,
                int n_jobs) {
  struct Piece {
    int64_t cluster, first, last;
  };
  const int64_t d = x.n_cols(), k = static_cast<int64_t>(clusters.begin.size()) - 1;
  std::vector<Piece> pieces;
  for (int64_t j = 0; j < k; ++j) {
    if (clusters.size(j) == 0 || (wanted != nullptr && !wanted[j])) continue;
    const int64_t width = x.is_sparse() ? d : std::clamp<int64_t>(kMostGathered / clusters.size(j), 1, kColumns);
    for (int64_t f = 0; f < d; f += width) pieces.push_back({j, f, std::min(d, f + width)});
  }
  parallel_for(n_jobs, static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const Piece &piece = pieces[i];
    const int64_t *rows = clusters.rows(piece.cluster), n = clusters.size(piece.cluster);
    double *to = medians + piece.cluster * d;
    if (x.is_sparse()) sparse_medians(x, weights, rows, n, to);
    else dense_medians(x, weights, rows, n, piece.first, piece.last, to);
  });
}

}  // namespace

void medians_of(const RowReader &x, const ClusterRows &clusters, const int64_t *weights, const char *wanted, double *medians,
                int n_jobs) {
  if (weights == nullptr) medians_by(x, clusters, Counted{}, wanted, medians, n_jobs);
  else medians_by(x, clusters, Weighing{weights}, wanted, medians, n_jobs);
}

namespace {

constexpr int kWeightBits = 61;  // of the sum of all weights

// Writes weights as integers: fractional ones in units so small that their sum just fits. Returns the unit.
double integers_of(const AnyWeights &weights, int64_t n, std::vector<int64_t> &out) {
  if (const auto *w = std::get_if<In1<int64_t>>(&weights)) {
    double total = 0.0;
    for (int64_t i = 0; i < n; ++i) total += static_cast<double>((*w)(i));
    if (!(total < 0x1p61)) throw std::invalid_argument("the weights add up to more than 2^61");
    out.assign(w->data(), w->data() + n);
    return 1.0;
  }
  const auto &w = std::get<In1<double>>(weights);
  double largest = 0.0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, w(i));
  // The unit depends on the largest weight and the number of rows only.
  int exponent = 0, rows = 0;
  std::frexp(largest, &exponent);
  while (rows < 62 && (int64_t{1} << rows) < n) ++rows;
  const int shift = kWeightBits - 1 - rows - exponent;
  out.resize(n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t units = static_cast<int64_t>(std::llrint(std::ldexp(w(i), shift)));
    out[i] = w(i) > 0.0 ? std::max<int64_t>(units, 1) : 0;
  }
  return std::ldexp(1.0, -shift);
}

std::tuple<Owned<double, 2>, Owned<double, 1>> cluster_medians(const Matrix &x, const In1<int32_t> &labels, int64_t k,
                                                               const AnyWeights &weights, int n_jobs) {
  const int64_t n = x.n_rows(), d = x.n_cols();
  check_labels(labels, n, k);
  check_weights(weights, n);
  NewArray<double, 2> medians(k, d);
  NewArray<double, 1> totals(k);
  without_gil([&] {
    std::fill(medians.data(), medians.data() + k * d, std::numeric_limits<double>::quiet_NaN());
    const bool weighted = !std::holds_alternative<std::monostate>(weights);
    std::vector<int64_t> whole;
    const double unit = weighted ? integers_of(weights, n, whole) : 1.0;
    const ClusterRows clusters(labels.data(), n, k);
    const std::unique_ptr<RowReader> rows = RowReader::of(x);
    medians_of(*rows, clusters, weighted ? whole.data() : nullptr, nullptr, medians.data(), n_jobs);
    for (int64_t j = 0; j < k; ++j) {
      int64_t total = clusters.size(j);
      if (weighted) {
        total = 0;
        for (int64_t r = 0; r < clusters.size(j); ++r) total += whole[clusters.rows(j)[r]];
      }
      totals.data()[j] = static_cast<double>(total) * unit;
    }
  });
  return {medians.to_numpy(), totals.to_numpy()};
}

}  // namespace
}  // namespace cutwise

void bind_medians(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("cluster_medians", &cutwise::cluster_medians, "matrix"_a, "labels"_a, "n_clusters"_a, "weights"_a.none() = nb::none(),
        "n_jobs"_a = 1,
        R"(Weighted median of every column over the rows of each cluster, (n_clusters, d), and the weight of each cluster.

The lower median: the smallest value such that the rows at or below it have at least half of the cluster's weight. Rows with a
negative label are left out; clusters without weight are nan. Integer weights add up to less than 2**61. Fractional weights are
rounded to at least 40 binary digits of the largest for a million rows; equal ones stay equal, and only 0 becomes 0.)");
}
