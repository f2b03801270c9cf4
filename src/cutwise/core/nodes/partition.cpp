// Splitting a node's rows at a cut, and the gap the cut lies in.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "encoding/encoded.hpp"
#include "nodes/node.hpp"

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
  const int32_t split = static_cast<int32_t>(std::upper_bound(high, high + column.n_bins, threshold) - high);
  const bool inside = split < column.n_bins && low[split] <= threshold;
  // Not initialized: what is never written takes no memory.
  const std::unique_ptr<int32_t[]> right(new int32_t[n]);
  int64_t n_left = 0, n_right = 0;
  int32_t last_left = -1, first_right = column.n_bins;
  double left_max = -std::numeric_limits<double>::infinity(), right_min = std::numeric_limits<double>::infinity();
  matrix.visit([&](auto values) {
    std::vector<uint8_t> seen(column.n_bins, 0);
    const BinReader bins(encoded, column);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t row = rows[i], bin = bins(row);
      bool goes_left = bin < split;
      if (inside && bin == split) {
        const double value = values(row, feature);
        goes_left = value <= threshold;
        if (goes_left) left_max = std::max(left_max, value);
        else right_min = std::min(right_min, value);
      }
      seen[bin] = 1;
      // Written to both sides, kept on one: no branch to mispredict.
      rows[n_left] = row;
      right[n_right] = row;
      n_left += goes_left;
      n_right += !goes_left;
    }
    std::copy(right.get(), right.get() + n_right, rows + n_left);
    for (int32_t bin = 0; bin < column.n_bins; ++bin) {
      if (!seen[bin] || (inside && bin == split)) continue;
      if (bin < split) last_left = bin;
      else first_right = std::min(first_right, bin);
    }
    // The ends of the gap: a bin of one value tells by itself, others are looked through.
    auto tighten = [&](int32_t bin, int64_t begin, int64_t end, bool left) {
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
    // Values of the cut's own bin were compared above, and lie closer than those of any other bin.
    if (last_left >= 0 && !std::isfinite(left_max)) tighten(last_left, 0, n_left, true);
    if (first_right < column.n_bins && !std::isfinite(right_min)) tighten(first_right, n_left, n, false);
  });
  return {n_left, left_max, right_min};
}

struct PartedInterval {
  int64_t n_inside = 0;
  // The values next to the two ends: infinite where no row is.
  double below_max = -std::numeric_limits<double>::infinity(), inside_min = std::numeric_limits<double>::infinity();
  double inside_max = -std::numeric_limits<double>::infinity(), above_min = std::numeric_limits<double>::infinity();
};

// The same for an interval: rows with lower < value <= upper first. Reads raw values: codes
// would leave up to four bins to look through.
PartedInterval part_interval(const Matrix &matrix, int32_t *rows, int64_t n, int32_t feature, double lower, double upper) {
  PartedInterval parted;
  std::vector<int32_t> outside;
  outside.reserve(n);
  matrix.visit([&](auto values) {
    for (int64_t i = 0; i < n; ++i) {
      const double value = values(rows[i], feature);
      if (value <= lower) {
        parted.below_max = std::max(parted.below_max, value);
        outside.push_back(rows[i]);
      } else if (value > upper) {
        parted.above_min = std::min(parted.above_min, value);
        outside.push_back(rows[i]);
      } else {
        parted.inside_min = std::min(parted.inside_min, value);
        parted.inside_max = std::max(parted.inside_max, value);
        rows[parted.n_inside++] = rows[i];
      }
    }
  });
  std::copy(outside.begin(), outside.end(), rows + parted.n_inside);
  return parted;
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_partition(nb::module_ &m) {
  m.def(
      "partition",
      [](const Encoded &encoded, const Matrix &matrix, Out1<int32_t> rows, int32_t feature, double threshold) {
        require(feature >= 0 && feature < encoded.n_cols(), "feature is a column of the table");
        require_same_table(encoded, matrix);
        Parted parted;
        {
          nb::gil_scoped_release release;
          parted = part(encoded, matrix, rows.data(), static_cast<int64_t>(rows.size()), feature, threshold);
        }
        return std::make_tuple(parted.n_left, parted.left_max, parted.right_min);
      },
      nb::arg("encoded"), nb::arg("matrix"), nb::arg("rows").noconvert(), nb::arg("feature"), nb::arg("threshold"),
      R"(Bring the rows with x[feature] <= threshold to the front, both sides in their old order.

Gives their number, and the two values that the cut lies between, infinite where a side is empty.)");
  m.def(
      "partition_interval",
      [](const Matrix &matrix, Out1<int32_t> rows, int32_t feature, double lower, double upper) {
        require(feature >= 0 && feature < matrix.n_cols(), "feature is a column of the table");
        PartedInterval parted;
        {
          nb::gil_scoped_release release;
          parted = part_interval(matrix, rows.data(), static_cast<int64_t>(rows.size()), feature, lower, upper);
        }
        return std::make_tuple(parted.n_inside, parted.below_max, parted.inside_min, parted.inside_max, parted.above_min);
      },
      nb::arg("matrix"), nb::arg("rows").noconvert(), nb::arg("feature"), nb::arg("lower"), nb::arg("upper"),
      R"(Bring the rows with lower < x[feature] <= upper to the front, both sides in their old order.

Gives their number and the values next to the two ends, (below_max, inside_min, inside_max, above_min), infinite where no
row is.)");
}
