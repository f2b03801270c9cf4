// The bundled columns of a dense table, as the pass over its rows needs them: most values are their column's default and cost
// no more than a comparison.
#pragma once

#include "base/matrix.hpp"
#include "base/simd.hpp"
#include "encoding/bins.hpp"

namespace cutwise {

// Which of n values are off their defaults, where those count: 1, else 0.
template <class T>
CUTWISE_CLONES void mark_off_default(const T *x, const T *defaults, const uint8_t *counts, int64_t n, uint8_t *off) {
  for (int64_t j = 0; j < n; ++j) off[j] = static_cast<uint8_t>(x[j] != defaults[j]) & counts[j];
}

template <class T>
class BundledColumns {
 public:
  using V = Compared<T>;

  bool empty() const { return members_.empty(); }

  // A column, in increasing order of column; its other values and their codes follow by add_code().
  void add(int32_t column, int32_t group, double default_value) {
    const int32_t at = static_cast<int32_t>(value_.size());
    members_.push_back({column, group, static_cast<T>(default_value), at, at});
  }
  void add_code(double value, uint8_t code) {
    value_.push_back(static_cast<V>(value));
    code_.push_back(code);
    members_.back().last = static_cast<int32_t>(value_.size());
  }

  // Once all columns are there.
  void plan_rows(int64_t col_stride) {
    if (members_.empty() || col_stride != 1) return;
    const int32_t first = members_.front().column, width = members_.back().column - first + 1;
    // Among many other columns the members are found faster one by one.
    if (width > 4 * static_cast<int64_t>(members_.size())) return;
    by_row_ = true;
    row_default_.assign(width, T(0));
    is_member_.assign(width, 0);
    member_at_.assign(width, -1);
    for (size_t m = 0; m < members_.size(); ++m) {
      const int32_t at = members_[m].column - first;
      row_default_[at] = members_[m].default_value;
      is_member_[at] = 1;
      member_at_[at] = static_cast<int32_t>(m);
    }
  }

  // Writes into zeros the codes of the values that are not their column's default, in n rows whose values begin at `tile`.
  // Calls note(column, value, is_conflict) for what has no code, or comes where another column's code stands.
  template <class Note>
  void encode(const Dense<T> &x, const T *tile, int64_t n, int64_t n_groups, uint8_t *codes, Note &&note) const {
    const Placer<Note> place{value_.data(), code_.data(), note};
    if (by_row_) encode_rows(x.row_stride, tile, n, n_groups, codes, place);
    else encode_columns(x, tile, n, n_groups, codes, place);
  }

 private:
  struct Member {
    int32_t column, group;
    T default_value;
    int32_t first, last;  // its other values and their codes
  };

  // Keeps its pointers, for the compiler must believe that a byte written could change those of the columns.
  template <class Note>
  struct Placer {
    const V *value;
    const uint8_t *code;
    Note &note;

    CUTWISE_INLINE void operator()(const Member &member, T x, uint8_t *codes) const {
      const V v = static_cast<V>(x);
      uint8_t &held = codes[member.group];
      if (held == 0) {
        for (int32_t i = member.first; i < member.last; ++i) {
          if (value[i] != v) continue;
          held = code[i];
          return;
        }
      }
      note(member.column, v, held != 0);
    }
  };

  template <class Place>
  void encode_columns(const Dense<T> &x, const T *tile, int64_t n, int64_t n_groups, uint8_t *codes, const Place &place) const {
    const int64_t stride = x.row_stride;
    for (const Member &member : members_) {
      const T *values = tile + member.column * x.col_stride;
      const T default_value = member.default_value;
      for (int64_t i = 0; i < n; ++i) {
        const T v = values[i * stride];
        if (v != default_value) place(member, v, codes + i * n_groups);
      }
    }
  }

  // Where rows are contiguous. No branch depends on single values before it is known which are off their defaults.
  template <class Place>
  void encode_rows(int64_t stride, const T *tile, int64_t n, int64_t n_groups, uint8_t *codes, const Place &place) const {
    constexpr int64_t at_once = 16;
    const int64_t width = static_cast<int64_t>(row_default_.size());
    std::vector<uint8_t> off((width + at_once - 1) / at_once * at_once, 0);
    std::vector<int32_t> found(off.size() + 1);
    for (int64_t i = 0; i < n; ++i) {
      const T *row = tile + members_.front().column + i * stride;
      mark_off_default(row, row_default_.data(), is_member_.data(), width, off.data());
      int64_t n_found = 0;
      for (int64_t begin = 0; begin < width; begin += at_once) {
        uint64_t halves[2];
        std::memcpy(halves, off.data() + begin, sizeof halves);
        if ((halves[0] | halves[1]) == 0) continue;
        for (int64_t at = begin; at < begin + at_once; ++at) {
          found[n_found] = static_cast<int32_t>(at);
          n_found += off[at];
        }
      }
      for (int64_t f = 0; f < n_found; ++f) place(members_[member_at_[found[f]]], row[found[f]], codes + i * n_groups);
    }
  }

  std::vector<Member> members_;
  std::vector<V> value_;
  std::vector<uint8_t> code_;
  // From the first member's column to the last one's.
  bool by_row_ = false;
  std::vector<T> row_default_;
  std::vector<uint8_t> is_member_;
  std::vector<int32_t> member_at_;
};

}  // namespace cutwise
