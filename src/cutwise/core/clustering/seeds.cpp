// Where Lloyd's algorithm starts: greedy k-means++, where rows are drawn by their cost, squared or l1 distance as the objective
// has it, and swaps of a center for such a row.
//
// David Arthur, Sergei Vassilvitskii (2007), "k-means++: the advantages of careful seeding"; their Section 5 treats other
// powers of the distance. Silvio Lattanzi, Christian Sohler (2019), "A better k-means++ algorithm via local search".
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

// Weights as numbers; null: 1 each.
std::vector<double> as_numbers(const int64_t *weights, int64_t n) {
  return weights ? std::vector<double>(weights, weights + n) : std::vector<double>(n, 1.0);
}

// A row by its share of the running sum; rows that add nothing are never drawn as long as others do.
int64_t draw(const std::vector<double> &running, double uniform) {
  const auto row = std::upper_bound(running.begin(), running.end(), uniform * running.back());
  return (row != running.end() ? row : std::lower_bound(running.begin(), running.end(), running.back())) - running.begin();
}

Owned<int64_t, 1> plusplus(const Matrix &x, const In2<double> &uniforms, const Weights &weights, const std::string &name) {
  const int64_t n = x.n_rows(), d = x.n_cols(), k = uniforms.shape(0), n_trials = static_cast<int64_t>(uniforms.shape(1));
  if (n == 0 || k == 0 || n_trials == 0) throw std::invalid_argument("seeding needs a row, a seed and a trial");
  for (int64_t i = 0; i < k * n_trials; ++i)
    if (!(uniforms.data()[i] >= 0.0 && uniforms.data()[i] < 1.0)) throw std::invalid_argument("uniforms are in [0, 1)");
  const int64_t *w = checked(weights, n);
  const Objective objective = read_objective(name);
  NewArray<int64_t, 1> seeds(k);
  {
    nb::gil_scoped_release release;
    const std::vector<double> weight = as_numbers(w, n);
    std::vector<double> closest(n), running(n), candidates;
    const auto accumulate = [&](bool by_cost) {
      double sum = 0.0;
      for (int64_t i = 0; i < n; ++i) running[i] = sum += by_cost ? weight[i] * closest[i] : weight[i];
    };
    const std::unique_ptr<RowReader> reader = RowReader::of(x);
    accumulate(false);
    std::vector<double> costs;
    std::vector<int64_t> drawn;
    for (int64_t s = 0; s < k; ++s) {
      const int64_t trials = s == 0 ? 1 : n_trials;
      drawn.clear();
      candidates.resize(trials * d);
      for (int64_t t = 0; t < trials; ++t) {
        drawn.push_back(draw(running, uniforms(s, t)));
        reader->read(drawn.back(), candidates.data() + t * d);
      }
      const CenterPanels panels(candidates.data(), trials, d, objective, x.is_sparse());
      const int64_t padded = panels.padded();
      std::vector<double> potentials(padded, 0.0);
      costs.resize(n * padded);
      for_each_tile(*reader, panels, 1, [&](int64_t first, int64_t rows, const double *c, const Tile &) {
        std::copy(c, c + rows * padded, costs.begin() + first * padded);
        if (s > 0) lower_potentials(c, rows, padded, closest.data() + first, weight.data() + first, potentials.data());
      });
      const int64_t best = std::min_element(potentials.begin(), potentials.begin() + trials) - potentials.begin();
      seeds.data()[s] = drawn[best];
      for (int64_t i = 0; i < n; ++i) {
        const double c = costs[i * padded + best];
        closest[i] = s == 0 || c < closest[i] ? c : closest[i];
      }
      accumulate(true);
      if (!(running[n - 1] > 0.0)) accumulate(false);  // every row is a seed already: any row will do
    }
  }
  return seeds.to_numpy();
}

// Centers that change places one at a time: a row drawn by its cost comes for the center that is missed least, as long as all
// rows, each with its nearest center, cost less for it. Sums are taken in the order of the rows.
class Swaps {
 public:
  Swaps(const RowReader &x, const double *centers, int64_t k, const int64_t *weights, Objective objective)
      : x_(x),
        objective_(objective),
        n_(x.n_rows()),
        d_(x.n_cols()),
        k_(k),
        centers_(centers, centers + k * d_),
        weight_(as_numbers(weights, n_)),
        near_(n_),
        running_(n_) {
    const CenterPanels panels(centers, k_, d_, objective_, x_.is_sparse());
    for_each_tile(x_, panels, 1, [&](int64_t first, int64_t rows, const double *costs, const Tile &) {
      for (int64_t r = 0; r < rows; ++r) near_[first + r] = nearest_two(costs + r * panels.padded());
    });
  }

