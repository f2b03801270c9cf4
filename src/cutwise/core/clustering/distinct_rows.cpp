// Which rows of a table are distinct, what they weigh in all, and a hash of what each holds: what a clustering is searched on
// depends on these alone, and so neither on the order of the rows nor on how often they were repeated or weighted.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"

namespace cutwise {
namespace {

using nb::literals::operator""_a;

// The finalizer of splitmix64.
inline uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  return bits ^ bits >> 31;
}

// What a value adds to its row's hash: zeros add nothing, so that a sparse row hashes like a dense one.
inline uint64_t hash_of(double value, uint64_t column_key) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits ^ column_key) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 32) * 0x94D049BB133111EBu;
  return value == 0.0 ? 0 : bits ^ bits >> 29;
}

// Distinct rows in the order in which they are met.
class DistinctRows {
 public:
  explicit DistinctRows(const RowReader &x) : x_(x), d_(x.n_cols()), keys_(x.n_cols()), slots_(1 << 12, -1) {
    for (int64_t f = 0; f < d_; ++f) keys_[f] = mixed(static_cast<uint64_t>(f + 1) * 0x9E3779B97F4A7C15u);
    other_.resize(x.is_sparse() ? 0 : d_);
  }

  void add_all(const int64_t *row_weights) {
    const int64_t step = x_.is_sparse() ? 1 : tile_rows(d_);
    std::vector<uint64_t> row_hashes(step);
    for (int64_t first = 0; first < x_.n_rows(); first += step) {
      const int64_t n = std::min(step, x_.n_rows() - first);
      while (2 * static_cast<int64_t>(hashes.size() + n) > static_cast<int64_t>(slots_.size())) grow();
      if (x_.is_sparse()) {
        stored_ = x_.stored(first, scratch_);
        row_hashes[0] = 0;
        for (int64_t p = 0; p < stored_.n; ++p) row_hashes[0] += hash_of(stored_.values[p], keys_[stored_.columns[p]]);
        row_hashes[0] = mixed(row_hashes[0]);
      } else {
        tile_ = x_.tile(first, n, scratch_);
        for (int64_t r = 0; r < n; ++r) {
          uint64_t hash = 0;
          for (int64_t f = 0; f < d_; ++f) hash += hash_of(tile_.rows[r * tile_.stride + f], keys_[f]);
          row_hashes[r] = mixed(hash);
          prefetch(&slots_[row_hashes[r] & (slots_.size() - 1)], 4);
        }
      }
      for (int64_t r = 0; r < n; ++r) add(first + r, r, row_hashes[r], row_weights == nullptr ? 1 : row_weights[first + r]);
    }
  }

  std::vector<uint64_t> hashes;
  std::vector<int64_t> rows, weights;

 private:
  void add(int64_t row, int64_t place_in_tile, uint64_t hash, int64_t weight) {
    if (weight == 0) return;
    size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const int32_t group = slots_[slot];
      if (hashes[group] == hash && equals(place_in_tile, rows[group])) {
        weights[group] += weight;
        return;
      }
    }
    slots_[slot] = static_cast<int32_t>(hashes.size());
    hashes.push_back(hash);
    rows.push_back(row);
    weights.push_back(weight);
  }

  void grow() {
    slots_.assign(slots_.size() * 2, -1);
    for (size_t group = 0; group < hashes.size(); ++group) {
      size_t slot = hashes[group] & (slots_.size() - 1);
      while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<int32_t>(group);
    }
  }

  // Whether a row at hand holds what another one does.
  bool equals(int64_t place_in_tile, int64_t other) {
    if (x_.is_sparse()) return equals(stored_, x_.stored(other, other_));
    x_.gather(&other, 1, other_.data());
    const double *values = tile_.rows + place_in_tile * tile_.stride;
    for (int64_t f = 0; f < d_; ++f)
      if (values[f] != other_[f]) return false;
    return true;
  }
  static bool equals(const StoredRow &a, const StoredRow &b) {
    int64_t p = 0, q = 0;
    for (;; ++p, ++q) {
      while (p < a.n && a.values[p] == 0.0) ++p;
      while (q < b.n && b.values[q] == 0.0) ++q;
      if (p == a.n || q == b.n) return p == a.n && q == b.n;
      if (a.columns[p] != b.columns[q] || a.values[p] != b.values[q]) return false;
    }
  }

  const RowReader &x_;
  int64_t d_;
  std::vector<uint64_t> keys_;  // by column
  std::vector<int32_t> slots_;  // numbers of distinct rows by hash; a power of two of them, half empty at least
  std::vector<double> scratch_, other_;
  Tile tile_{nullptr, 0};
  StoredRow stored_{nullptr, nullptr, 0};
};

using Distinct = std::tuple<Owned<int64_t, 1>, Owned<int64_t, 1>, Owned<uint64_t, 1>>;

Distinct distinct_rows(const Matrix &x, const Weights &weights) {
  require(x.n_rows() < int64_t{1} << 31, "there are fewer than 2^31 rows");
  const int64_t *w = checked(weights, x.n_rows());
  const std::unique_ptr<RowReader> reader = RowReader::of(x);
  DistinctRows distinct(*reader);
  {
    nb::gil_scoped_release release;
    distinct.add_all(w);
  }
  return {to_numpy(std::move(distinct.rows)), to_numpy(std::move(distinct.weights)), to_numpy(std::move(distinct.hashes))};
}

Owned<double, 1> hash_uniforms(const In1<uint64_t> &hashes, uint64_t seed) {
  NewArray<double, 1> out(hashes.size());
  const uint64_t key = mixed(seed + 0x9E3779B97F4A7C15u);
  for (size_t i = 0; i < hashes.size(); ++i)
    out.data()[i] = (static_cast<double>(mixed(hashes(i) ^ key) >> 12) + 0.5) * 0x1p-52;
  return out.to_numpy();
}

}  // namespace
}  // namespace cutwise

void bind_distinct_rows(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("distinct_rows", &cutwise::distinct_rows, "matrix"_a, "weights"_a.none() = nb::none(),
        R"(The distinct rows of positive weight, compared as float64 value by value, so that 0.0 equals -0.0.

Gives the number of the first of all equal rows, what they weigh together, and a hash of what each holds, whatever its dtype
and layout, all (n_distinct,). weights are not negative.)");
  m.def("hash_uniforms", &cutwise::hash_uniforms, "hashes"_a, "seed"_a,
        "A number in (0, 1) for every hash, as if drawn at random by the seed, which is below 2^64.");
}
