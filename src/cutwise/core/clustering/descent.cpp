// Coordinate descent for k-medians: one coordinate of one center at a time moves to where all rows, free to change their
// center, cost least.
//
// Lloyd's algorithm moves a center for the rows it has, and a median stays where it is until half of their weight has moved:
// it ends in very many local optima. Here, with everything else fixed, a row i costs min(|x_i - t| + a_i, b_i) as a function of
// the coordinate t: a_i is its distance to the center in the other columns, b_i that to its best other center. Rows with
// r_i = b_i - a_i > 0 matter, and their sum min(|x_i - t|, r_i) is piecewise linear with kinks at x_i - r_i, x_i and x_i + r_i:
// its least value between two bounds is found exactly, by one walk over the sorted kinks.
//
// Every move lowers the cost. The walk is bounded where rows are many; then no better place is near.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"

namespace cutwise {
namespace {

using nb::literals::operator""_a;

// Values of a column held at once, over the rows that matter to a center.
constexpr int64_t kHeldValues = int64_t{1} << 21;
// Rows whose values say how far a walk goes, and the share of them within its bounds; with fewer rows it has no bounds.
constexpr int64_t kSampled = 512;
constexpr int64_t kShare = 8;
// Gains below this share of what the rows cost are rounding.
constexpr double kRounding = 1e-12;

struct Kink {
  double at;
  int64_t turn;  // what the slope changes by
};
inline bool operator<(const Kink &a, const Kink &b) { return a.at < b.at; }

class Descent {
 public:
  Descent(const RowReader &x, const In2<double> &centers, const int64_t *weights)
      : x_(x),
        weights_(weights),
        n_(x.n_rows()),
        d_(x.n_cols()),
        k_(static_cast<int64_t>(centers.shape(0))),
        centers_(centers.data(), centers.data() + k_ * d_),
        distance_(n_ * k_),
        widest_(n_),
        nearest_(n_),
        second_(n_),
        label_(n_),
        next_(n_) {
    for (int64_t j = 0; j < k_; ++j) measure(j);
    for (int64_t i = 0; i < n_; ++i) rank(i);
  }

  // Every coordinate of a center once; how much lower the rows cost.
  double move(int64_t j) {
    double *own = distance_.data() + j * n_;
    measure(j);
    rows_.clear();
    for (int64_t i = 0; i < n_; ++i)
      if (own[i] - widest_[i] < other(i, j)) rows_.push_back(i);
    const int64_t m = static_cast<int64_t>(rows_.size());
    if (m == 0) return 0.0;
    double gain = 0.0;
    const int64_t step = std::max<int64_t>(1, kHeldValues / m);
    for (int64_t f = 0; f < d_; f += step) {
      const int64_t last = std::min(d_, f + step);
      read(f, last);
      for (int64_t g = f; g < last; ++g) gain += move_coordinate(j, g, values_.data() + (g - f) * m);
    }
    if (gain > 0.0) {
      measure(j);
      for (int64_t i = 0; i < n_; ++i) settle(i, j);
    }
    return gain;
  }

  double cost() const {
    double total = 0.0;
    for (int64_t i = 0; i < n_; ++i) total += static_cast<double>(weight_of(i)) * nearest_[i];
    return total;
  }
  int64_t k() const { return k_; }
  const std::vector<double> &centers() const { return centers_; }

 private:
  int64_t weight_of(int64_t row) const { return weights_ == nullptr ? 1 : weights_[row]; }
  double other(int64_t i, int64_t j) const { return label_[i] == j ? second_[i] : nearest_[i]; }

