// Rows are equal when their codes are, and their raw values in the coarse columns.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/matrix.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

inline uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

inline uint64_t mix(uint64_t hash, double value) {
  uint64_t word;
  value += 0.0;  // -0.0 equals 0.0
  std::memcpy(&word, &value, sizeof word);
  return mix(hash, word);
}

// The columns in which equal codes do not tell that values are equal.
inline std::vector<int32_t> coarse_columns(const Encoded &encoded) {
  std::vector<int32_t> coarse;
  for (int32_t c = 0; c < encoded.n_cols(); ++c)
    if (!encoded.columns[c].exact) coarse.push_back(c);
  return coarse;
}

// Hash and equality of rows, for one kind of table.
template <class Table>
class EqualRows {
 public:
  // coarse: coarse_columns of the table, which outlives this.
  EqualRows(const Table &x, const Encoded &encoded, const std::vector<int32_t> &coarse)
      : x_(x), encoded_(encoded), coarse_(coarse) {}

  uint64_t hash(int64_t row) const {
    uint64_t h = 0x243F6A8885A308D3u;
    const char *bytes;
    int64_t n;
    span(row, bytes, n);
    h = mix(h, static_cast<uint64_t>(n));
    for (; n >= 8; n -= 8, bytes += 8) h = mix(h, word(bytes, 8));
    if (n > 0) h = mix(h, word(bytes, n));
    for_each_raw(row, [&](double value) { h = mix(h, value); });
    return mix(h, uint64_t{0});
  }

  bool equal(int64_t a, int64_t b) const {
    const char *bytes_a, *bytes_b;
    int64_t n_a, n_b;
    span(a, bytes_a, n_a);
    span(b, bytes_b, n_b);
    if (n_a != n_b) return false;
    for (; n_a >= 8; n_a -= 8, bytes_a += 8, bytes_b += 8)
      if (word(bytes_a, 8) != word(bytes_b, 8)) return false;
    if (n_a > 0 && word(bytes_a, n_a) != word(bytes_b, n_a)) return false;
    return raw_equal(a, b);
  }

 private:
  // The next n <= 8 bytes; rows are short, and calls for a few bytes cost more than the bytes.
  static uint64_t word(const char *bytes, int64_t n) {
    uint64_t whole = 0;
    if (n == 8) {
      std::memcpy(&whole, bytes, 8);
    } else {
      for (int64_t i = 0; i < n; ++i) whole = whole << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return whole;
  }

  void span(int64_t row, const char *&bytes, int64_t &n) const {
    if (encoded_.sparse) {
      bytes = reinterpret_cast<const char *>(encoded_.slots.data() + encoded_.indptr[row]);
      n = (encoded_.indptr[row + 1] - encoded_.indptr[row]) * static_cast<int64_t>(sizeof(int32_t));
    } else {
      bytes = reinterpret_cast<const char *>(encoded_.codes.data() + row * encoded_.n_groups);
      n = encoded_.n_groups;
    }
  }

  template <class F>
  void for_each_raw(int64_t row, F &&f) const {
    if constexpr (is_csr(static_cast<const Table *>(nullptr))) {
      if (coarse_.empty()) return;
      for (int64_t p = x_.indptr[row]; p < x_.indptr[row + 1]; ++p) f(static_cast<double>(x_.data[p]));
    } else {
      for (const int32_t c : coarse_) f(x_(row, c));
    }
  }

  // Of rows with equal codes: the same columns are stored in both.
  bool raw_equal(int64_t a, int64_t b) const {
    if constexpr (is_csr(static_cast<const Table *>(nullptr))) {
      if (coarse_.empty()) return true;
      const int64_t n = x_.indptr[a + 1] - x_.indptr[a];
      for (int64_t i = 0; i < n; ++i)
        if (static_cast<double>(x_.data[x_.indptr[a] + i]) != static_cast<double>(x_.data[x_.indptr[b] + i])) return false;
    } else {
      for (const int32_t c : coarse_)
        if (x_(a, c) != x_(b, c)) return false;
    }
    return true;
  }

  template <class T>
  static constexpr bool is_csr(const Csr<T> *) {
    return true;
  }
  static constexpr bool is_csr(const void *) { return false; }

  const Table x_;
  const Encoded &encoded_;
  const std::vector<int32_t> &coarse_;
};

// Numbers distinct rows in order of first occurrence. Grows with what it holds, so that few distinct rows stay in cache.
template <class Table>
class DistinctRows {
 public:
  // n_slots: a power of two, to begin with.
  explicit DistinctRows(const EqualRows<Table> &rows, size_t n_slots = 1024) : rows_(rows), slots_(n_slots, Slot{0, -1}) {}

  int32_t add(int64_t row) {
    const uint64_t hash = rows_.hash(row);
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = hash & mask;
    for (; slots_[at].group >= 0; at = (at + 1) & mask)
      if (slots_[at].tag == tag && rows_.equal(first_rows_[slots_[at].group], row)) return slots_[at].group;
    const int32_t group = static_cast<int32_t>(first_rows_.size());
    slots_[at] = {tag, group};
    hashes_.push_back(hash);
    first_rows_.push_back(static_cast<int32_t>(row));
    if (2 * first_rows_.size() > slots_.size()) grow();
    return group;
  }

  size_t size() const { return first_rows_.size(); }
  std::vector<int32_t> take_first_rows() { return std::move(first_rows_); }

 private:
  struct Slot {
    uint32_t tag;  // more of the hash, so that rows are compared only when they are almost surely equal
    int32_t group;
  };

  void grow() {
    slots_.assign(4 * slots_.size(), Slot{0, -1});
    const uint64_t mask = slots_.size() - 1;
    for (size_t group = 0; group < hashes_.size(); ++group) {
      uint64_t at = hashes_[group] & mask;
      while (slots_[at].group >= 0) at = (at + 1) & mask;
      slots_[at] = {static_cast<uint32_t>(hashes_[group] >> 32), static_cast<int32_t>(group)};
    }
  }

  const EqualRows<Table> &rows_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> first_rows_;
};

}  // namespace cutwise
