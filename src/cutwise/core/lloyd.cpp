// k-means: seeds by greedy k-means++, and Lloyd's algorithm with Hamerly's bounds on exact sums.
//
// A row keeps an upper bound of the distance to its center and a lower bound of that to any other. When centers move, the
// bounds move along, and rows whose bounds still part (most of them, after a few iterations) are not looked at. A row that
// changes sides is taken out of one cluster's sums and added to another's; the sums are integers (exact_sums.hpp), so this
// never drifts, and centers depend neither on the order of the rows nor on the number of threads.
//
// Greg Hamerly (2010), "Making k-means even faster". David Arthur, Sergei Vassilvitskii (2007), "k-means++".
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "centers.hpp"
#include "clones.hpp"
#include "exact_sums.hpp"
#include "lanes.hpp"
#include "matrix.hpp"
#include "new_array.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "sums.hpp"

namespace cutwise {
namespace {

using nb::literals::operator""_a;
using Centers = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<Vector<int64_t>>;

// For bounds only: four partial sums, so not the bits of the cost kernels.
CUTWISE_CLONES double about_squared_distance(const double *row, const double *center, int64_t d) {
  double part[kLanes] = {0.0, 0.0, 0.0, 0.0};
  Lanes sum;
  load(sum, part);
  int64_t f = 0;
  for (; f + kLanes <= d; f += kLanes) {
    Lanes x, c;
    load(x, row + f);
    load(c, center + f);
    subtract(x, c);
    square(x);
    add(sum, x);
  }
  store(part, sum);
  double total = (part[0] + part[1]) + (part[2] + part[3]);
  for (; f < d; ++f) total += (row[f] - center[f]) * (row[f] - center[f]);
  return total;
}

// Bounds are float32, rounded outward; beyond its range they say nothing, and the row is looked at every time.
float round_up(double distance) {
  return distance < 1e38 ? static_cast<float>(distance * (1.0 + 0x1p-22)) : std::numeric_limits<float>::infinity();
}
float round_down(double distance) { return distance < 1e38 ? static_cast<float>(distance * (1.0 - 0x1p-22)) : 0.0f; }

// How far centers moved: each, the farthest, and the farthest other than that one.
struct Moves {
  std::vector<double> each;
  int64_t farthest = 0;
  double most = 0.0, second = 0.0;

  explicit Moves(std::vector<double> moves) : each(std::move(moves)) {
    for (size_t j = 0; j < each.size(); ++j) {
      if (each[j] > most) {
        second = most;
        most = each[j];
        farthest = static_cast<int64_t>(j);
      } else {
        second = std::max(second, each[j]);
      }
    }
  }
  double of_others(int64_t j) const { return j == farthest ? second : most; }
};

class Lloyd {
 public:
  Lloyd(const RowReader &x, const Centers &centers, const int64_t *weights, int n_jobs)
      : x_(x), weights_(weights), n_(x.n_rows()), d_(x.n_cols()), k_(static_cast<int64_t>(centers.shape(0))), n_jobs_(n_jobs),
        centers_(centers.data(), centers.data() + k_ * d_), labels_(n_), upper_(n_), lower_(n_), scale_(column_sizes(x, n_jobs)) {
    double total = static_cast<double>(n_);
    if (weights != nullptr) {
      total = 0.0;
      for (int64_t i = 0; i < n_; ++i) {
        if (weights[i] < 1) throw std::invalid_argument("weights are positive");
        total += static_cast<double>(weights[i]);
      }
    }
    const int bits = term_bits(total);
    unit_ = std::ldexp(1.0, bits);
    for (double &s : scale_) s = term_scale(s, bits);
    n_pieces_ = std::max<int64_t>(1, std::min<int64_t>(n_jobs, count_blocks(n_)));
    start_over();
  }

  // One assignment and one update. False when no row changed its center, or the cost falls by no more than a share of
  // `tolerance` by moving the centers.
  bool step(double tolerance) {
    const bool changed = assign();
    std::vector<double> before = centers_;
    const bool refilled = update();
    if (refilled) {
      start_over();
      return true;
    }
    if (!changed) return false;
    std::vector<double> moves(k_);
    double gain = 0.0;  // the mean of a cluster lowers its cost by weight times squared move
    for (int64_t j = 0; j < k_; ++j) {
      const double squared = about_squared_distance(before.data() + j * d_, centers_.data() + j * d_, d_);
      moves[j] = std::sqrt(squared);
      gain += squared * static_cast<double>(weight_[j]);
    }
    moves_ = std::make_unique<Moves>(std::move(moves));
    return gain > tolerance * cost_;
  }

