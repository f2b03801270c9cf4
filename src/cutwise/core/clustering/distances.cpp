// Nearest centers of rows, and costs in fixed point for the searches. Costs are computed from centers, or given by the caller.
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

// ---- from a tile of costs

// For each row the smallest cost and its first center; raises max_excess to the largest difference between the largest and the
// smallest cost of a row. The lanes beyond k are infinite.
CUTWISE_CLONES void nearest_of_tile(const double *costs, int64_t n, int64_t k, int64_t padded, int32_t *label, double *min_cost,
                                    double &max_excess) {
  for (int64_t r = 0; r < n; ++r) {
    const double *row = costs + r * padded;
    Lanes smallest, largest, lanes;
    load(smallest, row);
    largest = smallest;
    int64_t j = kLanes;
    for (; j + kLanes <= k; j += kLanes) {
      load(lanes, row + j);
      keep_smaller(smallest, lanes);
      keep_larger(largest, lanes);
    }
    double part[kLanes], low, high = row[0];
    if (k >= kLanes) {
      store(part, largest);
      high = larger(larger(part[0], part[1]), larger(part[2], part[3]));
    }
    if (j < padded) {
      load(lanes, row + j);
      keep_smaller(smallest, lanes);
    }
    for (j = k / kLanes * kLanes; j < k; ++j) high = larger(high, row[j]);
    store(part, smallest);
    low = smaller(smaller(part[0], part[1]), smaller(part[2], part[3]));
    if (label != nullptr) label[r] = first_of(row, k, padded, low);
    min_cost[r] = low;
    // Infinity minus infinity is nan: the excess is infinite then, so that costs that overflow float64 are noticed in any row.
    const double excess = high - low == high - low ? high - low : std::numeric_limits<double>::infinity();
    max_excess = excess > max_excess ? excess : max_excess;
  }
}

// Costs in int32 have no weights.
template <class Unit>
CUTWISE_CLONES void excess_of_row(const double *costs, int64_t k, double scale, double min_cost, int64_t weight, Unit *out,
                                  int64_t *sums) {
  for (int64_t j = 0; j < k; ++j) {
    const int64_t units = (sizeof(Unit) == 4 ? 1 : weight) * round_small(scale * (costs[j] - min_cost));
    out[j] = static_cast<Unit>(units);
    sums[j] += units;
  }
}

// ---- tables of costs: by centers, or given

const double *checked_centers(const Matrix &x, const In2<double> &centers) {
  if (centers.shape(0) == 0) throw std::invalid_argument("there is at least one center");
  if (static_cast<int64_t>(centers.shape(1)) != x.n_cols())
    throw std::invalid_argument("the centers have " + std::to_string(centers.shape(1)) + " columns, the rows " +
                                std::to_string(x.n_cols()));
  return centers.data();
}

class CostsByCenters {
 public:
  CostsByCenters(const Matrix &x, const In2<double> &centers, const std::string &objective, bool by_all = true)
      : rows_(RowReader::of(x)),
        panels_(checked_centers(x, centers), centers.shape(0), centers.shape(1), read_objective(objective),
                !rows_->gives_tiles(), by_all) {}

  int64_t n() const { return rows_->n_rows(); }
  int64_t k() const { return panels_.k(); }
  int64_t padded() const { return panels_.padded(); }
  const RowReader &rows() const { return *rows_; }
  const CenterPanels &panels() const { return panels_; }

  // Calls work(first row, number of rows, costs, tile of the rows if they are dense).
  template <class Work>
  void each_tile(int n_jobs, Work &&work) const {
    for_each_tile(*rows_, panels_, n_jobs, work);
  }

 private:
  std::unique_ptr<RowReader> rows_;
  CenterPanels panels_;
};

// Costs that the caller gives, in tiles with the same padding as those of centers.
class CostsGiven {
 public:
  explicit CostsGiven(const Matrix &costs) : rows_(RowReader::of(costs)) {
    if (costs.n_cols() == 0) throw std::invalid_argument("there is at least one column of costs");
    if (costs.is_sparse()) throw std::invalid_argument("given costs are a dense array");
  }

