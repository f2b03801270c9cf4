// Coordinate descent for k-medians: one coordinate of one center at a time moves to where all rows, free to change their
// center, cost least.
//
// Lloyd's algorithm moves a center for the rows it has, and a median stays where it is until half of their weight has moved:
// it ends in very many local optima. Here, with everything else fixed, a row i costs min(|x_i - t| + a_i, b_i) as a function of
// the coordinate t: a_i is its distance to the center in the other columns, b_i that to its best other center. Rows with
// r_i = b_i - a_i > 0 matter, and their sum min(|x_i - t|, r_i) is piecewise linear with kinks at x_i - r_i, x_i and x_i + r_i:
// its least value in a window is found exactly (line.hpp).
//
// Every move lowers the cost. The window is narrow where rows are many; then no better place is near.
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
#include "clustering/line_search.hpp"

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
        next_(n_),
        seen_(k_, -1) {
    for (int64_t j = 0; j < k_; ++j) measure(j);
    for (int64_t i = 0; i < n_; ++i) rank(i);
    add_up();
  }

  // Every coordinate of a center once; how much lower the rows cost.
  double move(int32_t j) {
    if (seen_[j] == n_moves_) return 0.0;
    measure(j);
    const int64_t m = find_rows(j);
    double gain = 0.0;
    const int64_t step = std::max<int64_t>(1, kHeldValues / std::max<int64_t>(m, 1));
    for (int64_t f = 0; f < d_ && m > 0; f += step) {
      const int64_t last = std::min(d_, f + step);
      read(f, last);
      for (int64_t g = f; g < last; ++g) gain += move_coordinate(j, g, values_.data() + (g - f) * m);
    }
    if (gain > 0.0) {
      ++n_moves_;
      measure(j);
      for (int64_t i = 0; i < n_; ++i) settle(i, j);
    } else {
      seen_[j] = n_moves_;
    }
    return gain;
  }

  // What all rows cost, found anew after every sweep.
  double add_up() {
    cost_ = 0.0;
    for (int64_t i = 0; i < n_; ++i) cost_ += static_cast<double>(weight_of(i)) * nearest_[i];
    return cost_;
  }
  int64_t k() const { return k_; }
  const std::vector<double> &centers() const { return centers_; }

 private:
  int64_t weight_of(int64_t row) const { return weights_ == nullptr ? 1 : weights_[row]; }

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
  // The same after center j has moved; all distances are looked at only where a third center may have become one of the two.
  void settle(int64_t i, int32_t j) {
    const double cost = distance_[j * n_ + i];
    const bool is_nearest = label_[i] == j, is_next = next_[i] == j;
    if ((is_nearest || is_next) && cost > second_[i]) {
      rank(i);
    } else if (is_nearest) {
      nearest_[i] = cost;
    } else if (is_next && cost >= nearest_[i]) {
      second_[i] = cost;
    } else {
      insert(i, j);
    }
  }

  // The rows that a center's coordinates can matter to: any row it serves, or would if it came nearer in one column.
  int64_t find_rows(int32_t j) {
    const double *own = distance_.data() + j * n_;
    rows_.resize(n_);
    spare_.resize(n_);
    int64_t m = 0;
    for (int64_t i = 0; i < n_; ++i) {
      rows_[m] = i;
      spare_[m] = (label_[i] == j ? second_[i] : nearest_[i]) - own[i];
      m += spare_[m] + widest_[i] > 0.0;
    }
    rows_.resize(m);
    if (weights_ != nullptr) {
      row_weights_.resize(m);
      for (int64_t r = 0; r < m; ++r) row_weights_[r] = weights_[rows_[r]];
    }
    return m;
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

  // How far a coordinate may move.
  double reach(const double *values, int64_t m, double from) {
    if (m < 2 * kSampled) return std::numeric_limits<double>::infinity();
    sampled_.clear();
    for (int64_t s = 0; s < kSampled; ++s) sampled_.push_back(std::fabs(values[s * m / kSampled] - from));
    const auto at = sampled_.begin() + kSampled / kShare;
    std::nth_element(sampled_.begin(), at, sampled_.end());
    return *at > 0.0 ? *at : std::numeric_limits<double>::infinity();
  }

  double move_coordinate(int64_t j, int64_t f, const double *values) {
    const int64_t m = static_cast<int64_t>(rows_.size());
    const int64_t *weights = weights_ == nullptr ? nullptr : row_weights_.data();
    const double from = centers_[j * d_ + f];
    const auto [to, gain] = line_.find(values, spare_.data(), weights, m, from, reach(values, m, from), kRounding * cost_);
    if (gain > 0.0) {
      centers_[j * d_ + f] = to;
      for (int64_t r = 0; r < m; ++r) spare_[r] -= std::fabs(values[r] - to) - std::fabs(values[r] - from);
    }
    return gain;
  }

  const RowReader &x_;
  const int64_t *weights_;
  int64_t n_, d_, k_;
  std::vector<double> centers_;
  std::vector<double> distance_;  // to each center, center after center
  std::vector<double> widest_;    // of the center measured last: the widest difference in a column
  std::vector<double> nearest_, second_;
  std::vector<int32_t> label_, next_;
  double cost_ = 0.0;
  int64_t n_moves_ = 0;
  std::vector<int64_t> seen_;         // for each center, how many moves there were when it last found no better place
  std::vector<int64_t> rows_;         // those that the coordinates of a center can matter to,
  std::vector<int64_t> row_weights_;  // what they weigh,
  std::vector<double> spare_;         // and how much more they may cost before they go elsewhere
  std::vector<double> values_, scratch_, sampled_;
  LineSearch line_;
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
      for (int32_t j = 0; j < state.k(); ++j) {
        gain += state.move(j);
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
      }
      more = gain > tolerance * state.add_up();
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
