// The level of every row in one categorical column, read from the byte that the column has in an encoded table.
#pragma once

#include "base/arrays.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

class Levels {
 public:
  // columns: the encoded 0/1 columns of the levels, in order; where there are two levels, the column of the second only.
  Levels(const Encoded &encoded, const In1<int32_t> &columns, int32_t n_levels)
      : n_rows_(encoded.n_rows), n_slots_(encoded.n_slots), stride_(encoded.n_groups), slot_(n_levels, -1) {
    const auto n_columns = static_cast<int32_t>(columns.size());
    require(!encoded.sparse && n_columns > 0 && (n_columns == n_levels || (n_columns == 1 && n_levels == 2)),
            "every level has a column, or the second of two");
    for (size_t j = 0; j < columns.size(); ++j)
      require(columns(j) >= 0 && columns(j) < encoded.n_cols() && encoded.columns[columns(j)].group >= 0,
              "columns are encoded");
    const int32_t group = encoded.columns[columns(0)].group, begin = encoded.group_begin[group];
    bytes_ = encoded.codes.data() + group;
    if (n_columns < n_levels) slot_[0] = begin;  // the first of two levels has no column: it is what the second is not
    for (int32_t j = 0; j < n_columns; ++j) {
      const Column &column = encoded.columns[columns(j)];
      const int32_t level = n_levels - n_columns + j;
      if (encoded.low[column.value_begin + column.n_bins - 1] != 1.0) continue;  // no row has this level
      slot_[level] = column.slot_begin;
      level_[(column.slot_begin - begin) & 255] = level;
      if (n_columns < n_levels && column.slot_begin == begin) slot_[0] = -1;
    }
  }

  // The sums of every level, (n_levels, k, width), from those of every slot, (n_slots, k, width).
  std::vector<int64_t> sums(const In3<int64_t> &histogram) const {
    require(static_cast<int64_t>(histogram.shape(0)) == n_slots_, "histogram has one line per slot");
    const auto line = static_cast<int64_t>(histogram.shape(1) * histogram.shape(2));
    std::vector<int64_t> found(slot_.size() * line, 0);
    for (size_t v = 0; v < slot_.size(); ++v)
      if (slot_[v] >= 0) std::copy_n(histogram.data() + slot_[v] * line, line, found.begin() + static_cast<int64_t>(v) * line);
    return found;
  }

  // The sums of value(row) over the given rows, by level.
  template <class Value>
  std::vector<int64_t> add_up(const int32_t *rows, int64_t n, Value &&value) const {
    std::vector<int64_t> of_level(slot_.size(), 0);
    for (int64_t i = 0; i < n; ++i) of_level[(*this)(rows[i])] += value(rows[i]);
    return of_level;
  }

  int32_t operator()(int64_t row) const { return level_[bytes_[row * stride_]]; }
  int64_t n_rows() const { return n_rows_; }
  int64_t size() const { return static_cast<int64_t>(slot_.size()); }

 private:
  int64_t n_rows_, n_slots_, stride_;
  const uint8_t *bytes_;
  int32_t level_[256] = {};
  std::vector<int64_t> slot_;  // by level: its slot in a histogram, -1 where no row has it
};

}  // namespace cutwise