  // Distances of all rows to a center, and the widest difference in a column. For sparse rows the sum may cancel beside a
  // large offset; that misleads the descent only, whose outcome is kept where the exact cost is lower.
  void measure(int64_t j) {
    const double *center = centers_.data() + j * d_;
    double *own = distance_.data() + j * n_;
    if (x_.is_sparse()) {
      double all = 0.0;
      std::vector<std::pair<double, int64_t>> widest(d_);
      for (int64_t f = 0; f < d_; ++f) {
        all += std::fabs(center[f]);
        widest[f] = {std::fabs(center[f]), f};
      }
      std::sort(widest.rbegin(), widest.rend());
      for (int64_t i = 0; i < n_; ++i) {
        const StoredRow row = x_.stored(i, scratch_);
        double sum = all, most = 0.0;
        for (int64_t s = 0; s < row.n; ++s) {
          const double difference = std::fabs(row.values[s] - center[row.columns[s]]);
          sum += difference - std::fabs(center[row.columns[s]]);
          most = std::max(most, difference);
        }
        // The widest among the columns that are not stored: at most as many are passed over as are.
        for (const auto &[size, f] : widest) {
          if (size <= most) break;
          if (!std::binary_search(row.columns, row.columns + row.n, static_cast<int32_t>(f))) most = size;
        }
        own[i] = sum;
        widest_[i] = most;
      }
      return;
    }
    const int64_t step = tile_rows(d_);
    for (int64_t first = 0; first < n_; first += step) {
      const int64_t n = std::min(step, n_ - first);
      const Tile tile = x_.tile(first, n, scratch_);
      for (int64_t r = 0; r < n; ++r) {
        const double *row = tile.rows + r * tile.stride;
        double sum = 0.0, most = 0.0;
        for (int64_t f = 0; f < d_; ++f) {
          const double difference = std::fabs(row[f] - center[f]);
          sum += difference;
          most = std::max(most, difference);
        }
        own[first + r] = sum;
        widest_[first + r] = most;
      }
    }
  }

  // The two nearest centers of a row, from all its distances.
  void rank(int64_t i) {
    nearest_[i] = second_[i] = std::numeric_limits<double>::infinity();
    label_[i] = next_[i] = -1;
    for (int64_t j = 0; j < k_; ++j) insert(i, static_cast<int32_t>(j));
  }
  void insert(int64_t i, int32_t j) {
    const double cost = distance_[j * n_ + i];
    if (cost < nearest_[i]) {
      second_[i] = nearest_[i];
      next_[i] = label_[i];
      nearest_[i] = cost;
      label_[i] = j;
    } else if (cost < second_[i]) {
      second_[i] = cost;
      next_[i] = j;
    }
  }
  // The same after center j has moved.
  void settle(int64_t i, int64_t j) {
    if (label_[i] == j || next_[i] == j) rank(i);
    else insert(i, static_cast<int32_t>(j));
  }

  // Columns first .. last - 1 of the rows that matter, one after the other.
  void read(int64_t first, int64_t last) {
    const int64_t m = static_cast<int64_t>(rows_.size()), width = last - first;
    values_.assign(m * width, 0.0);
    if (x_.is_sparse()) {
      for (int64_t r = 0; r < m; ++r) {
        const StoredRow row = x_.stored(rows_[r], scratch_);
        const int32_t *from = std::lower_bound(row.columns, row.columns + row.n, static_cast<int32_t>(first));
        for (const int32_t *f = from; f < row.columns + row.n && *f < last; ++f)
          values_[(*f - first) * m + r] = row.values[f - row.columns];
      }
      return;
    }
    const int64_t step = tile_rows(width);
    scratch_.resize(step * width);
    for (int64_t at = 0; at < m; at += step) {
      const int64_t n = std::min(step, m - at);
      x_.gather_columns(rows_.data() + at, n, first, last, scratch_.data());
      for (int64_t f = 0; f < width; ++f)
        for (int64_t r = 0; r < n; ++r) values_[f * m + at + r] = scratch_[r * width + f];
    }
  }

  // How far from `c` the walk goes on either side.
  double bound(const double *values, int64_t m, double c) {
    if (m < 2 * kSampled) return std::numeric_limits<double>::infinity();
    sampled_.clear();
    for (int64_t s = 0; s < kSampled; ++s) sampled_.push_back(std::fabs(values[s * m / kSampled] - c));
    const auto at = sampled_.begin() + kSampled / kShare;
    std::nth_element(sampled_.begin(), at, sampled_.end());
    return *at > 0.0 ? *at : std::numeric_limits<double>::infinity();
  }

