// Finds distinct rows. Values are compared as float64, where -0.0 equals 0.0, and a missing value (NaN) equals another.
#pragma once

#include "base/matrix.hpp"
#include "base/simd.hpp"

namespace cutwise {

// The finalizer of splitmix64.
CUTWISE_INLINE uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  return bits ^ bits >> 31;
}

inline uint64_t column_key(int64_t column) { return mixed(static_cast<uint64_t>(column + 1) * 0x9E3779B97F4A7C15u); }

// The term of a value in the hash of its row, which is a sum, so that terms do not depend on each other. Zeros add nothing, so
// that a sparse row has the same hash as a dense one.
CUTWISE_INLINE uint64_t hash_of(double value, uint64_t key) {
  uint64_t bits = (bit_cast<uint64_t>(value) ^ key) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 32) * 0x94D049BB133111EBu;
  return (bits ^ bits >> 29) & (0 - static_cast<uint64_t>(value != 0.0));  // without a branch, which would be mispredicted
}

// A hash table that numbers distinct rows in order of first occurrence. It grows with the rows, so that few stay in the cache.
class RowGroups {
 public:
  // n_slots: the size at first, a power of two.
  explicit RowGroups(size_t n_slots) : slots_(n_slots, Slot{0, -1}) {}

  // The group of a row. equals(first): whether it has the same values as the row `first` of the table.
  template <class Equals>
  int32_t add(int64_t row, uint64_t hash, Equals equals) {
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = hash & mask;
    for (; slots_[at].group >= 0; at = (at + 1) & mask)
      if (slots_[at].tag == tag && equals(first_rows[slots_[at].group])) return slots_[at].group;
    const int32_t group = static_cast<int32_t>(first_rows.size());
    slots_[at] = {tag, group};
    hashes.push_back(hash);
    first_rows.push_back(row);
    if (2 * first_rows.size() > slots_.size()) grow();
    return group;
  }
  void prefetch_slot(uint64_t hash) const { prefetch(&slots_[hash & (slots_.size() - 1)], sizeof(Slot)); }

  std::vector<uint64_t> hashes;     // by group
  std::vector<int64_t> first_rows;  // by group

 private:
  struct Slot {
    uint32_t tag;  // more of the hash, so that rows are compared only when they are almost surely equal
    int32_t group;
  };

  void grow() {
    slots_.assign(4 * slots_.size(), Slot{0, -1});
    const uint64_t mask = slots_.size() - 1;
    for (size_t group = 0; group < hashes.size(); ++group) {
      uint64_t at = hashes[group] & mask;
      while (slots_[at].group >= 0) at = (at + 1) & mask;
      slots_[at] = {static_cast<uint32_t>(hashes[group] >> 32), static_cast<int32_t>(group)};
    }
  }

  std::vector<Slot> slots_;
};

// The distinct rows of a table, among the rows that are added.
template <class Table>
class DistinctRows {
 public:
  explicit DistinctRows(const Table &x, size_t n_slots = 1024) : groups(n_slots), x_(x) {
    if constexpr (!Table::is_csr)
      for (int64_t f = 0; f < x_.n_cols; ++f) keys_.push_back(column_key(f));
  }

  // Returns the group of a row.
  int32_t add(int64_t row) { return add(row, hash(row)); }
  // Adds all rows that are wanted, in order, and calls on_group(row, group) for each. Slots of the hash table are prefetched.
  template <class IsWanted, class OnGroup>
  void add_all(IsWanted &&is_wanted, OnGroup &&on_group) {
    constexpr int64_t kAhead = 32;
    uint64_t hashes[kAhead];
    for (int64_t first = 0; first < x_.n_rows; first += kAhead) {
      const int64_t n = std::min(kAhead, x_.n_rows - first);
      for (int64_t i = 0; i < n; ++i) groups.prefetch_slot(hashes[i] = hash(first + i));
      for (int64_t i = 0; i < n; ++i)
        if (is_wanted(first + i)) on_group(first + i, add(first + i, hashes[i]));
    }
  }
  size_t size() const { return groups.first_rows.size(); }

  RowGroups groups;

 private:
  int32_t add(int64_t row, uint64_t hash) {
    return groups.add(row, hash, [&](int64_t first) { return equal(first, row); });
  }

  uint64_t hash(int64_t row) const {
    uint64_t sum = 0;
    if constexpr (Table::is_csr) {
      for (int64_t p = x_.indptr[row]; p < x_.indptr[row + 1]; ++p)
        sum += hash_of(static_cast<double>(x_.data[p]), column_key(x_.indices[p]));
    } else {
      for (int64_t f = 0; f < x_.n_cols; ++f) sum += hash_of(x_(row, f), keys_[f]);
    }
    return mixed(sum);
  }

  bool equal(int64_t a, int64_t b) const {
    if constexpr (Table::is_csr) {
      const int64_t from_a = x_.indptr[a], from_b = x_.indptr[b], n = x_.indptr[a + 1] - from_a;
      if (x_.indptr[b + 1] - from_b != n) return false;
      for (int64_t i = 0; i < n; ++i)
        if (x_.indices[from_a + i] != x_.indices[from_b + i] ||
            static_cast<double>(x_.data[from_a + i]) != static_cast<double>(x_.data[from_b + i]))
          return false;
    } else {
      for (int64_t f = 0; f < x_.n_cols; ++f)
        if (const double one = x_(a, f), other = x_(b, f); one != other && (one == one || other == other)) return false;
    }
    return true;
  }

  const Table x_;
  std::vector<uint64_t> keys_;  // by column; empty for sparse rows
};

}  // namespace cutwise
