// Rows are equal when their codes are, and their raw values in the coarse columns.
#include "encoding/merge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cutwise {
namespace {

constexpr int64_t kAlwaysTried = 4096;  // rows; fewer are merged without asking a sample

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

// Hash and equality of rows, for one kind of table.
template <class Table>
class Rows {
 public:
  Rows(const Table &x, const Encoded &encoded) : x_(x), encoded_(encoded) {
    for (int32_t c = 0; c < encoded.n_cols(); ++c)
      if (!encoded.columns[c].exact) coarse_.push_back(c);
  }

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
  std::vector<int32_t> coarse_;
};

// Numbers distinct rows in order of first occurrence. Grows with what it holds, so that few distinct rows stay in cache.
template <class Table>
class Groups {
 public:
  explicit Groups(const Rows<Table> &rows) : rows_(rows), slots_(1024, Slot{0, -1}) {}

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

  int64_t size() const { return static_cast<int64_t>(first_rows_.size()); }
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

  const Rows<Table> &rows_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> first_rows_;
};

// About 4 sqrt(n) rows, increasing. Drawn over the whole table, not one from each stretch: repeats often stand side by side.
std::vector<int64_t> sample_rows(int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(4 * std::sqrt(static_cast<double>(n))));
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<int64_t>(mix(mix(0, uint64_t{i}), uint64_t{1}) % static_cast<uint64_t>(n));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Whether at most about half of the rows are distinct, from how often a small sample repeats itself. Rows seen once stand for
// a share of all rows; the pairs among them, those seen twice, tell how often such a row occurs: with c copies of each, two
// of n rows are equal with probability (c - 1) / n.
template <class Table>
bool seems_to_pay(const Rows<Table> &rows, int64_t n) {
  const std::vector<int64_t> sampled = sample_rows(n);
  Groups<Table> groups(rows);
  std::vector<int32_t> count;
  for (const int64_t row : sampled) {
    const size_t group = static_cast<size_t>(groups.add(row));
    if (group == count.size()) count.push_back(0);
    ++count[group];
  }
  const double once = static_cast<double>(std::count(count.begin(), count.end(), 1));
  const double twice = static_cast<double>(std::count(count.begin(), count.end(), 2));
  if (once == 0) return true;
  const double share = once / static_cast<double>(sampled.size());
  const double copies = 1 + 2 * twice * share * static_cast<double>(n) / (once * once);
  return share <= 0.55 * copies;
}

struct MergeTyped {
  const Encoded &encoded;

  template <class Table>
  std::optional<MergedRows> operator()(const Table &x) const {
    const Rows<Table> rows(x, encoded);
    const int64_t n = encoded.n_rows;
    if (n > kAlwaysTried && !seems_to_pay(rows, n)) return std::nullopt;
    Groups<Table> groups(rows);
    MergedRows merged;
    merged.group_of_row.resize(n);
    for (int64_t row = 0; row < n; ++row) {
      merged.group_of_row[row] = groups.add(row);
      if (2 * groups.size() > n) return std::nullopt;
    }
    merged.first_row = groups.take_first_rows();
    return merged;
  }
};

}  // namespace

std::optional<MergedRows> merge_duplicates(const Matrix &matrix, const Encoded &encoded) {
  if (matrix.n_rows() != encoded.n_rows || matrix.n_cols() != encoded.n_cols() || matrix.is_sparse() != encoded.sparse)
    throw std::invalid_argument("merge_duplicates needs the matrix that was encoded, with all of its rows");
  return matrix.visit(MergeTyped{encoded});
}

}  // namespace cutwise
