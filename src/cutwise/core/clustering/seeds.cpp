// Starts for Lloyd's algorithm: by greedy k-means++, which draws rows with probabilities proportional to their cost; or from
// too many centers, of which the least important are removed. Also principal axes, on which starts are searched in few
// dimensions.
//
// David Arthur, Sergei Vassilvitskii (2007), "k-means++: the advantages of careful seeding"; their Section 5 treats other
// powers of the distance. Pasi Fränti (2000), "Genetic algorithm with deterministic crossover for vector quantization".
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"
#include "clustering/centers.hpp"

namespace cutwise {
namespace {

CUTWISE_CLONES void lower_potentials(const double *costs, int64_t n, int64_t padded, const double *closest,
                                     const double *weights, double *potentials) {
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < padded; ++j) {
      const double c = costs[r * padded + j];
      potentials[j] += weights[r] * (c < closest[r] ? c : closest[r]);
    }
}

// Weights as float64; null: 1 each.
std::vector<double> as_numbers(const int64_t *weights, int64_t n) {
  return weights ? std::vector<double>(weights, weights + n) : std::vector<double>(n, 1.0);
}

// Draws a row with a probability proportional to its part of the running sum. Rows that add nothing are not drawn, unless none
// adds anything.
int64_t draw(const std::vector<double> &running, double uniform) {
  const auto row = std::upper_bound(running.begin(), running.end(), uniform * running.back());
  return (row != running.end() ? row : std::lower_bound(running.begin(), running.end(), running.back())) - running.begin();
}

// Seeds one after the other, each the best of several rows that are drawn by their cost.
struct PlusPlus {
  const RowReader &x;
  const Objective objective;
  const std::vector<double> weight;                                                     // of the rows
  std::vector<double> closest = std::vector<double>(weight.size()), running = closest;  // costs, and sums for draws
  bool is_first = true, tries_costliest = false;
  std::vector<double> candidates{}, costs{};
  std::vector<int64_t> drawn{};

  // Begins with centers. Then the costliest row is among the trials of every seed.
  void begin(const double *centers, int64_t n_centers) {
    const CenterPanels panels(centers, n_centers, x.n_cols(), objective, !x.gives_tiles());
    for_each_tile(x, panels, 1, [&](int64_t first, int64_t rows, const double *c, const Tile &) {
      for (int64_t r = 0; r < rows; ++r)
        closest[first + r] = *std::min_element(c + r * panels.padded(), c + r * panels.padded() + n_centers);
    });
    tries_costliest = true;
    is_first = false;
    accumulate(true);
  }

  int64_t next(const double *uniforms, int64_t n_trials) {
    const int64_t n = x.n_rows(), d = x.n_cols();
    if (!(running.back() > 0.0)) accumulate(false);  // every distinct row is a seed already: draw by weight
    if (is_first) n_trials = 1;
    drawn.clear();
    candidates.resize(n_trials * d);
    for (int64_t t = 0; t < n_trials; ++t) {
      drawn.push_back(t == 0 && tries_costliest ? costliest() : draw(running, uniforms[t]));
      x.read(drawn.back(), candidates.data() + t * d);
    }
    const CenterPanels panels(candidates.data(), n_trials, d, objective, !x.gives_tiles());
    const int64_t padded = panels.padded();
    std::vector<double> potentials(padded, 0.0);
    costs.resize(n * padded);
    for_each_tile(x, panels, 1, [&](int64_t first, int64_t rows, const double *c, const Tile &) {
      std::copy(c, c + rows * padded, costs.begin() + first * padded);
      if (!is_first) lower_potentials(c, rows, padded, closest.data() + first, weight.data() + first, potentials.data());
    });
    const int64_t best = std::min_element(potentials.begin(), potentials.begin() + n_trials) - potentials.begin();
    for (int64_t i = 0; i < n; ++i) {
      const double c = costs[i * padded + best];
      closest[i] = is_first || c < closest[i] ? c : closest[i];
    }
    is_first = false;
    accumulate(true);
    return drawn[best];
  }

  void accumulate(bool by_cost) {
    double sum = 0.0;
    for (size_t i = 0; i < running.size(); ++i) running[i] = sum += by_cost ? weight[i] * closest[i] : weight[i];
  }

