// Cuts that leave each side at least as many distinct rows as centers, so that no leaf below need be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/matrix.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

// Thresholds from `first` on, below `end`.
struct ValidRange {
  double first = -std::numeric_limits<double>::infinity(), end = std::numeric_limits<double>::infinity();

  bool holds(double threshold) const { return first <= threshold && threshold < end; }
  bool is_empty() const { return !(first < end); }
};

// One node's rows, counted by content and no further than asked: rows that differ are many wherever few are wanted, so
// a count most often ends after a handful.
class ValidCuts {
 public:
  ValidCuts(const Encoded &encoded, const Matrix &matrix, const int32_t *rows, int64_t n)
      : encoded_(encoded), matrix_(matrix), rows_(rows), n_(n) {}

  bool has_distinct(size_t wanted) const;
  // Of the cuts begin <= threshold < end of a column, those with at least so many distinct rows on either side.
  ValidRange between(int32_t feature, double begin, double end, size_t n_left, size_t n_right) const;

 private:
  const Encoded &encoded_;
  const Matrix &matrix_;
  const int32_t *rows_;
  int64_t n_;
};

}  // namespace cutwise