  int64_t n() const { return rows_->n_rows(); }
  int64_t k() const { return rows_->n_cols(); }
  int64_t padded() const { return (k() + kLanes - 1) / kLanes * kLanes; }

  template <class Work>
  void each_tile(int n_jobs, Work &&work) const {
    const int64_t capacity = tile_rows(padded());
    parallel_for(n_jobs, count_blocks(n()), [&](int64_t block) {
      std::vector<double> costs(capacity * padded(), std::numeric_limits<double>::infinity()), scratch;
      const int64_t last = std::min(n(), (block + 1) * kBlockRows);
      for (int64_t row = block * kBlockRows; row < last; row += capacity) {
        const int64_t rows = std::min(capacity, last - row);
        const Tile tile = rows_->tile(row, rows, scratch);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t j = 0; j < k(); ++j) costs[r * padded() + j] = tile.rows[r * tile.stride + j];
        work(row, rows, costs.data(), tile);
      }
    });
  }

 private:
  std::unique_ptr<RowReader> rows_;
};

// ---- the kernels

// Labels, costs by the nearest center, and the largest excess.
using Nearest = std::tuple<Owned<int32_t, 1>, Owned<double, 1>, double>;

template <class Costs>
Nearest nearest(const Costs &costs, int n_jobs) {
  NewArray<int32_t, 1> label(costs.n());
  NewArray<double, 1> min_cost(costs.n());
  double max_excess = 0.0;
  without_gil([&] {
    std::vector<double> largest(count_blocks(costs.n()), 0.0);
    costs.each_tile(n_jobs, [&](int64_t first, int64_t n, const double *c, const Tile &) {
      nearest_of_tile(c, n, costs.k(), costs.padded(), label.data() + first, min_cost.data() + first,
                      largest[first / kBlockRows]);
    });
    for (double l : largest) max_excess = std::max(max_excess, l);
  });
  return {label.to_numpy(), min_cost.to_numpy(), max_excess};
}

// The number of binary digits of a non-negative number below 2^52.
int64_t digits(int64_t units) { return units == 0 ? 0 : (bit_cast<int64_t>(static_cast<double>(units)) >> 52) - 1022; }

const char *kTooLarge = "the scale is too large: a cost exceeds the range of its fixed-point number";

// The excess costs (int32 or int64), the base costs, the excess summed by center, and the magnitude.
using Excess = std::variant<Owned<int32_t, 2>, Owned<int64_t, 2>>;
using Fixed = std::tuple<Excess, Owned<int64_t, 1>, Owned<int64_t, 1>, int64_t>;

template <class Costs, class Unit>
Fixed fixed(const Costs &costs, double scale, const int64_t *weights, int n_jobs) {
  NewArray<Unit, 2> excess(costs.n(), costs.k());
  NewArray<int64_t, 1> base(costs.n());
  NewArray<int64_t, 1> sums(costs.k());
  const int64_t k = costs.k();
  std::fill(sums.data(), sums.data() + k, int64_t{0});
  int64_t magnitude = 0;
  without_gil([&] {
    std::mutex adding;
    costs.each_tile(n_jobs, [&](int64_t first, int64_t n, const double *c, const Tile &) {
      double low[kMostTileRows];
      double most = 0.0;
      nearest_of_tile(c, n, k, costs.padded(), nullptr, low, most);
      if (!(scale * most <= (sizeof(Unit) == 4 ? 0x1p30 : 0x1p51))) throw std::invalid_argument(kTooLarge);
      std::vector<int64_t> tile_sums(k, 0);
      int64_t tile_magnitude = 0;
      for (int64_t r = 0; r < n; ++r) {
        const int64_t weight = weights == nullptr ? 1 : weights[first + r];
        const double *row = c + r * costs.padded(), units = scale * low[r];
        if (!((std::fabs(units) + scale * most) * static_cast<double>(weight) < 0x1p62)) throw std::invalid_argument(kTooLarge);
        Unit *out = excess.data() + (first + r) * k;
        excess_of_row(row, k, scale, low[r], weight, out, tile_sums.data());
        base.data()[first + r] = weight * std::llrint(units);
        if (k > 1) tile_magnitude += weight * digits(round_small(scale * (smallest_two(row, costs.padded()).second - low[r])));
      }
      std::lock_guard<std::mutex> lock(adding);
      for (int64_t j = 0; j < k; ++j) sums.data()[j] += tile_sums[j];
      magnitude += tile_magnitude;
    });
  });
  return {excess.to_numpy(), base.to_numpy(), sums.to_numpy(), magnitude};
}