  int64_t costliest() const {
    size_t row = 0;
    for (size_t i = 1; i < closest.size(); ++i)
      if (weight[i] * closest[i] > weight[row] * closest[row]) row = i;
    return static_cast<int64_t>(row);
  }
};

Owned<int64_t, 1> plusplus(const Matrix &x, const In2<double> &uniforms, const Weights &weights, const std::string &name,
                           const std::optional<In2<double>> &centers) {
  const int64_t n = x.n_rows(), d = x.n_cols(), k = uniforms.shape(0), n_trials = static_cast<int64_t>(uniforms.shape(1));
  const int64_t n_centers = centers ? static_cast<int64_t>(centers->shape(0)) : 0;
  require(!centers || (n_centers > 0 && static_cast<int64_t>(centers->shape(1)) == d), "centers have the columns of the rows");
  if (n == 0 || k == 0 || n_trials == 0) throw std::invalid_argument("seeding needs a row, a seed and a trial");
  for (int64_t i = 0; i < k * n_trials; ++i)
    if (!(uniforms.data()[i] >= 0.0 && uniforms.data()[i] < 1.0)) throw std::invalid_argument("uniforms are in [0, 1)");
  const int64_t *w = checked(weights, n);
  const Objective objective = read_objective(name);
  NewArray<int64_t, 1> seeds(k);
  {
    const GilRelease release;
    const std::unique_ptr<RowReader> reader = RowReader::of(x);
    PlusPlus search{*reader, objective, as_numbers(w, n)};
    if (n_centers > 0) search.begin(centers->data(), n_centers);
    for (int64_t s = 0; s < k; ++s) seeds.data()[s] = search.next(uniforms.data() + s * n_trials, n_trials);
  }
  return seeds.to_numpy();
}

// Drops centers one at a time: each time the one without which the cost rises least, when every row goes to its second nearest
// center and that center moves to the mean of its old and new rows. Sums are taken in the order of the rows.
class FewerCenters {
 public:
  FewerCenters(const RowReader &x, const double *centers, int64_t k, const int64_t *weights, Objective objective)
      : x_(x),
        objective_(objective),
        k_(k),
        centers_(centers, centers + k * x.n_cols()),
        weight_(as_numbers(weights, x.n_rows())),
        near_(x.n_rows()) {
    const CenterPanels panels(centers, k_, x_.n_cols(), objective_, !x_.gives_tiles());
    for_each_tile(x_, panels, 1, [&](int64_t first, int64_t rows, const double *costs, const Tile &) {
      for (int64_t r = 0; r < rows; ++r) near_[first + r] = nearest_two(costs + r * panels.padded());
    });
  }

  void drop() {
    const int32_t leaving = missed_least();
    const auto last = static_cast<int32_t>(--k_);
    const int64_t d = x_.n_cols();
    std::copy_n(centers_.begin() + last * d, d, centers_.begin() + leaving * d);
    centers_.resize(k_ * d);
    lost_.clear();
    for (size_t i = 0; i < near_.size(); ++i) {
      Near &near = near_[i];
      if (near.center == leaving || near.second == leaving) lost_.push_back(static_cast<int64_t>(i));
      if (near.center == last) near.center = leaving;
      if (near.second == last) near.second = leaving;
    }
    find_lost();
  }

  const std::vector<double> &centers() const { return centers_; }

 private:
  struct Near {
    double cost, second_cost;
    int32_t center, second;
  };

  Near nearest_two(const double *costs) const {
    Near near{costs[0], std::numeric_limits<double>::infinity(), 0, 0};
    for (int32_t j = 1; j < k_; ++j) {
      if (costs[j] < near.cost) {
        near.second_cost = near.cost;
        near.second = near.center;
        near.cost = costs[j];
        near.center = j;
      } else if (costs[j] < near.second_cost) {
        near.second_cost = costs[j];
        near.second = j;
      }
    }
    return near;
  }

  // The center whose loss raises the cost least. A center of weight w that gets rows of weight v, which cost c more there,
  // moves to them by v / (v + w) of the distance, so that c w / (v + w) of c is left (for squared distances; without this
  // factor a small far cluster would be dropped before one of two centers in a large cluster).
  int32_t missed_least() {
    std::vector<double> total(k_, 0.0), gets(k_, 0.0), more(k_, 0.0), losses(k_, 0.0);
    std::vector<int32_t> centers(near_.size()), to;
    for (size_t i = 0; i < near_.size(); ++i) {
      centers[i] = near_[i].center;
      total[near_[i].center] += weight_[i];
    }
    const ClusterRows by_center(centers.data(), x_.n_rows(), k_);
    for (int32_t j = 0; j < k_; ++j) {
      to.clear();
      for (int64_t p = 0; p < by_center.size(j); ++p) {
        const Near &near = near_[by_center.rows(j)[p]];
        const double weight = weight_[by_center.rows(j)[p]];
        if (gets[near.second] == 0.0) to.push_back(near.second);
        gets[near.second] += weight;
        more[near.second] += weight * (near.second_cost - near.cost);
      }
      for (const int32_t c : to) {
        losses[j] += more[c] * (total[c] / (total[c] + gets[c]));
        gets[c] = more[c] = 0.0;
      }
    }
    return static_cast<int32_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  }

