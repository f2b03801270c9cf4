// Merging equal rows, where that pays.
#include "encoding/merge.hpp"

#include <algorithm>
#include <cmath>

#include "encoding/equal_rows.hpp"

namespace cutwise {
namespace {

constexpr int64_t kAlwaysTried = 4096;  // rows; fewer are merged without asking a sample

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
bool seems_to_pay(const EqualRows<Table> &rows, int64_t n) {
  const std::vector<int64_t> sampled = sample_rows(n);
  DistinctRows<Table> groups(rows);
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
    const std::vector<int32_t> coarse = coarse_columns(encoded);
    const EqualRows<Table> rows(x, encoded, coarse);
    const int64_t n = encoded.n_rows;
    if (n > kAlwaysTried && !seems_to_pay(rows, n)) return std::nullopt;
    DistinctRows<Table> groups(rows);
    MergedRows merged;
    merged.group_of_row.resize(n);
    for (int64_t row = 0; row < n; ++row) {
      merged.group_of_row[row] = groups.add(row);
      if (2 * static_cast<int64_t>(groups.size()) > n) return std::nullopt;
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