template <class Costs>
Fixed fixed_of(const Costs &costs, double scale, const Weights &weights, bool wide, int n_jobs) {
  if (!(scale > 0.0) || !std::isfinite(scale)) throw std::invalid_argument("the scale is a positive number");
  const int64_t *w = checked(weights, costs.n());
  if (weights && !wide) throw std::invalid_argument("weighted costs are int64");
  return wide ? fixed<Costs, int64_t>(costs, scale, w, n_jobs) : fixed<Costs, int32_t>(costs, scale, w, n_jobs);
}

Nearest assign(const Matrix &x, const In2<double> &centers, const std::string &objective, int n_jobs) {
  return nearest(CostsByCenters(x, centers, objective), n_jobs);
}

Nearest assign_given(const Matrix &costs, int n_jobs) { return nearest(CostsGiven(costs), n_jobs); }

Fixed fixed_costs(const Matrix &x, const In2<double> &centers, const std::string &objective, double scale,
                  const Weights &weights, bool wide, int n_jobs) {
  return fixed_of(CostsByCenters(x, centers, objective), scale, weights, wide, n_jobs);
}

Fixed fixed_costs_given(const Matrix &costs, double scale, const Weights &weights, bool wide, int n_jobs) {
  return fixed_of(CostsGiven(costs), scale, weights, wide, n_jobs);
}

Owned<double, 2> center_costs(const Matrix &x, const In2<double> &centers, const std::string &objective, int n_jobs) {
  const CostsByCenters costs(x, centers, objective);
  NewArray<double, 2> out(costs.n(), costs.k());
  without_gil([&] {
    costs.each_tile(n_jobs, [&](int64_t first, int64_t n, const double *c, const Tile &) {
      for (int64_t r = 0; r < n; ++r) std::copy_n(c + r * costs.padded(), costs.k(), out.data() + (first + r) * costs.k());
    });
  });
  return out.to_numpy();
}

// Measures R rows at a time, each by the center of its label: the additions of one row depend on each other.
template <int R>
void costs_of_rows(const double *row, int64_t stride, const CenterPanels &centers, const int32_t *labels, double *out) {
  const double *center[R];
  double sum[R];
  for (int r = 0; r < R; ++r) {
    center[r] = centers.center(std::max(labels[r], 0));
    sum[r] = 0.0;
  }
  const auto add = [&](auto term) {
    for (int64_t f = 0; f < centers.n_cols(); ++f)
      for (int r = 0; r < R; ++r) sum[r] += term(row[r * stride + f] - center[r][f]);
  };
  if (centers.objective() == Objective::kmeans) add([](double difference) { return difference * difference; });
  else add([](double difference) { return std::fabs(difference); });
  for (int r = 0; r < R; ++r) out[r] = labels[r] < 0 ? 0.0 : sum[r];
}

// The costs by the center of each row's label: the same sums, in the same order, as for all centers.
void dense_label_costs(const RowReader &rows, const CenterPanels &centers, const int32_t *labels, int64_t first, int64_t last,
                       double *out) {
  std::vector<double> scratch;
  const int64_t d = rows.n_cols(), step = tile_rows(d);
  for (int64_t row = first; row < last; row += step) {
    const int64_t n = std::min(step, last - row);
    const Tile tile = rows.tile(row, n, scratch);
    int64_t r = 0;
    for (; r + 4 <= n; r += 4)
      costs_of_rows<4>(tile.rows + r * tile.stride, tile.stride, centers, labels + row + r, out + row + r);
    for (; r < n; ++r) costs_of_rows<1>(tile.rows + r * tile.stride, tile.stride, centers, labels + row + r, out + row + r);
  }
}