  void find_lost() {
    const CenterPanels panels(centers_.data(), k_, x_.n_cols(), objective_, !x_.gives_tiles());
    CostTile tile(x_, panels);
    const int64_t step = x_.gives_tiles() ? tile.capacity() : 1;
    rows_.resize(step * x_.n_cols());
    for (size_t at = 0; at < lost_.size(); at += step) {
      const int64_t rows = std::min<int64_t>(step, lost_.size() - at);
      if (x_.gives_tiles()) x_.gather(lost_.data() + at, rows, rows_.data());
      const double *costs = x_.gives_tiles() ? tile.compute(Tile{rows_.data(), x_.n_cols()}, rows) : tile.compute(lost_[at], 1);
      for (int64_t r = 0; r < rows; ++r) near_[lost_[at + r]] = nearest_two(costs + r * panels.padded());
    }
  }

  const RowReader &x_;
  const Objective objective_;
  int64_t k_;
  std::vector<double> centers_, weight_;
  std::vector<Near> near_;
  std::vector<double> rows_;
  std::vector<int64_t> lost_;  // the rows whose nearest or second center left
};

Owned<double, 2> drop_centers(const Matrix &x, const In2<double> &centers, int64_t n_left, const Weights &weights,
                              const std::string &name) {
  const int64_t k = centers.shape(0), d = x.n_cols();
  require(n_left > 0 && n_left <= k && static_cast<int64_t>(centers.shape(1)) == d,
          "some centers are left, with the columns of the rows");
  const int64_t *w = checked(weights, x.n_rows());
  NewArray<double, 2> out(n_left, d);
  {
    const GilRelease release;
    const std::unique_ptr<RowReader> reader = RowReader::of(x);
    FewerCenters fewer(*reader, centers.data(), k, w, read_objective(name));
    for (int64_t i = k; i > n_left; --i) fewer.drop();
    std::copy(fewer.centers().begin(), fewer.centers().end(), out.data());
  }
  return out.to_numpy();
}

constexpr int64_t kAxes = 16;      // axes that are worked on together
constexpr int64_t kAxesAhead = 8;  // axes are prefetched so many stored values ahead, as columns are scattered in memory
constexpr int64_t kAxisRows = 16;  // dense rows for which each axis is read and written once

// Some dense rows of n values each, or one sparse row and the columns of its values.
struct AxisRows {
  int64_t first, n_rows, n;
  const int32_t *columns;  // null: all
  const double *values;
};

template <class Take>
void for_axis_rows(const Matrix &x, const In1<int64_t> &rows, Take &&take) {
  const std::unique_ptr<RowReader> reader = RowReader::of(x);
  const auto n_rows = static_cast<int64_t>(rows.size()), at_once = reader->is_sparse() ? 1 : kAxisRows, d = x.n_cols();
  std::vector<double> scratch;
  std::vector<double> dense(reader->is_sparse() ? 0 : at_once * d);
  for (int64_t first = 0; first < n_rows; first += at_once) {
    if (reader->is_sparse()) {
      const StoredRow stored = reader->stored(rows(first), scratch);
      take(AxisRows{first, 1, stored.n, stored.columns, stored.values});
    } else {
      const int64_t here = std::min(at_once, n_rows - first);
      reader->gather(rows.data() + first, here, dense.data());
      take(AxisRows{first, here, d, nullptr, dense.data()});
    }
  }
}

// Writes the coordinates of n rows along kAxes of m axes, (d, m), and with_squares the sum of squares of a single row.
template <int64_t n, bool with_squares>
CUTWISE_INLINE void along_some(const AxisRows &rows, int64_t row, const double *axes, int64_t m, double *out, double *squares) {
  const double *values = rows.values + row * rows.n;
  double sums[n][kAxes] = {}, square = 0.0;
  for (int64_t p = 0; p < rows.n; ++p) {
    const double *axis = axes + (rows.columns ? rows.columns[p] : p) * m;
    if (rows.columns && p + kAxesAhead < rows.n) prefetch(axes + rows.columns[p + kAxesAhead] * m, kAxes * sizeof(double));
    for (int64_t r = 0; r < n; ++r) {
      const double value = values[r * rows.n + p];
      for (int64_t j = 0; j < kAxes; ++j) sums[r][j] += value * axis[j];
      if (with_squares) square += value * value;
    }
  }
  for (int64_t r = 0; r < n; ++r) std::copy_n(sums[r], kAxes, out + (row + r) * m);
  if (with_squares) squares[row] = square;
}

// The same along all axes, for all rows; without squares two at a time, for which each axis is read once.
template <bool with_squares>
CUTWISE_CLONES void along_axes(const AxisRows &rows, const double *axes, int64_t m, double *out, double *squares) {
  for (int64_t first = 0; first < m; first += kAxes) {
    int64_t row = 0;
    if (!with_squares)
      for (; row + 2 <= rows.n_rows; row += 2) along_some<2, false>(rows, row, axes + first, m, out + first, nullptr);
    for (; row < rows.n_rows; ++row) along_some<1, with_squares>(rows, row, axes + first, m, out + first, squares);
  }
}

// Adds rows to m axes: factors[r * m + j] times row r to axis j.
CUTWISE_CLONES void add_to_axes(const AxisRows &rows, const double *factors, int64_t m, double *axes) {
  for (int64_t first = 0; first < m; first += kAxes)
    for (int64_t p = 0; p < rows.n; ++p) {
      double *axis = axes + (rows.columns ? rows.columns[p] : p) * m + first;
      if (rows.columns && p + kAxesAhead < rows.n)
        prefetch(axes + rows.columns[p + kAxesAhead] * m + first, kAxes * sizeof(double));
      // The first row is part of the initialization: a copy of another width than the additions would delay them.
      double sums[kAxes];
      for (int64_t j = 0; j < kAxes; ++j) sums[j] = axis[j] + rows.values[p] * factors[first + j];
      for (int64_t r = 1; r < rows.n_rows; ++r)
        for (int64_t j = 0; j < kAxes; ++j) sums[j] += rows.values[r * rows.n + p] * factors[r * m + first + j];
      std::copy_n(sums, kAxes, axis);
    }
}

// Makes axes, (d, m), orthonormal by a Cholesky decomposition of their inner products; axes that depend on others become zero.
CUTWISE_CLONES void orthonormalize_axes(int64_t d, int64_t m, double *axes) {
  std::vector<double> products(m * m, 0.0), length(m);  // later the factor: row j has the parts along axis j of all after it
  for (int64_t f = 0; f < d; ++f)
    for (int64_t i = 0; i < m; ++i) {
      const double own = axes[f * m + i];
      for (int64_t j = 0; j < m; ++j) products[i * m + j] += own * axes[f * m + j];
    }
  for (int64_t i = 0; i < m; ++i) length[i] = products[i * m + i];
  for (int64_t j = 0; j < m; ++j) {
    double *row = products.data() + j * m;
    const double inverse = row[j] > 1e-14 * length[j] ? 1.0 / std::sqrt(row[j]) : 0.0;
    for (int64_t i = j + 1; i < m; ++i) row[i] *= inverse;
    for (int64_t i = j + 1; i < m; ++i)
      for (int64_t l = i; l < m; ++l) products[i * m + l] -= row[i] * row[l];
    std::fill_n(row, j, 0.0);
    row[j] = inverse;
  }
  for (int64_t f = 0; f < d; ++f)
    for (int64_t j = 0; j < m; ++j) {
      const double *row = products.data() + j * m, own = axes[f * m + j] * row[j];
      for (int64_t i = j + 1; i < m; ++i) axes[f * m + i] -= row[i] * own;
      axes[f * m + j] = own;
    }
}

Owned<double, 2> principal_axes(const Matrix &x, const In1<int64_t> &rows, const Weights &weights, int64_t n_axes, int n_rounds,
                                double largest) {
  check_rows(x, rows);
  require(n_axes > 0 && n_axes % kAxes == 0 && n_rounds > 0, "the number of axes is a multiple of 16");
  const auto n_rows = static_cast<int64_t>(rows.size()), d = x.n_cols();
  const int64_t *w = checked(weights, n_rows);
  NewArray<double, 2> out(d, n_axes);
  {
    const GilRelease release;
    // The first axes have pseudorandom signs, which depend on the number of the column only.
    for (int64_t f = 0; f < d; ++f)
      for (int64_t j = 0; j < n_axes; ++j) out.data()[f * n_axes + j] = (column_key(f * n_axes + j) & 1) != 0 ? 1.0 : -1.0;
    double heaviest = 1.0;
    for (int64_t i = 0; w != nullptr && i < n_rows; ++i) heaviest = std::max(heaviest, static_cast<double>(w[i]));
    if (largest < 0.0)
      for_axis_rows(x, rows, [&](const AxisRows &some) {
        for (int64_t p = 0; p < some.n_rows * some.n; ++p) largest = std::max(largest, std::fabs(some.values[p]));
      });
    // With this scale products neither overflow nor underflow.
    const double scale = std::ldexp(1.0, largest > 0.0 ? std::clamp(-std::ilogb(largest), -1000, 1000) : 0);
    std::vector<double> before, along(kAxisRows * n_axes);
    for (int round = 0; round < n_rounds; ++round) {
      before.assign(out.data(), out.data() + d * n_axes);
      std::fill_n(out.data(), d * n_axes, 0.0);
      for_axis_rows(x, rows, [&](const AxisRows &some) {
        along_axes<false>(some, before.data(), n_axes, along.data(), nullptr);
        for (int64_t r = 0; r < some.n_rows; ++r) {
          const double factor = scale * (w ? static_cast<double>(w[some.first + r]) / heaviest : 1.0);
          for (int64_t j = 0; j < n_axes; ++j) along[r * n_axes + j] = along[r * n_axes + j] * factor * scale;
        }
        add_to_axes(some, along.data(), n_axes, out.data());
      });
      orthonormalize_axes(d, n_axes, out.data());
    }
  }
  return out.to_numpy();
}

std::tuple<Owned<double, 2>, Owned<double, 1>> project(const Matrix &x, const In1<int64_t> &rows, const In2<double> &axes) {
  check_rows(x, rows);
  const auto n_rows = static_cast<int64_t>(rows.size()), m = static_cast<int64_t>(axes.shape(1));
  require(has_shape(axes, x.n_cols()) && m % kAxes == 0, "axes have the columns of the matrix");
  NewArray<double, 2> along(n_rows, m);
  NewArray<double, 1> residual(n_rows);
  {
    const GilRelease release;
    for_axis_rows(x, rows, [&](const AxisRows &some) {
      double *squares = residual.data() + some.first;
      along_axes<true>(some, axes.data(), m, along.data() + some.first * m, squares);
      for (int64_t r = 0; r < some.n_rows; ++r) {
        const double *coordinates = along.data() + (some.first + r) * m;
        double rest = squares[r];
        for (int64_t j = 0; j < m; ++j) rest -= coordinates[j] * coordinates[j];
        squares[r] = larger(rest, 0.0);
      }
    });
  }
  return {along.to_numpy(), residual.to_numpy()};
}

}  // namespace
}  // namespace cutwise

