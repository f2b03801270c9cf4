// Centers laid out for the cost kernels, and the costs of a few rows by every center.
//
// The cost of a row by a center is the sum over the columns, in their order, of (x - c)^2 (k-means) or |x - c| (k-medians) in
// float64. There is no expansion into |x|^2 - 2 x.c + |c|^2, which loses every digit on a column of timestamps. So a cost
// depends, to the bit, on its row and its center only, and not on threads or other rows.
//
// CSR rows with few columns are made dense, a tile at a time, and give the same bits as dense rows. With many columns, a cost
// is that of the all-zero row, corrected at the stored values by (x - c)^2 - c^2. Where c^2 is much larger than the distances
// between the centers (as for timestamps), the correction would cancel digits, and such columns, at most 32, are summed
// directly. Where a cost is still small compared with the corrections, it is summed again over all columns. The same is done
// for the costs by those centers of which rounding leaves open which is the nearest, so that a sparse row and the same dense
// row get the same label.
#pragma once

#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"

namespace cutwise {

enum class Objective { kmeans, kmedians };

inline Objective read_objective(const std::string &name) {
  if (name == "kmeans") return Objective::kmeans;
  if (name == "kmedians") return Objective::kmedians;
  throw std::invalid_argument("the objective is 'kmeans' or 'kmedians', not '" + name + "'");
}

// Whether a value is a small multiple of 1/256: differences of such values and their squares are exact, and so are sums of
// these below kExactBelow.
inline bool is_coarse(double value) {
  return std::fabs(value) <= 0x1p16 && static_cast<double>(static_cast<int32_t>(value * 256.0)) == value * 256.0;
}
constexpr double kExactBelow = 0x1p36;

// Centers in panels of eight, for the kernels that measure a row by all centers at once.
class CenterPanels {
 public:
  // centers: (k, d), row-major; they must outlive the panels. by_all: false where rows are only measured by single centers.
  CenterPanels(const double *centers, int64_t k, int64_t d, Objective objective, bool sparse, bool by_all = true)
      : k_(k), d_(d), padded_((k + kLanes - 1) / kLanes * kLanes), objective_(objective), centers_(centers) {
    if (by_all) panels_.assign(padded_ * d, 0.0);
    for (int64_t j = 0; by_all && j < k; ++j) {
      const int64_t lane = j / kPanel * kPanel, width = std::min(kPanel, padded_ - lane);
      for (int64_t f = 0; f < d; ++f) panels_[lane * d + f * width + (j - lane)] = centers[j * d + f];
    }
    // The sums of the lanes beyond the last center start at infinity, so that none of them is the nearest.
    start_.assign(padded_, std::numeric_limits<double>::infinity());
    std::fill(start_.begin(), start_.begin() + k, 0.0);
    if (sparse) prepare_sparse();
  }

  int64_t k() const { return k_; }
  int64_t n_cols() const { return d_; }
  int64_t padded() const { return padded_; }
  Objective objective() const { return objective_; }
  const double *center(int64_t j) const { return centers_ + j * d_; }
  const double *start() const { return start_.data(); }

  // A panel has eight centers side by side, column after column; the last panel may have four.
  static constexpr int64_t kPanel = 2 * kLanes;
  const double *panel(int64_t lane) const { return panels_.data() + lane * d_; }

  // Sparse: the columns summed directly, and for every column its index among these, or -1.
  const std::vector<int32_t> &direct() const { return direct_; }
  const std::vector<int8_t> &direct_index() const { return direct_index_; }
  int64_t n_stored(int64_t j) const { return n_stored_[j]; }
  // The first center with the same values as center j.
  int64_t first_equal(int64_t j) const { return first_equal_[j]; }
  bool has_exact_sums(int64_t j) const { return coarse_[j] != 0; }

  double term(double difference) const {
    return objective_ == Objective::kmeans ? difference * difference : std::fabs(difference);
  }

 private:
  void prepare_sparse() {
    choose_direct();
    n_stored_.assign(k_, 0);
    for (int64_t j = 0; j < k_; ++j)
      for (int64_t f = 0; f < d_; ++f) {
        if (direct_index_[f] < 0) start_[j] += term(center(j)[f]);
        n_stored_[j] += center(j)[f] != 0.0;
      }
    for (int64_t j = 0; j < k_; ++j) {
      int64_t i = 0;
      while (i < j && !(start_[i] == start_[j] && std::equal(center(i), center(i) + d_, center(j)))) ++i;
      first_equal_.push_back(i);
      coarse_.push_back(std::all_of(center(j), center(j) + d_, is_coarse));
    }
  }

