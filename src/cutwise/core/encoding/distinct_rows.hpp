// Distinct rows, told by their values as float64.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/matrix.hpp"

namespace cutwise {

inline uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93u;
  word = (word ^ (word >> 32)) * 0xD6E8FEB86659FD93u;
  return word ^ (word >> 32);
}

// Hash and equality of the rows of one kind of table.
template <class Table>
class RowValues {
 public:
  explicit RowValues(const Table &x) : x_(x) {}

  // A sum over the columns: no term waits for another.
  uint64_t hash(int64_t row) const {
    uint64_t sum = 0;
    if constexpr (is_csr(static_cast<const Table *>(nullptr))) {
      for (int64_t p = x_.indptr[row]; p < x_.indptr[row + 1]; ++p) sum += term(static_cast<double>(x_.data[p]), x_.indices[p]);
    } else {
      for (int64_t f = 0; f < x_.n_cols; ++f) sum += term(x_(row, f), f);
    }
    return mix(sum);
  }

  bool equal(int64_t a, int64_t b) const {
    if constexpr (is_csr(static_cast<const Table *>(nullptr))) {
      const int64_t from_a = x_.indptr[a], from_b = x_.indptr[b], n = x_.indptr[a + 1] - from_a;
      if (x_.indptr[b + 1] - from_b != n) return false;
      for (int64_t i = 0; i < n; ++i)
        if (x_.indices[from_a + i] != x_.indices[from_b + i] ||
            static_cast<double>(x_.data[from_a + i]) != static_cast<double>(x_.data[from_b + i]))
          return false;
    } else {
      for (int64_t f = 0; f < x_.n_cols; ++f)
        if (x_(a, f) != x_(b, f)) return false;
    }
    return true;
  }

 private:
  static uint64_t term(double value, int64_t column) {
    uint64_t word;
    value += 0.0;  // -0.0 equals 0.0
    std::memcpy(&word, &value, sizeof word);
    return mix(word + static_cast<uint64_t>(column + 1) * 0x9E3779B97F4A7C15u);
  }

  template <class T>
  static constexpr bool is_csr(const Csr<T> *) {
    return true;
  }
  static constexpr bool is_csr(const void *) { return false; }

  const Table x_;
};

// Numbers distinct rows in order of first occurrence. Grows with what it holds, so that few distinct rows stay in cache.
template <class Table>
class DistinctRows {
 public:
  // n_slots: a power of two, to begin with.
  explicit DistinctRows(const RowValues<Table> &rows, size_t n_slots = 1024) : rows_(rows), slots_(n_slots, Slot{0, -1}) {}

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

  const RowValues<Table> &rows_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> first_rows_;
};

}  // namespace cutwise