void bind_seeds(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("plusplus", &cutwise::plusplus, "matrix"_a, "uniforms"_a, "weights"_a.none() = nb::none(), "objective"_a = "kmeans",
        "centers"_a.none() = nb::none(),
        R"(The numbers of the rows to start Lloyd's iterations from, (k,), by greedy k-means++ (Arthur, Vassilvitskii 2007).

uniforms (k, n_trials): numbers in [0, 1), one for each candidate. Candidates are drawn with a probability proportional to their
cost, and for each seed the candidate that lowers the cost most is kept. Seeds are distinct points as long as there are any. centers
(n_centers, d): existing centers; the first candidate of each seed is then the row of largest cost.)");
  m.def("drop_centers", &drop_centers, "matrix"_a, "centers"_a, "n_left"_a, "weights"_a.none() = nb::none(),
        "objective"_a = "kmeans",
        R"(n_left of the centers (k, d): one center at a time is dropped, each time the one whose rows add least cost elsewhere.

That cost is after the centers that get the rows have moved. Weights are positive.)");
  m.def("principal_axes", &principal_axes, "matrix"_a, "rows"_a, "weights"_a.none(), "n_axes"_a, "n_rounds"_a,
        "largest"_a = -1.0,
        R"(Approximate principal axes of some rows about the origin, (n_cols, n_axes), orthonormal.

They come from n_rounds of subspace iteration (Halko, Martinsson, Tropp 2011), started from pseudorandom signs that depend on the
number of columns only. n_axes: a multiple of 16; axes beyond the rank of the rows are zero. largest: the largest absolute value, if
it is known, which saves a pass over the rows.)");
  m.def("project", &project, "matrix"_a, "rows"_a, "axes"_a,
        "The coordinates of some rows along orthonormal axes, (len(rows), n_axes), and the squared distance of each row from "
        "the\n"
        "span of the axes.");
}