  // Tries a row for each of the uniforms; false when rows cost nothing or beyond float64.
  bool step(const double *uniforms, int64_t n_trials) {
    double cost = running_[n_ - 1];
    if (swapped_) {
      cost = 0.0;
      for (int64_t i = 0; i < n_; ++i) running_[i] = cost += weight_[i] * near_[i].cost;
      swapped_ = false;
    }
    if (!(cost > 0.0) || cost > std::numeric_limits<double>::max()) return false;
    candidates_.resize(n_trials * d_);
    for (int64_t t = 0; t < n_trials; ++t) x_.read(draw(running_, uniforms[t]), candidates_.data() + t * d_);
    const CenterPanels panels(candidates_.data(), n_trials, d_, objective_, x_.is_sparse());
    const int64_t padded = panels.padded();
    costs_.resize(n_ * padded);
    lowered_.assign(padded, 0.0);
    losses_.assign(k_ * padded, 0.0);
    for_each_tile(x_, panels, 1, [&](int64_t first, int64_t rows, const double *c, const Tile &) {
      std::copy(c, c + rows * padded, costs_.begin() + first * padded);
      add_losses(c, rows, padded, near_.data() + first, weight_.data() + first, lowered_.data(), losses_.data());
    });
    int64_t best = 0, leaving = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t t = 0; t < n_trials; ++t)
      for (int64_t j = 0; j < k_; ++j)
        if (lowered_[t] + losses_[j * padded + t] < least) {
          least = lowered_[t] + losses_[j * padded + t];
          best = t;
          leaving = j;
        }
    if (least < cost * (1.0 - kLeastFall)) swap(leaving, best, padded);
    return true;
  }

  const std::vector<double> &centers() const { return centers_; }

  struct Near {
    double cost, second_cost;
    int32_t center, second;
  };

 private:
  static constexpr double kLeastFall = 1e-9;

  // For each candidate: what all rows cost with it, and what a center costs that leaves.
  CUTWISE_CLONES static void add_losses(const double *costs, int64_t n, int64_t padded, const Near *near, const double *weights,
                                        double *lowered, double *losses) {
    for (int64_t r = 0; r < n; ++r) {
      const Near &row = near[r];
      double *loss = losses + row.center * padded;
      for (int64_t t = 0; t < padded; ++t) {
        const double c = costs[r * padded + t], with = c < row.cost ? c : row.cost;
        const double without = c < row.second_cost ? c : row.second_cost;
        lowered[t] += weights[r] * with;
        loss[t] += weights[r] * (without - with);
      }
    }
  }

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

  void swap(int64_t leaving, int64_t coming, int64_t padded) {
    swapped_ = true;
    std::copy_n(candidates_.begin() + coming * d_, d_, centers_.begin() + leaving * d_);
    const CenterPanels panels(centers_.data(), k_, d_, objective_, x_.is_sparse());
    CostTile tile(x_, panels);
    const auto center = static_cast<int32_t>(leaving);
    lost_.clear();
    for (int64_t i = 0; i < n_; ++i) {
      Near &near = near_[i];
      const double cost = costs_[i * padded + coming];
      if (near.center == center || near.second == center) lost_.push_back(i);
      else if (cost < near.cost) near = {cost, near.cost, center, near.center};
      else if (cost < near.second_cost) near.second_cost = cost, near.second = center;
    }
    const int64_t step = x_.is_sparse() ? 1 : tile.capacity();
    rows_.resize(step * d_);
    for (size_t at = 0; at < lost_.size(); at += step) {
      const int64_t rows = std::min<int64_t>(step, lost_.size() - at);
      if (!x_.is_sparse()) x_.gather(lost_.data() + at, rows, rows_.data());
      const double *costs = x_.is_sparse() ? tile.compute(lost_[at], 1) : tile.compute(Tile{rows_.data(), d_}, rows);
      for (int64_t r = 0; r < rows; ++r) near_[lost_[at + r]] = nearest_two(costs + r * panels.padded());
    }
  }

  const RowReader &x_;
  const Objective objective_;
  int64_t n_, d_, k_;
  std::vector<double> centers_, weight_;
  std::vector<Near> near_;
  std::vector<double> running_, candidates_, costs_, lowered_, losses_, rows_;
  std::vector<int64_t> lost_;  // rows whose nearest or second center left
  bool swapped_ = true;        // since costs were added up
};