void sparse_label_costs(const RowReader &rows, const CenterPanels &centers, const int32_t *labels, int64_t first, int64_t last,
                        double *out) {
  CostTile tile(rows, centers);
  for (int64_t row = first; row < last; ++row) out[row] = labels[row] < 0 ? 0.0 : tile.of_sparse(row, labels[row]);
}

Owned<double, 1> label_costs(const Matrix &x, const In2<double> &centers, const In1<int32_t> &labels,
                             const std::string &objective, int n_jobs) {
  const CostsByCenters costs(x, centers, objective, false);
  const int64_t n = costs.n();
  check_labels(labels, n, costs.k());
  NewArray<double, 1> out(n);
  without_gil([&] {
    const auto kernel = costs.rows().gives_tiles() ? dense_label_costs : sparse_label_costs;
    parallel_for(n_jobs, count_blocks(n), [&](int64_t block) {
      kernel(costs.rows(), costs.panels(), labels.data(), block * kBlockRows, std::min(n, (block + 1) * kBlockRows),
             out.data());
    });
  });
  return out.to_numpy();
}

}  // namespace
}  // namespace cutwise

void bind_distances(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("assign", &cutwise::assign, "matrix"_a, "centers"_a, "objective"_a = "kmeans", "n_jobs"_a = 1,
        R"(The nearest center of every row (the lowest number on ties), its cost, and the largest excess.

centers (k, d). objective: "kmeans" for squared Euclidean distance, "kmedians" for l1 distance, summed over the columns in order in
float64 from the differences, so that a common offset of all values loses no digits. CSR rows of up to 64 columns give the same
bits as dense rows; with more columns the costs may differ in the last bits, and the labels do not. The excess of a row is its
largest minus its smallest cost; it is infinite where costs overflow float64. The numbers of a row depend on that row and the
centers only.)");
  m.def("assign_given", &cutwise::assign_given, "costs"_a, "n_jobs"_a = 1, "assign for given costs, (n_rows, k), finite.");
  m.def("fixed_costs", &cutwise::fixed_costs, "matrix"_a, "centers"_a, "objective"_a, "scale"_a,
        "weights"_a.none() = nb::none(), "wide"_a = true, "n_jobs"_a = 1,
        R"(Costs of the rows by every center in fixed point.

scale: units per unit of cost; a power of two keeps equal costs equal and integer costs exact. wide: the excess is int64 and not
int32; weights need that. An unweighted excess may be at most 2**30 units, or 2**51 with wide; larger ones raise ValueError.
Returns excess (n_rows, k) = weight * rint(scale * (cost - smallest cost of the row)), base (n_rows,) = weight * rint(scale *
smallest cost), the sums of the excess (k,), and the sum over the rows of weight times the number of binary digits of the
unweighted excess of the second nearest center.)");
  m.def("fixed_costs_given", &cutwise::fixed_costs_given, "costs"_a, "scale"_a, "weights"_a.none() = nb::none(),
        "wide"_a = true, "n_jobs"_a = 1, "fixed_costs for given costs, (n_rows, k).");
  m.def("center_costs", &cutwise::center_costs, "matrix"_a, "centers"_a, "objective"_a = "kmeans", "n_jobs"_a = 1,
        "The cost of every row by every center, (n_rows, k), with the same bits that assign and fixed_costs use.");
  m.def("label_costs", &cutwise::label_costs, "matrix"_a, "centers"_a, "labels"_a, "objective"_a = "kmeans", "n_jobs"_a = 1,
        "The cost of every row by the center of its label, (n_rows,), with the same bits as assign; 0 where the label is "
        "negative. "
        "The last bits may differ where a sparse row of more than 64 columns is about equally far from two centers.");
}