  const std::vector<double> &centers() const { return centers_; }

 private:
  struct Sums {
    std::vector<int64_t> high, low, weight;
    void reset(int64_t k, int64_t d) {
      high.assign(k * d, 0);
      low.assign(k * d, 0);
      weight.assign(k, 0);
    }
    void add(const Sums &other) {
      for (size_t i = 0; i < high.size(); ++i) high[i] += other.high[i];
      for (size_t i = 0; i < low.size(); ++i) low[i] += other.low[i];
      for (size_t i = 0; i < weight.size(); ++i) weight[i] += other.weight[i];
    }
  };

  // Forget bounds and sums: the next assignment looks at every row.
  void start_over() {
    std::fill(labels_.begin(), labels_.end(), -1);
    high_.assign(k_ * d_, 0);
    low_.assign(k_ * d_, 0);
    weight_.assign(k_, 0);
    moves_.reset();
  }

  int64_t weight_of(int64_t row) const { return weights_ == nullptr ? 1 : weights_[row]; }

  bool assign() {
    const CenterPanels panels(centers_.data(), k_, d_, Objective::kmeans, x_.is_sparse());
    const int64_t n_blocks = count_blocks(n_);
    std::vector<Sums> parts(n_pieces_);
    std::vector<double> costs(n_blocks, 0.0);
    std::vector<char> changed(n_pieces_, 0);
    parallel_for(n_jobs_, n_pieces_, [&](int64_t piece) {
      parts[piece].reset(k_, d_);
      BlockWork work(*this, panels, parts[piece]);
      for (int64_t b = n_blocks * piece / n_pieces_; b < n_blocks * (piece + 1) / n_pieces_; ++b) {
        const int64_t first = b * kBlockRows, last = std::min(n_, first + kBlockRows);
        costs[b] = moves_ ? work.again(first, last) : work.first_time(first, last);
      }
      changed[piece] = work.changed;
    });
    bool any = false;
    for (int64_t piece = 0; piece < n_pieces_; ++piece) {
      any = any || changed[piece];
      for (int64_t i = 0; i < k_ * d_; ++i) high_[i] += parts[piece].high[i];
      for (int64_t i = 0; i < k_ * d_; ++i) low_[i] += parts[piece].low[i];
      for (int64_t j = 0; j < k_; ++j) weight_[j] += parts[piece].weight[j];
    }
    if (!moves_) {
      cost_ = 0.0;  // blocks in their order, whoever computed them
      for (double c : costs) cost_ += c;
    }
    return any;
  }

  // Moves every center to the mean of its rows; true when clusters without rows were given one to start from.
  bool update() {
    bool empty = false;
    for (int64_t j = 0; j < k_; ++j) {
      if (weight_[j] == 0) {
        empty = true;
        continue;
      }
      for (int64_t f = 0; f < d_; ++f)
        centers_[j * d_ + f] = mean_of_terms(high_[j * d_ + f], low_[j * d_ + f], weight_[j], unit_, scale_[f]);
    }
    return empty && refill();
  }

  // Empty clusters start again at the row farthest from every center; false when all rows lie on centers already.
  bool refill() {
    bool any = false;
    std::vector<double> nearest(n_, std::numeric_limits<double>::infinity());
    std::vector<double> kept;
    for (int64_t j = 0; j < k_; ++j)
      if (weight_[j] > 0) kept.insert(kept.end(), centers_.begin() + j * d_, centers_.begin() + (j + 1) * d_);
    lower_to(nearest, kept);
    for (int64_t j = 0; j < k_; ++j) {
      if (weight_[j] > 0) continue;
      const int64_t row = std::max_element(nearest.begin(), nearest.end()) - nearest.begin();
      if (!(nearest[row] > 0.0)) break;
      any = true;
      for (int64_t f = 0; f < d_; ++f) centers_[j * d_ + f] = x_.value(row, f);
      lower_to(nearest, std::vector<double>(centers_.begin() + j * d_, centers_.begin() + (j + 1) * d_));
    }
    return any;
  }

  void lower_to(std::vector<double> &nearest, const std::vector<double> &centers) const {
    const CenterPanels panels(centers.data(), static_cast<int64_t>(centers.size()) / d_, d_, Objective::kmeans, x_.is_sparse());
    for_each_tile(x_, panels, n_jobs_, [&](int64_t first, int64_t n, const double *costs) {
      for (int64_t r = 0; r < n; ++r)
        for (int64_t j = 0; j < panels.k(); ++j)
          nearest[first + r] = std::min(nearest[first + r], costs[r * panels.padded() + j]);
    });
  }

