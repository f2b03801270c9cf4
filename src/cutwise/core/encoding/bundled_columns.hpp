// The bundled columns of a dense table, and their codes in a pass over the rows. Most values are the default of their column,
// and take only a comparison.
#pragma once

#include "base/matrix.hpp"
#include "base/simd.hpp"
#include "encoding/bins.hpp"

namespace cutwise {

// One bit of a column in an integer about as wide as its values, so that values and bits are worked on in the same lanes.
template <class T>
using BitOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// A mask of which of n values (at most 32) differ from their defaults, among those that have a bit.
template <class T>
CUTWISE_INLINE uint64_t bits_off_default(const T *x, const T *defaults, const BitOf<T> *bits, int64_t n) {
  constexpr int64_t lanes = 32 / sizeof(BitOf<T>);
  BitOf<T> found[lanes] = {};
  // Masks in place of selections: GCC 12 compiles a selection by uint8 to wrong bits.
  const auto bit_off = [&](int64_t at) { return bits[at] & (BitOf<T>{0} - static_cast<BitOf<T>>(x[at] != defaults[at])); };
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) found[lane] |= bit_off(j + lane);
  for (; j < n; ++j) found[0] |= bit_off(j);
  return std::accumulate(found, found + lanes, uint64_t{0});
}

// The masks of n rows: one word for every 64 columns.
template <class T>
CUTWISE_CLONES void mark_off_default(const T *x, int64_t row_stride, int64_t n, const T *defaults, const BitOf<T> *bits,
                                     int64_t width, uint64_t *off) {
  for (int64_t i = 0; i < n; ++i) {
    const T *row = x + i * row_stride;
    for (int64_t j = 0; j < width; j += 32) {
      const uint64_t half = bits_off_default(row + j, defaults + j, bits + j, std::min<int64_t>(32, width - j));
      if (j % 64 == 0) *off = half;
      else *off |= half << 32;
      off += j % 64 != 0 || j + 32 >= width;
    }
  }
}

template <class T>
class BundledColumns {
 public:
  using V = Compared<T>;

  bool empty() const { return members_.empty(); }

  // Adds a column; columns come in increasing order. Its values other than the default follow with add_code().
  void add(int32_t column, int32_t group, double default_value) {
    const int32_t at = static_cast<int32_t>(value_.size());
    members_.push_back({column, group, static_cast<T>(default_value), at, at});
  }
  void add_code(double value, uint8_t code) {
    value_.push_back(static_cast<V>(value));
    code_.push_back(code);
    members_.back().last = static_cast<int32_t>(value_.size());
  }

  // Called after all columns were added.
  void plan_rows(int64_t col_stride) {
    if (members_.empty() || col_stride != 1) return;
    const int32_t first = members_.front().column, width = members_.back().column - first + 1;
    // Among many other columns it is faster to go column by column.
    if (width > 4 * static_cast<int64_t>(members_.size())) return;
    by_row_ = true;
    row_default_.assign(width, T(0));
    bit_.assign(width, 0);
    member_at_.assign(width, -1);
    for (size_t m = 0; m < members_.size(); ++m) {
      const int32_t at = members_[m].column - first;
      row_default_[at] = members_[m].default_value;
      bit_[at] = BitOf<T>{1} << (at % 32);
      member_at_[at] = static_cast<int32_t>(m);
    }
  }

  // Writes the codes of the values that differ from their column's default, in n rows from `first` on, whose values begin at
  // `tile`; the codes are zero before. Calls note(column, row, value, conflict) for a value without a code, or, as a
  // conflict, whose byte has another column's code.
  template <class Note>
  void encode(const Dense<T> &x, int64_t first, const T *tile, int64_t n, int64_t n_groups, uint8_t *codes, Note &&note) const {
    const CodeWriter<Note> write{value_.data(), code_.data(), note};
    if (by_row_) encode_rows(x.row_stride, first, tile, n, n_groups, codes, write);
    else encode_columns(x, first, tile, n, n_groups, codes, write);
  }

 private:
  struct Member {
    int32_t column, group;
    T default_value;
    int32_t first, last;  // its entries in value_ and code_
  };

  // Has copies of the pointers, as compilers would otherwise read them again after every byte that is written.
  template <class Note>
  struct CodeWriter {
    const V *value;
    const uint8_t *code;
    Note &note;

    CUTWISE_INLINE void operator()(const Member &member, int64_t row, T x, uint8_t *codes) const {
      const V v = static_cast<V>(x);
      uint8_t &code_of_group = codes[member.group];
      const bool conflict = code_of_group != 0;
      for (int32_t i = member.first; i < member.last && !conflict; ++i) {
        if (value[i] != v) continue;
        code_of_group = code[i];
        return;
      }
      note(member.column, row, v, conflict);
    }
  };

  template <class Write>
  void encode_columns(const Dense<T> &x, int64_t first, const T *tile, int64_t n, int64_t n_groups, uint8_t *codes,
                      const Write &write) const {
    const int64_t stride = x.row_stride;
    for (const Member &member : members_) {
      const T *values = tile + member.column * x.col_stride;
      const T default_value = member.default_value;
      for (int64_t i = 0; i < n; ++i) {
        const T v = values[i * stride];
        if (v != default_value) write(member, first + i, v, codes + i * n_groups);
      }
    }
  }

  // For contiguous rows: compares many neighboring columns with their defaults at once.
  template <class Write>
  void encode_rows(int64_t stride, int64_t first, const T *tile, int64_t n, int64_t n_groups, uint8_t *codes,
                   const Write &write) const {
    const int64_t width = static_cast<int64_t>(row_default_.size()), n_words = (width + 63) / 64;
    const int64_t rows_at_once = std::max<int64_t>(1, 1024 / n_words);
    const int32_t *member_at = member_at_.data();
    const Member *members = members_.data();
    std::vector<uint64_t> off(rows_at_once * n_words, 0);
    tile += members_.front().column;
    for (int64_t begin = 0; begin < n; begin += rows_at_once) {
      const int64_t end = std::min(n, begin + rows_at_once);
      mark_off_default(tile + begin * stride, stride, end - begin, row_default_.data(), bit_.data(), width, off.data());
      for (int64_t i = begin; i < end; ++i) {
        const T *row = tile + i * stride;
        const uint64_t *words = off.data() + (i - begin) * n_words;
        for (int64_t w = 0; w < n_words; ++w) {
          for (uint64_t word = words[w]; word != 0; word &= word - 1) {
            const int64_t at = 64 * w + lowest_bit(word);
            write(members[member_at[at]], first + i, row[at], codes + i * n_groups);
          }
        }
      }
    }
  }

  static int lowest_bit(uint64_t word) {
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int at = 0;
    while ((word >> at & 1) == 0) ++at;
    return at;
#endif
  }

  std::vector<Member> members_;
  std::vector<V> value_;
  std::vector<uint8_t> code_;
  // For encode_rows(), by column from that of the first member to that of the last.
  bool by_row_ = false;
  std::vector<T> row_default_;
  std::vector<BitOf<T>> bit_;  // the bit of a member in its half of a word; 0 for other columns
  std::vector<int32_t> member_at_;
};

}  // namespace cutwise
