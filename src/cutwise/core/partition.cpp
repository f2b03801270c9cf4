// Splitting a node's rows at a cut, and the gap the cut lies in.
#include <algorithm>
#include <limits>

#include "arrays.hpp"
#include "encoded.hpp"
#include "matrix.hpp"

namespace cutwise {
namespace {

struct Parted {
  int64_t n_left;
  double left_max, right_min;
};

// Reorders rows in place, those with value <= threshold first, both sides in their old order.
Parted part(const Encoded &encoded, const Matrix &matrix, int32_t *rows, int64_t n, int32_t feature, double threshold) {
  const Column &column = encoded.columns[feature];
  const double *low = encoded.low.data() + column.value_begin;
  const double *high = encoded.high.data() + column.value_begin;
  // Bins below `split` lie left, bins above right; `split` itself holds values on both sides unless it lies right as a whole.
  const int32_t split =
      static_cast<int32_t>(std::upper_bound(high, high + column.n_bins, threshold) - high);
  const bool inside = split < column.n_bins && low[split] <= threshold;
  std::vector<int32_t> right;
  right.reserve(n);
  int64_t n_left = 0;
  int32_t last_left = -1, first_right = column.n_bins;
  double left_max = -std::numeric_limits<double>::infinity(), right_min = std::numeric_limits<double>::infinity();
  matrix.visit([&](auto values) {
    for (int64_t i = 0; i < n; ++i) {
      const int32_t row = rows[i], bin = encoded.bin(row, column);
      bool goes_left = bin < split;
      if (bin == split && inside) {
        const double value = values(row, feature);
        goes_left = value <= threshold;
        if (goes_left) left_max = std::max(left_max, value);
        else right_min = std::min(right_min, value);
      }
      if (goes_left) {
        last_left = std::max(last_left, bin);
        rows[n_left++] = row;
      } else {
        first_right = std::min(first_right, bin);
        right.push_back(row);
      }
    }
    std::copy(right.begin(), right.end(), rows + n_left);
    // The ends of the gap: a bin of one value tells by itself, others are looked through.
    auto tighten = [&](int32_t bin, int64_t begin, int64_t end, bool left) {
      if (inside && bin == split) return;
      if (low[bin] == high[bin]) {
        if (left) left_max = std::max(left_max, high[bin]);
        else right_min = std::min(right_min, low[bin]);
        return;
      }
      for (int64_t i = begin; i < end; ++i) {
        if (encoded.bin(rows[i], column) != bin) continue;
        const double value = values(rows[i], feature);
        if (left) left_max = std::max(left_max, value);
        else right_min = std::min(right_min, value);
      }
    };
    if (n_left > 0) tighten(last_left, 0, n_left, true);
    if (n_left < n) tighten(first_right, n_left, n, false);
  });
  return {n_left, left_max, right_min};
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_partition(nb::module_ &m) {
  m.def(
      "partition",
      [](const Encoded &encoded, const Matrix &matrix, Out1<int32_t> rows, int32_t feature, double threshold) {
        require(feature >= 0 && feature < encoded.n_cols(), "feature is a column of the table");
        Parted parted;
        {
          nb::gil_scoped_release release;
          parted = part(encoded, matrix, rows.data(), static_cast<int64_t>(rows.size()), feature, threshold);
        }
        return nb::make_tuple(parted.n_left, parted.left_max, parted.right_min);
      },
      nb::arg("encoded"), nb::arg("matrix"), nb::arg("rows").noconvert(), nb::arg("feature"), nb::arg("threshold"));
}
