// A table encoded as one-byte codes, which the searches read instead of values.
//
// Every column has bins in increasing order of value. Bin b holds exactly the data values in [low[b], high[b]], and both ends
// occur in the data. A column is *exact* when every bin holds one value (low == high), otherwise *coarse*: it has up to 256
// quantile bins, and a search sorts the raw values of a bin where its bound says that a cut inside may be the best.
//
// A row is stored as *slots*, which are indices into one flat histogram:
//   dense   codes[row * n_groups + g] is a uint8, and the slot is group_begin[g] + code. A group holds one column, or a bundle
//           of columns of which at most one differs from its default value in any row (one-hot columns). Code 0 of a bundle
//           means that all its columns are at their default;
//   sparse  codes[p] belongs to the stored (non-zero) value p of the caller's table, and the slot is slot_begin of its column
//           plus the code.
// The bins of column f have the slots slot_begin[f] + 0, 1, 2 ..., except default_bin[f], which has none: its statistics are
// the node's total minus those of the other bins. default_bin[f] is -1 where every bin has a slot.
#pragma once

#include "base/matrix.hpp"
#include "base/simd.hpp"

namespace cutwise {

struct Column {
  int32_t group;        // dense: the group that the column is in; sparse: -1
  int32_t slot_begin;   // first slot
  int32_t n_bins;       // including the default bin; at least 1
  int32_t default_bin;  // -1: none
  int64_t value_begin;  // low[value_begin + b], high[value_begin + b]
  bool exact;

  int32_t n_slots() const { return n_bins - (default_bin >= 0 ? 1 : 0); }
  // The slot of a bin other than the default one.
  int32_t slot_of(int32_t bin) const { return slot_begin + bin - (default_bin >= 0 && bin > default_bin ? 1 : 0); }
  // The bin of a slot of this column.
  int32_t bin_of(int32_t slot) const {
    const int32_t bin = slot - slot_begin;
    return bin + (default_bin >= 0 && bin >= default_bin ? 1 : 0);
  }
};

// An allocator that leaves numbers uninitialized, since the threads that read the rows write every code; in large pages.
template <class T>
struct Uninitialized : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialized<U>;
  };
  T *allocate(size_t n) { return static_cast<T *>(allocate_bytes(n * sizeof(T))); }
  void deallocate(T *values, size_t) noexcept { std::free(values); }
  template <class U>
  void construct(U *) noexcept {}
  template <class U, class A, class... More>
  void construct(U *at, A &&value, More &&...more) {
    ::new (static_cast<void *>(at)) U(std::forward<A>(value), std::forward<More>(more)...);
  }
};

// The bins inside which the best cut may lie. A search that has bins alone, without rows, collects them here, and the caller
// fetches their rows.
struct RequestedBins {
  std::vector<int64_t> bin;   // numbered over all columns
  std::vector<double> bound;  // a lower bound on the score of the cuts inside

  void add(int64_t at, double least) {
    bin.push_back(at);
    bound.push_back(least);
  }
};

struct Encoded {
  int64_t n_rows = 0;
  int32_t n_slots = 0;
  std::vector<Column> columns;
  std::vector<double> low, high;
  std::shared_ptr<RequestedBins> requested;  // null, unless these are bins without rows; each bin then has at least one row

  bool sparse = false;
  // dense
  int32_t n_groups = 0;
  std::vector<int32_t> group_begin;                    // n_groups
  std::vector<uint8_t, Uninitialized<uint8_t>> codes;  // n_rows x n_groups, row-major; sparse: one for each stored value
  // sparse: the caller's arrays, which Python keeps alive as long as this object, and where each column's slots begin
  const int64_t *indptr = nullptr;
  const int32_t *indices = nullptr;
  std::vector<int32_t> slot_begin;

  int32_t n_cols() const { return static_cast<int32_t>(columns.size()); }
  bool is_bins_only() const { return requested != nullptr; }

  // The slot of stored value p of a sparse table.
  int32_t slot(int64_t p) const { return slot_begin[indices[p]] + codes[p]; }

  // The bin of one value. Dense: one byte is read; sparse: a binary search among the row's columns.
  int32_t bin(int64_t row, const Column &column) const {
    if (sparse) {
      const auto f = static_cast<int32_t>(&column - columns.data());
      const int32_t *last = indices + indptr[row + 1], *found = std::lower_bound(indices + indptr[row], last, f);
      return found != last && *found == f ? column.bin_of(slot(found - indices)) : column.default_bin;
    }
    const int32_t slot = group_begin[column.group] + codes[row * n_groups + column.group];
    if (slot < column.slot_begin || slot >= column.slot_begin + column.n_slots()) return column.default_bin;
    return column.bin_of(slot);
  }
};

inline void require_few_slots(int64_t n_slots) {
  require(n_slots <= std::numeric_limits<int32_t>::max(), "the table has more than 2**31 - 1 bins; encode fewer columns");
}

// What a column holds: values; values, with infinity where one is missing; or codes of levels. Columns of the last two kinds
// are never bundled, and infinity has a bin of its own.
enum class Contents : uint8_t { values, values_and_missing, levels };

// Encodes a dense table. contents: one entry per column; null means values everywhere.
Encoded encode_dense(const Matrix &matrix, const Contents *contents, int n_jobs);

// Encodes a CSR table.
Encoded encode_sparse(const Matrix &matrix, int n_jobs);

}  // namespace cutwise