  // The choice depends on the centers only, so that a cost is a function of the row and the centers.
  void choose_direct() {
    std::vector<double> size(d_, 0.0);
    double spread = 0.0;
    for (int64_t j = 0; j < k_; ++j) {
      double distance = 0.0;
      for (int64_t f = 0; f < d_; ++f) {
        size[f] = std::max(size[f], term(center(j)[f]));
        distance += term(center(j)[f] - center(0)[f]);
      }
      spread = std::max(spread, distance);
    }
    std::vector<int32_t> order;
    for (int64_t f = 0; f < d_; ++f)
      if (size[f] > 1048576.0 * spread) order.push_back(static_cast<int32_t>(f));
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return size[a] > size[b]; });
    if (order.size() > 32) order.resize(32);
    std::sort(order.begin(), order.end());
    direct_ = order;
    direct_index_.assign(d_, -1);
    for (size_t p = 0; p < direct_.size(); ++p) direct_index_[direct_[p]] = static_cast<int8_t>(p);
  }

  int64_t k_, d_, padded_;
  Objective objective_;
  const double *centers_;
  std::vector<double> panels_, start_;
  std::vector<int32_t> direct_;
  std::vector<int8_t> direct_index_;
  std::vector<int64_t> n_stored_, first_equal_;
  std::vector<char> coarse_;
};

CUTWISE_INLINE double smaller(double a, double b) { return b < a ? b : a; }
CUTWISE_INLINE double larger(double a, double b) { return b > a ? b : a; }

// The smallest and the second smallest cost of a row: equal on a tie; the second is infinite if there is only one center.
struct SmallestTwo {
  double cost, second;
};
SmallestTwo smallest_two(const double *row, int64_t padded);

// The first center of a given cost, found without branches that depend on the costs. It is the last center where there is none,
// as costs that overflow float64 may be nan.
CUTWISE_INLINE int32_t first_of(const double *row, int64_t k, int64_t padded, double cost) {
  double part[kLanes], number[kLanes] = {0.0, 1.0, 2.0, 3.0}, last = static_cast<double>(k - 1);
  const double step[kLanes] = {kLanes, kLanes, kLanes, kLanes};
  Lanes first, numbers, steps, lanes;
  for (double &p : part) p = last;
  load(first, part);
  load(numbers, number);
  load(steps, step);
  for (int64_t j = 0; j < padded; j += kLanes) {
    load(lanes, row + j);
    keep_first(first, numbers, lanes, cost);
    add(numbers, steps);
  }
  store(part, first);
  return static_cast<int32_t>(smaller(smaller(part[0], part[1]), smaller(part[2], part[3])));
}

// Computes the costs of rows by every center, a tile at a time. Every thread has its own.
class CostTile {
 public:
  CostTile(const RowReader &x, const CenterPanels &centers);

  int64_t capacity() const { return capacity_; }  // rows

  // The costs of rows first .. first + n - 1, row-major with centers.padded() columns; valid until the next call.
  const double *compute(int64_t first, int64_t n);
  // The same for dense rows that the caller has.
  const double *compute(const Tile &tile, int64_t n);
  // The cost of a sparse row by one center.
  double of_sparse(int64_t row, int64_t center);

  // The rows of the last compute(first, n), if they were read as dense rows.
  const Tile &tile() const { return tile_; }

 private:
  void sparse_row(int64_t row, double *costs);
  // Reads a row, and returns the stored values at which the costs of the all-zero row are corrected.
  StoredRow read_sparse(int64_t row);
  // Completes the costs by the centers first .. last - 1 after the correction.
  void finish_sparse(double *costs, int64_t first, int64_t last);
  StoredRow take_direct();
  void sum_cancelled(double *costs, int64_t first, int64_t last);
  void measure_nearest_exactly(double *costs);
  // Writes the stored values of the row into dense_, which is all zeros otherwise.
  void spread_stored();
  void clear_spread();
  double cost_of_spread(int64_t center) const;
  bool equals(const double *center) const;

  const RowReader &x_;
  const CenterPanels &c_;
  int64_t capacity_;
  Tile tile_{nullptr, 0};
  StoredRow stored_{nullptr, nullptr, 0};
  std::vector<double> scratch_;
  std::vector<double> costs_, dense_, other_values_, direct_values_;
  std::vector<int32_t> other_columns_;
};

// Runs work(first row, number of rows, costs, tile) over all rows on up to n_jobs threads.
template <class Work>
void for_each_tile(const RowReader &x, const CenterPanels &centers, int n_jobs, Work &&work) {
  parallel_for(n_jobs, count_blocks(x.n_rows()), [&](int64_t block) {
    CostTile tile(x, centers);
    const int64_t last = std::min(x.n_rows(), (block + 1) * kBlockRows);
    for (int64_t row = block * kBlockRows; row < last; row += tile.capacity()) {
      const int64_t n = std::min(tile.capacity(), last - row);
      const double *costs = tile.compute(row, n);
      work(row, n, costs, tile.tile());
    }
  });
}

// The functions of medians.cpp for other files. They do not use Python; they are called without the GIL.

// The least weight of the rows at or below a median, for a cluster of this weight.
inline int64_t half_of(int64_t weight) { return weight - weight / 2; }

// Turns -0.0 into 0.0. They are equal, and which of them is selected would depend on the order of the rows.
inline double plain_zero(double value) { return value + 0.0; }

// Writes the lower weighted median of every column into medians (k, d), for the clusters marked in `wanted` (null: all); those
// of clusters without weight do not change. The values in `medians` before are guesses, or nan, and a near guess is faster.
// Weights (null: 1 each) add up to less than 2^62.
void medians_of(const RowReader &x, const ClusterRows &clusters, const int64_t *weights, const char *wanted, double *medians,
                int n_jobs);

}  // namespace cutwise