Owned<double, 2> swap_centers(const Matrix &x, const In2<double> &centers, const In2<double> &uniforms, const Weights &weights,
                              const std::string &name) {
  const int64_t k = centers.shape(0), d = x.n_cols();
  require(k > 1 && static_cast<int64_t>(centers.shape(1)) == d, "there are two centers at least, with the columns of the rows");
  const int64_t *w = checked(weights, x.n_rows());
  NewArray<double, 2> out(k, d);
  {
    nb::gil_scoped_release release;
    const std::unique_ptr<RowReader> reader = RowReader::of(x);
    Swaps swaps(*reader, centers.data(), k, w, read_objective(name));
    const auto n_trials = static_cast<int64_t>(uniforms.shape(1));
    for (size_t s = 0; s < uniforms.shape(0) && swaps.step(uniforms.data() + s * n_trials, n_trials); ++s) {
    }
    std::copy(swaps.centers().begin(), swaps.centers().end(), out.data());
  }
  return out.to_numpy();
}

constexpr int64_t kAxes = 16;      // worked on together
constexpr int64_t kAxesAhead = 8;  // columns of a sparse row lie anywhere in memory: their axes are asked for ahead of use
constexpr int64_t kAxisRows = 16;  // of a dense table, which each axis is read and written once for

// Some rows of n values each, one after the other; of a sparse table one row, and the columns of its values.
struct AxisRows {
  int64_t first, n_rows, n;
  const int32_t *columns;  // null: all
  const double *values;
};

