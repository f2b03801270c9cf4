// Every column's values by their order: what searches for intervals and for cuts of surrogate features read.
//
// A *unit* is one distinct value of a column, or, in a column of more than kMaxUnits of them, a run of neighboring ones.
// Units do not depend on the order of the rows, on weights, or on whether equal rows were merged. Two bytes a value.
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

// Joins neighboring items into groups of about equal mass, at most `n_groups` and one more on each side of every item
// that holds a whole share by itself; such items stay alone. first[g] is the first item of group g; the last entry is n.
std::vector<int32_t> group_by_mass(const std::vector<int64_t> &mass, int32_t n_groups);

}  // namespace cutwise
