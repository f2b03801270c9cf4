// The rank of every value in its column, which the searches for intervals and for cuts of surrogate features read.
//
// A *unit* is one distinct value of a column or, in a column with more than kMaxUnits distinct values, a run of neighboring
// ones. Units do not depend on the order of the rows, on weights, or on whether equal rows were merged.
#pragma once

#include "base/matrix.hpp"

namespace cutwise {

constexpr int32_t kMaxUnits = 65536;

struct RankedColumn {
  std::vector<double> low, high;  // the least and the largest value of every unit
  bool exact = true;              // every unit is one value
  int32_t n_units() const { return static_cast<int32_t>(low.size()); }
};

struct Ranks {
  int64_t n_rows = 0;
  std::vector<RankedColumn> columns;
  std::vector<std::vector<uint16_t>> unit;  // unit[column][row]

  int32_t n_cols() const { return static_cast<int32_t>(columns.size()); }
};

Ranks rank_columns(const Matrix &matrix, int n_jobs);

// Joins neighboring items into about `n_groups` groups of equal mass. An item with as much mass as a whole group is a group by
// itself, which can add one group on each of its sides. Returns the first item of every group, and after them n.
std::vector<int64_t> group_by_mass(const std::vector<int64_t> &mass, int64_t n_groups);

}  // namespace cutwise
