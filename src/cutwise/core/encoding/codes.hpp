// The layout of slots and codes: which columns share a group, the codes of each, and the recoding after all rows were read.
#pragma once

#include "encoding/bins.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

// A value that may be the default of a column, and the sampled rows that have another one.
struct Default {
  int32_t bin;
  std::vector<uint64_t> others;  // one bit per sampled row
};

// A column that may be bundled with others.
struct BundleCandidate {
  int32_t column;
  int32_t n_codes;                // bins other than the default one
  std::vector<Default> defaults;  // tried in turn
};

// Which columns share a group of codes: those of which at most one differs from its default value in any row.
struct Layout {
  int32_t n_groups = 0;
  std::vector<int32_t> group;        // by column
  std::vector<int32_t> default_bin;  // by column; -1 where it is alone in its group
};

// Groups the candidates, which are in column order, greedily by the sample; a column without convincing partners is alone in
// its group. Groups are numbered by their first column. Unless the sample is the whole table, the layout has to be verified on
// all rows.
Layout lay_out(int32_t n_cols, const std::vector<BundleCandidate> &candidates, bool sample_is_all);

// From the group, default_bin and bins of every column, fills its slot_begin, n_bins and exact, and group_begin and n_slots of
// the table. Returns false when a bundle needs more codes than a byte has.
bool number_slots(const std::vector<Bins> &bins, Encoded &encoded);

// The code of a bin of a column in the column's group.
inline uint8_t code_of(const Encoded &encoded, const Column &column, int32_t bin) {
  return static_cast<uint8_t>(bin == column.default_bin ? 0 : column.slot_of(bin) - encoded.group_begin[column.group]);
}

// A value for which an exact column has no bin. Its code is written by recode().
struct UnseenValue {
  int32_t column, row;
  double value;
};

// Gives the unseen values bins and codes: exact columns get bins for them, or become coarse when there are too many. Returns
// nothing, or columns that have to leave their bundles first, as these have no codes for their values; the codes are then lost.
std::vector<int32_t> recode(std::vector<UnseenValue> unseen, std::vector<Bins> &bins, Encoded &encoded, int n_jobs);

}  // namespace cutwise
