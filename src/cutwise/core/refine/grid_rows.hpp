// Rows as whole numbers, whose sums are exact.
#pragma once

#include "base/arrays.hpp"
#include "base/exact_sums.hpp"
#include "base/rows.hpp"
#include "refine/sample.hpp"

namespace cutwise {

// Entry 0 of a row is its weight, the others are its coordinates from an origin times `scale`, rounded, times the weight (or
// rounded after that, for weights that are no counts). Coordinates beyond the reach count as the reach. They are those along
// directions where there are any, else one a column. Zeros fill the row up to a multiple of four numbers.
class GridRows {
 public:
  GridRows(const Matrix &matrix, const int64_t *weights, const In1<double> &origin, double reach, double scale,
           bool weigh_first, const std::optional<In2<double>> &directions)
      : reader_(RowReader::of(matrix)),
        weights_(weights),
        origin_(origin.data()),
        reach_(reach),
        scale_(scale),
        weigh_first_(weigh_first) {
    n_cols_ = matrix.n_cols();
    n_lanes_ = directions ? static_cast<int64_t>(directions->shape(0)) : n_cols_;
    cost_.width = static_cast<int32_t>((n_lanes_ + kLanes) / kLanes * kLanes);
    require(!matrix.is_sparse(), "the matrix is dense");
    require(has_shape(origin, n_cols_), "an origin has one coordinate for each column");
    require(!directions || static_cast<int64_t>(directions->shape(1)) == n_cols_, "directions have one entry for each column");
    if (directions) directions_ = directions->data();
  }

  int32_t width() const { return cost_.width; }
  int64_t n_rows() const { return reader_->n_rows(); }

  // Cost of a leaf, up to a constant; in units of scale^-2.
  CUTWISE_INLINE double cost(const double *sums) const { return cost_.of(sums); }

  void read(const int64_t *rows, int64_t n, double *to, RowScratch &scratch) const {
    const int64_t step = tile_rows(n_cols_);
    scratch.resize(step * n_cols_);
    for (int64_t first = 0; first < n; first += step, rows += step) {
      const int64_t here = std::min(step, n - first);
      reader_->gather(rows, here, scratch.data());
      for (int64_t i = 0; i < here; ++i) place(scratch.data() + i * n_cols_, weight(rows[i]), to + (first + i) * width());
    }
  }

 private:
  double weight(int64_t row) const { return weights_ != nullptr ? static_cast<double>(weights_[row]) : 1.0; }

  CUTWISE_INLINE double clamped(int64_t column, double value) const {
    return std::min(std::max(value - origin_[column], -reach_), reach_);
  }

  // No product reaches 2^51, where kMagic would fail to round.
  CUTWISE_INLINE double on_grid(double x, double weight) const {
    return weigh_first_ ? (x * scale_ * weight + kMagic) - kMagic : weight * ((x * scale_ + kMagic) - kMagic);
  }

  void place(const double *x, double weight, double *to) const {
    std::fill(to, to + width(), 0.0);
    to[0] = weight;
    if (directions_ == nullptr) {
      for (int64_t j = 0; j < n_cols_; ++j) to[j + 1] = on_grid(clamped(j, x[j]), weight);
      return;
    }
    for (int64_t p = 0; p < n_lanes_; ++p) {
      double along = 0.0;
      for (int64_t j = 0; j < n_cols_; ++j) along += directions_[p * n_cols_ + j] * clamped(j, x[j]);
      to[p + 1] = on_grid(along, weight);
    }
  }

  std::unique_ptr<RowReader> reader_;
  const int64_t *weights_;
  const double *origin_;
  const double reach_, scale_;
  const bool weigh_first_;
  LeafCost cost_;
  const double *directions_ = nullptr;
  int64_t n_cols_ = 0, n_lanes_ = 0;
};

}  // namespace cutwise