  // The rows of one thread: their tiles, and what they change in the sums.
  struct BlockWork {
    BlockWork(Lloyd &owner, const CenterPanels &centers, Sums &delta)
        : o(owner), x(owner.x_), panels(centers), sums(delta), tile(owner.x_, centers) {}

    double first_time(int64_t first, int64_t last) {
      double cost = 0.0;
      const int64_t step = x.is_sparse() ? 1 : tile.capacity();  // a sparse row is at hand until the next is read
      for (int64_t row = first; row < last; row += step) {
        const int64_t rows = std::min(step, last - row);
        const double *costs = tile.compute(row, rows);
        for (int64_t r = 0; r < rows; ++r) {
          const double *values = x.is_sparse() ? nullptr : tile.tile().rows + r * tile.tile().stride;
          cost += static_cast<double>(o.weight_of(row + r)) * settle(row + r, costs + r * panels.padded(), values);
        }
      }
      return cost;
    }

    double again(int64_t first, int64_t last) {
      const Moves &moves = *o.moves_;
      open.clear();
      for (int64_t row = first; row < last; ++row) {
        const int32_t label = o.labels_[row];
        o.upper_[row] = round_up(static_cast<double>(o.upper_[row]) + moves.each[label]);
        o.lower_[row] = round_down(static_cast<double>(o.lower_[row]) - moves.of_others(label));
        if (!(o.upper_[row] <= o.lower_[row])) open.push_back(row);
      }
      const int64_t n_open = static_cast<int64_t>(open.size());
      if (x.is_sparse()) {
        for (int64_t row : open) settle(row, tile.compute(row, 1), nullptr);
      } else {
        for (int64_t at = 0; at < n_open; at += tile.capacity())
          look_at(open.data() + at, std::min(tile.capacity(), n_open - at));
      }
      return 0.0;
    }

    // The true distance to the own center settles many a row; the others get their costs by all centers.
    void look_at(int64_t *some, int64_t n) {
      if (gathered.size() < static_cast<size_t>(tile.capacity() * o.d_)) gathered.resize(tile.capacity() * o.d_);
      x.gather(some, n, gathered.data());
      int64_t left = 0;
      for (int64_t r = 0; r < n; ++r) {
        const int64_t row = some[r];
        const double *values = gathered.data() + r * o.d_;
        const double own = about_squared_distance(values, panels.center(o.labels_[row]), o.d_);
        o.upper_[row] = round_up(std::sqrt(own) * (1.0 + 1e-12));
        if (o.upper_[row] <= o.lower_[row]) continue;
        if (left < r) std::copy(values, values + o.d_, gathered.data() + left * o.d_);
        some[left++] = row;
      }
      const double *costs = tile.compute(Tile{gathered.data(), o.d_}, left);
      for (int64_t r = 0; r < left; ++r) settle(some[r], costs + r * panels.padded(), gathered.data() + r * o.d_);
    }

    // Label, bounds and sums of a row, from its costs; gives the smallest.
    double settle(int64_t row, const double *costs, const double *values) {
      const SmallestTwo two = smallest_two(costs, panels.padded());
      const int32_t nearest = first_of(costs, panels.padded(), two.cost);
      o.upper_[row] = round_up(std::sqrt(two.cost));
      o.lower_[row] = round_down(std::sqrt(two.second));
      const int32_t label = o.labels_[row];
      if (nearest != label) {
        changed = true;
        const int64_t weight = o.weight_of(row);
        if (label >= 0) move(label, -weight, values);
        move(nearest, weight, values);
        o.labels_[row] = nearest;
      }
      return two.cost;
    }

    void move(int32_t label, int64_t weight, const double *values) {
      int64_t *high = sums.high.data() + label * o.d_, *low = sums.low.data() + label * o.d_;
      sums.weight[label] += weight;
      if (x.is_sparse()) add_row(tile.stored(), o.scale_.data(), o.unit_, weight, high, low);
      else add_row(values, o.scale_.data(), o.d_, o.unit_, weight, high, low);
    }

    Lloyd &o;
    const RowReader &x;
    const CenterPanels &panels;
    Sums &sums;
    CostTile tile;
    std::vector<int64_t> open;  // rows whose bounds no longer part
    std::vector<double> gathered;
    bool changed = false;
  };