template <class Take>
void for_axis_rows(const Matrix &x, const In1<int64_t> &rows, Take &&take) {
  const std::unique_ptr<RowReader> reader = RowReader::of(x);
  const auto n_rows = static_cast<int64_t>(rows.size()), at_once = reader->is_sparse() ? 1 : kAxisRows, d = x.n_cols();
  RowScratch scratch;
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

// The rows' coordinates along m axes, (d, m).
CUTWISE_CLONES void along_axes(const AxisRows &rows, const double *axes, int64_t m, double *out) {
  for (int64_t r = 0; r < rows.n_rows; ++r)
    for (int64_t first = 0; first < m; first += kAxes) {
      const double *values = rows.values + r * rows.n;
      double sums[kAxes] = {};
      for (int64_t p = 0; p < rows.n; ++p) {
        const double *axis = axes + (rows.columns ? rows.columns[p] : p) * m + first;
        if (rows.columns && p + kAxesAhead < rows.n)
          prefetch(axes + rows.columns[p + kAxesAhead] * m + first, kAxes * sizeof(double));
        for (int64_t j = 0; j < kAxes; ++j) sums[j] += values[p] * axis[j];
      }
      std::copy_n(sums, kAxes, out + r * m + first);
    }
}

// Adds the rows, each times m factors of its own, to m axes.
CUTWISE_CLONES void add_to_axes(const AxisRows &rows, const double *factors, int64_t m, double *axes) {
  for (int64_t p = 0; p < rows.n; ++p)
    for (int64_t first = 0; first < m; first += kAxes) {
      double *axis = axes + (rows.columns ? rows.columns[p] : p) * m + first;
      if (rows.columns && p + kAxesAhead < rows.n)
        prefetch(axes + rows.columns[p + kAxesAhead] * m + first, kAxes * sizeof(double));
      double sums[kAxes];
      std::copy_n(axis, kAxes, sums);
      for (int64_t r = 0; r < rows.n_rows; ++r)
        for (int64_t j = 0; j < kAxes; ++j) sums[j] += rows.values[r * rows.n + p] * factors[r * m + first + j];
      std::copy_n(sums, kAxes, axis);
    }
}

// Makes axes, (d, m), orthonormal by Cholesky's decomposition of their products; those that depend on others become zero.
CUTWISE_CLONES void orthonormalize_axes(int64_t d, int64_t m, double *axes) {
  std::vector<double> products(m * m, 0.0), length(m);  // then the factor: row j is what axis j takes from all after it
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

Owned<double, 2> principal_axes(const Matrix &x, const In1<int64_t> &rows, const Weights &weights, int64_t n_axes,
                                int n_rounds) {
  check_rows(x, rows);
  require(n_axes > 0 && n_axes % kAxes == 0 && n_rounds > 0, "the number of axes is a multiple of 16");
  const auto n_rows = static_cast<int64_t>(rows.size()), d = x.n_cols();
  const int64_t *w = checked(weights, n_rows);
  NewArray<double, 2> out(d, n_axes);
  {
    nb::gil_scoped_release release;
    // Signs that follow from a column's number, so that sparse rows give the bits of dense ones.
    for (int64_t f = 0; f < d; ++f)
      for (int64_t j = 0; j < n_axes; ++j) out.data()[f * n_axes + j] = (column_key(f * n_axes + j) & 1) != 0 ? 1.0 : -1.0;
    double largest = 0.0, heaviest = 1.0;
    for (int64_t i = 0; w != nullptr && i < n_rows; ++i) heaviest = std::max(heaviest, static_cast<double>(w[i]));
    for_axis_rows(x, rows, [&](const AxisRows &some) {
      for (int64_t p = 0; p < some.n_rows * some.n; ++p) largest = std::max(largest, std::fabs(some.values[p]));
    });
    // Products stay far from the ends of float64.
    const double scale = std::ldexp(1.0, largest > 0.0 ? std::clamp(-std::ilogb(largest), -1000, 1000) : 0);
    std::vector<double> before, along(kAxisRows * n_axes);
    for (int round = 0; round < n_rounds; ++round) {
      before.assign(out.data(), out.data() + d * n_axes);
      std::fill_n(out.data(), d * n_axes, 0.0);
      for_axis_rows(x, rows, [&](const AxisRows &some) {
        along_axes(some, before.data(), n_axes, along.data());
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
  NewArray<double, 1> apart(n_rows);
  {
    nb::gil_scoped_release release;
    for_axis_rows(x, rows, [&](const AxisRows &some) {
      along_axes(some, axes.data(), m, along.data() + some.first * m);
      for (int64_t r = 0; r < some.n_rows; ++r) {
        const double *values = some.values + r * some.n, *own = along.data() + (some.first + r) * m;
        double rest = 0.0;
        for (int64_t p = 0; p < some.n; ++p) rest += values[p] * values[p];
        for (int64_t j = 0; j < m; ++j) rest -= own[j] * own[j];
        apart.data()[some.first + r] = larger(rest, 0.0);
      }
    });
  }
  return {along.to_numpy(), apart.to_numpy()};
}

}  // namespace
}  // namespace cutwise

void bind_seeds(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("plusplus", &cutwise::plusplus, "matrix"_a, "uniforms"_a, "weights"_a.none() = nb::none(), "objective"_a = "kmeans",
        R"(Rows to start Lloyd's iterations from, (k,): greedy k-means++ (Arthur, Vassilvitskii 2007).

uniforms (k, n_trials): numbers in [0, 1), one for each candidate; of the candidates of a seed, each drawn by its share of
the cost, the one that lowers the cost most is kept. Distinct points as long as there are any.)");
  m.def("swap_centers", &cutwise::swap_centers, "matrix"_a, "centers"_a, "uniforms"_a, "weights"_a.none() = nb::none(),
        "objective"_a = "kmeans",
        R"(Centers (k, d) that cost less: where it pays, a row comes for the center that is missed least, again and again.

uniforms (n_steps, n_trials): numbers in [0, 1); each step tries so many rows, drawn by their share of the cost, and makes the
swap that lowers the cost most, if there is one. There are two centers at least; weights are positive (Lattanzi, Sohler
2019).)");
  m.def("principal_axes", &principal_axes, "matrix"_a, "rows"_a, "weights"_a.none(), "n_axes"_a, "n_rounds"_a,
        R"(About the directions in which some rows reach farthest from the origin, (n_cols, n_axes), orthonormal.

By so many rounds of subspace iteration from random signs (Halko, Martinsson, Tropp 2011), the same for every matrix of as many
columns. n_axes is a multiple of 16; axes beyond the rank of the rows are zero.)");
  m.def("project", &project, "matrix"_a, "rows"_a, "axes"_a,
        "The coordinates of some rows along orthonormal axes, (len(rows), n_axes), and how far each is from their span, "
        "squared.");
}