  double move_coordinate(int64_t j, int64_t f, const double *values) {
    const int64_t m = static_cast<int64_t>(rows_.size());
    double *own = distance_.data() + j * n_;
    const double c = centers_[j * d_ + f], far = bound(values, m, c), low = c - far, high = c + far;
    kinks_.clear();
    int64_t slope = 0;  // just right of `low`
    double served = 0.0;
    for (int64_t r = 0; r < m; ++r) {
      const int64_t i = rows_[r];
      const double at = values[r], apart = std::fabs(at - c), radius = other(i, j) - (own[i] - apart);
      if (!(radius > 0.0)) continue;
      const int64_t weight = weight_of(i);
      served += static_cast<double>(weight) * std::min(apart, radius);
      add_kink(at - radius, -weight, low, high, slope);
      add_kink(at, 2 * weight, low, high, slope);
      add_kink(at + radius, -weight, low, high, slope);
    }
    kinks_.push_back({c, 0});
    std::sort(kinks_.begin(), kinks_.end());

    double value = 0.0, here = 0.0, least = std::numeric_limits<double>::infinity(), best = c;
    double before = kinks_.front().at;
    for (const Kink &kink : kinks_) {
      value += static_cast<double>(slope) * (kink.at - before);
      before = kink.at;
      slope += kink.turn;
      if (kink.turn == 0) here = value;
      if (value < least) {
        least = value;
        best = kink.at;
      }
    }
    const double gain = here - least;
    if (!(gain > kRounding * served)) return 0.0;
    for (int64_t r = 0; r < m; ++r) own[rows_[r]] += std::fabs(values[r] - best) - std::fabs(values[r] - c);
    centers_[j * d_ + f] = best;
    return gain;
  }

  void add_kink(double at, int64_t turn, double low, double high, int64_t &slope) {
    if (at <= low) slope += turn;
    else if (at <= high) kinks_.push_back({at, turn});
  }

  const RowReader &x_;
  const int64_t *weights_;
  int64_t n_, d_, k_;
  std::vector<double> centers_;
  std::vector<double> distance_;  // to each center, center after center
  std::vector<double> widest_;    // of the center measured last: the widest difference in a column
  std::vector<double> nearest_, second_;
  std::vector<int32_t> label_, next_;
  std::vector<int64_t> rows_;  // those that the coordinates of a center can matter to
  std::vector<double> values_, scratch_, sampled_;
  std::vector<Kink> kinks_;
};

nb::tuple descend_medians(const Matrix &x, const In2<double> &centers, const Weights &weights, double tolerance,
                          int max_sweeps) {
  require(centers.shape(0) >= 2, "there are at least two centers");
  require(static_cast<int64_t>(centers.shape(1)) == x.n_cols(), "the centers have the columns of the rows");
  const int64_t *w = checked(weights, x.n_rows());
  NewArray<double, 2> out(centers.shape(0), centers.shape(1));
  int sweeps = 0;
  {
    nb::gil_scoped_release release;
    const std::unique_ptr<RowReader> rows = RowReader::of(x);
    Descent state(*rows, centers, w);
    for (bool more = true; more && sweeps < max_sweeps; ++sweeps) {
      double gain = 0.0;
      for (int64_t j = 0; j < state.k(); ++j) {
        gain += state.move(j);
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
      }
      more = gain > tolerance * state.cost();
    }
    std::copy(state.centers().begin(), state.centers().end(), out.data());
  }
  return nb::make_tuple(out.to_numpy(), sweeps);
}

}  // namespace
}  // namespace cutwise

void bind_descent(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("descend_medians", &cutwise::descend_medians, "matrix"_a, "centers"_a, "weights"_a.none(), "tolerance"_a,
        "max_sweeps"_a);
}