  const RowReader &x_;
  const int64_t *weights_;
  int64_t n_, d_, k_;
  int n_jobs_;
  int64_t n_pieces_ = 1;
  std::vector<double> centers_;
  std::vector<int32_t> labels_;
  std::vector<float> upper_, lower_;
  std::vector<double> scale_;
  double unit_ = 1.0, cost_ = 0.0;
  std::vector<int64_t> high_, low_, weight_;
  std::unique_ptr<Moves> moves_;  // none: every row is to be looked at
};

const int64_t *checked_weights(const Weights &weights, int64_t n) {
  if (weights && static_cast<int64_t>(weights->shape(0)) != n) throw std::invalid_argument("there is one weight for each row");
  return weights ? weights->data() : nullptr;
}

nb::tuple lloyd(const Matrix &x, const Centers &centers, const Weights &weights, int max_iter, double tolerance, int n_jobs) {
  if (centers.shape(0) == 0) throw std::invalid_argument("there is at least one center");
  if (static_cast<int64_t>(centers.shape(1)) != x.n_cols()) throw std::invalid_argument("the centers have the columns of the rows");
  const int64_t *w = checked_weights(weights, x.n_rows());
  NewArray<double, 2> out(centers.shape(0), centers.shape(1));
  int n_iter = 0;
  {
    nb::gil_scoped_release release;
    const std::unique_ptr<RowReader> rows = RowReader::of(x);
    Lloyd state(*rows, centers, w, n_jobs);
    for (bool more = true; more && n_iter < max_iter;) {
      more = state.step(tolerance);
      ++n_iter;
      nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    std::copy(state.centers().begin(), state.centers().end(), out.data());
  }
  return nb::make_tuple(out.to_numpy(), n_iter);
}

// ---- seeds

CUTWISE_CLONES void lower_potentials(const double *costs, int64_t n, int64_t padded, const double *closest, const double *weights,
                                     double *potentials) {
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < padded; ++j) {
      const double c = costs[r * padded + j];
      potentials[j] += weights[r] * (c < closest[r] ? c : closest[r]);
    }
}

nb::object kmeans_plusplus(const Matrix &x, const Weights &weights, const Centers &uniforms) {
  const int64_t n = x.n_rows(), d = x.n_cols(), k = static_cast<int64_t>(uniforms.shape(0)),
                n_trials = static_cast<int64_t>(uniforms.shape(1));
  if (n == 0 || k == 0 || n_trials == 0) throw std::invalid_argument("seeding needs a row, a seed and a trial");
  for (int64_t i = 0; i < k * n_trials; ++i)
    if (!(uniforms.data()[i] >= 0.0 && uniforms.data()[i] < 1.0)) throw std::invalid_argument("uniforms are in [0, 1)");
  const int64_t *w = checked_weights(weights, n);
  NewArray<int64_t, 1> seeds(k);
  {
    nb::gil_scoped_release release;
    std::vector<double> weight(n, 1.0), closest(n), running(n), candidates;
    if (w != nullptr)
      for (int64_t i = 0; i < n; ++i) weight[i] = static_cast<double>(w[i]);
    // A row by its share of the running sum; rows that add nothing are never drawn as long as others do.
    const auto draw = [&](double uniform) {
      const double target = uniform * running[n - 1];
      const int64_t row = std::upper_bound(running.begin(), running.end(), target) - running.begin();
      return row < n ? row : std::lower_bound(running.begin(), running.end(), running[n - 1]) - running.begin();
    };
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
      candidates.clear();
      for (int64_t t = 0; t < trials; ++t) {
        drawn.push_back(draw(uniforms(s, t)));
        for (int64_t f = 0; f < d; ++f) candidates.push_back(reader->value(drawn.back(), f));
      }
      const CenterPanels panels(candidates.data(), trials, d, Objective::kmeans, x.is_sparse());
      const int64_t padded = panels.padded();
      std::vector<double> potentials(padded, 0.0);
      costs.resize(n * padded);
      for_each_tile(*reader, panels, 1, [&](int64_t first, int64_t rows, const double *c) {
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
  return nb::cast(seeds.to_numpy());
}

}  // namespace
}  // namespace cutwise

void bind_lloyd(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("lloyd", &cutwise::lloyd, "matrix"_a, "centers"_a, "weights"_a.none(), "max_iter"_a, "tolerance"_a, "n_jobs"_a);
  m.def("kmeans_plusplus", &cutwise::kmeans_plusplus, "matrix"_a, "weights"_a.none(), "uniforms"_a);
}
