// The layout of slots and codes: which columns share a group, the codes of each, and what is recoded once all rows were read.
#pragma once

#include "encoding/bins.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

// A value that a column may take as its default, and the sampled rows that hold another one.
struct Default {
  int32_t bin;
  std::vector<uint64_t> others;  // one bit a sampled row
};

struct BundleCandidate {
  int32_t column;
  int32_t n_codes;                // bins other than the default one
  std::vector<Default> defaults;  // tried in turn
};

// Which columns share a group of codes: those of which at most one differs from its default value in any row.
struct Layout {
  int32_t n_groups = 0;
  std::vector<int32_t> group;        // of every column
  std::vector<int32_t> default_bin;  // -1: the column has its group to itself
};

// Groups the candidates (in column order) greedily by the sample, where it is convincing; every other column gets a group of
// its own. Groups are numbered by their first column. Unless the sample is the whole table, what it suggests has to be
// verified on all rows.
Layout lay_out(int32_t n_cols, const std::vector<BundleCandidate> &candidates, bool sample_is_all);

// Fills slot_begin, n_bins and exact of every column, group_begin and n_slots from each column's group and default_bin (-1:
// the column has the group to itself) and its bins. False when a bundle needs more codes than a byte has. Columns without a
// slot in `before`, if given, come last in their groups, so that the codes of the others stay as they are.
bool number_slots(const std::vector<Bins> &bins, Encoded &encoded, const Encoded *before = nullptr);

// The code of a bin of a column, in its group.
inline uint8_t code_of(const Encoded &encoded, const Column &column, int32_t bin) {
  return static_cast<uint8_t>(bin == column.default_bin ? 0 : column.slot_of(bin) - encoded.group_begin[column.group]);
}

// A value that the plan had no code for: none of its exact column's, or off its column's default in a row whose code another
// column of the bundle holds. Its code is still to be written.
struct UnseenValue {
  int32_t column, row;
  double value;
};

// Makes the codes true: exact columns get bins for the unseen values (or become coarse when they are too many), columns
// that conflict with others of their bundle get a group of their own.
void recode(std::vector<UnseenValue> unseen, std::vector<Bins> &bins, Encoded &encoded, int n_jobs);

}  // namespace cutwise
