// Which rows of a table are distinct, what they weigh in all, and a hash of what each holds: what a clustering is searched on
// depends on these alone, and so neither on the order of the rows nor on how often they were repeated or weighted.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"

namespace cutwise {
namespace {

using nb::literals::operator""_a;

// Distinct rows in the order in which they are met, read as many at a time as stay in cache.
class WeighedRows {
 public:
  explicit WeighedRows(const RowReader &x) : groups(1 << 12), x_(x), d_(x.n_cols()), keys_(x.n_cols()) {
    for (int64_t f = 0; f < d_; ++f) keys_[f] = column_key(f);
    other_.resize(x.is_sparse() ? 0 : d_);
  }

  void add_all(const int64_t *row_weights) {
    const int64_t step = x_.is_sparse() ? 1 : tile_rows(d_);
    std::vector<uint64_t> row_hashes(step);
    for (int64_t first = 0; first < x_.n_rows(); first += step) {
      const int64_t n = std::min(step, x_.n_rows() - first);
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
          groups.ask_for(row_hashes[r]);
        }
      }
      for (int64_t r = 0; r < n; ++r) add(first + r, r, row_hashes[r], row_weights == nullptr ? 1 : row_weights[first + r]);
    }
  }

  RowGroups groups;
  std::vector<int64_t> weights;

 private:
  void add(int64_t row, int64_t place_in_tile, uint64_t hash, int64_t weight) {
    if (weight == 0) return;
    const size_t group = groups.add(row, hash, [&](int64_t first) { return equals(place_in_tile, first); });
    if (group == weights.size()) weights.push_back(0);
    weights[group] += weight;
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
  std::vector<double> scratch_, other_;
  Tile tile_{nullptr, 0};
  StoredRow stored_{nullptr, nullptr, 0};
};

using Distinct = std::tuple<Owned<int64_t, 1>, Owned<int64_t, 1>, Owned<uint64_t, 1>>;

Distinct distinct_rows(const Matrix &x, const Weights &weights) {
  require(x.n_rows() < int64_t{1} << 31, "there are fewer than 2^31 rows");
  const int64_t *w = checked(weights, x.n_rows());
  const std::unique_ptr<RowReader> reader = RowReader::of(x);
  WeighedRows distinct(*reader);
  {
    nb::gil_scoped_release release;
    distinct.add_all(w);
  }
  return {to_numpy(std::move(distinct.groups.first_rows)), to_numpy(std::move(distinct.weights)),
          to_numpy(std::move(distinct.groups.hashes))};
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
