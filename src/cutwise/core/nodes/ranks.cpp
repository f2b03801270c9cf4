// Rows sorted by the values of a column: the rows of a node, and for Ranks all rows once.
#include "nodes/ranks.hpp"

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "encoding/bins.hpp"
#include "nodes/node.hpp"

namespace cutwise {

std::vector<RowValue> sorted_rows(const NodeRows &node, int32_t feature) {
  std::vector<RowValue> sorted(node.n);
  node.matrix.visit([&](auto values) {
    for (int64_t i = 0; i < node.n; ++i) sorted[i] = {values(node.rows[i], feature), node.rows[i]};
  });
  sort_by_value(sorted);
  return sorted;
}

namespace {

constexpr int64_t kCollectedAhead = 16;
constexpr int64_t kReadPerLookup = 64;  // stored values that are read in the time that the lookup of one column takes

template <class Table>
void collect(const Table &values, const Encoded &encoded, const int32_t *rows, int64_t n, SortedBins *sorted, size_t n_sorted) {
  for (SortedBins *here = sorted; here < sorted + n_sorted; ++here) {
    const Column &column = encoded.columns[here->feature];
    const int32_t group_begin = encoded.group_begin[column.group];
    int32_t list_of[256];  // by code
    std::fill(list_of, list_of + 256, -1);
    for (size_t j = 0; j < here->bins.size(); ++j) {
      if (here->bins[j] != column.default_bin) list_of[column.slot_of(here->bins[j]) - group_begin] = static_cast<int32_t>(j);
      for (int32_t code = 0; here->bins[j] == column.default_bin && code < 256; ++code) {
        const int32_t slot = group_begin + code - column.slot_begin;
        if (slot < 0 || slot >= column.n_slots()) list_of[code] = static_cast<int32_t>(j);
      }
    }
    const uint8_t *codes = encoded.codes.data() + column.group;
    const auto code_of = [&](int64_t i) { return codes + static_cast<int64_t>(rows[i]) * encoded.n_groups; };
    for (int64_t i = 0; i < n; ++i) {
      if (i + 2 * kCollectedAhead < n) {  // rows are far from each other in memory
        prefetch(code_of(i + 2 * kCollectedAhead), 1);
        if (list_of[*code_of(i + kCollectedAhead)] >= 0) prefetch(values.address(rows[i + kCollectedAhead], here->feature), 1);
      }
      const int32_t list = list_of[*code_of(i)];
      if (list >= 0) here->rows[list].push_back({values(rows[i], here->feature), rows[i]});
    }
  }
}

template <class T>
void collect(const Csr<T> &values, const Encoded &encoded, const int32_t *rows, int64_t n, SortedBins *sorted,
             size_t n_sorted) {
  std::vector<int32_t> begin(encoded.n_cols(), -1);  // by column: where its lists, one per slot, begin; most have none
  std::vector<std::vector<RowValue> *> lists;
  for (SortedBins *here = sorted; here < sorted + n_sorted; ++here) {
    const Column &column = encoded.columns[here->feature];
    begin[here->feature] = static_cast<int32_t>(lists.size());
    lists.resize(lists.size() + column.n_slots(), nullptr);
    for (size_t j = 0; j < here->bins.size(); ++j)
      if (here->bins[j] != column.default_bin)  // the default bin holds zeros only, so there is nothing to sort
        lists[begin[here->feature] + column.slot_of(here->bins[j]) - column.slot_begin] = &here->rows[j];
  }
  const auto collect_at = [&](int64_t p, int32_t row) {
    const int32_t first = begin[values.indices[p]];
    if (first < 0) return;
    std::vector<RowValue> *list = lists[first + encoded.codes[p]];
    if (list != nullptr) list->push_back({static_cast<double>(values.data[p]), row});
  };
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = values.indptr[rows[i]], last = values.indptr[rows[i] + 1];
    if (last - first < kReadPerLookup * static_cast<int64_t>(n_sorted)) {
      for (int64_t p = first; p < last; ++p) collect_at(p, rows[i]);
      continue;
    }
    for (const SortedBins *here = sorted; here < sorted + n_sorted; ++here) {
      const int64_t p = std::lower_bound(values.indices + first, values.indices + last, here->feature) - values.indices;
      if (p < last && values.indices[p] == here->feature) collect_at(p, rows[i]);
    }
  }
}

}  // namespace

void sort_bins(const NodeRows &node, SortedBins *sorted, size_t n_sorted) {
  for (size_t i = 0; i < n_sorted; ++i) sorted[i].rows.assign(sorted[i].bins.size(), {});
  node.matrix.visit([&](const auto &values) { collect(values, node.encoded, node.rows, node.n, sorted, n_sorted); });
  for (size_t i = 0; i < n_sorted; ++i)
    for (auto &list : sorted[i].rows) sort_by_value(list);
}

std::vector<SortedBins> sorted_stored_rows(const NodeRows &node, const std::vector<int32_t> &features) {
  std::vector<SortedBins> stored;
  for (const int32_t f : features) {
    stored.push_back({f, std::vector<int32_t>(node.encoded.columns[f].n_bins)});
    std::iota(stored.back().bins.begin(), stored.back().bins.end(), 0);
  }
  sort_bins(node, stored.data(), stored.size());
  return stored;
}

Ranks rank_columns(const Matrix &matrix, int n_jobs) {
  Ranks ranks;
  const int64_t n = matrix.n_rows();
  const int32_t d = static_cast<int32_t>(matrix.n_cols());
  ranks.n_rows = n;
  ranks.columns.resize(d);
  ranks.unit.resize(d);
  parallel_for(n_jobs, d, [&](int64_t f) {
    RankedColumn &column = ranks.columns[f];
    std::vector<uint16_t> &unit = ranks.unit[f];
    unit.resize(n);
    std::vector<RowValue> sorted(n);
    matrix.visit([&](auto values) {
      for (int64_t i = 0; i < n; ++i) sorted[i] = {values(i, f) + 0.0, static_cast<int32_t>(i)};  // -0.0 becomes 0.0
    });
    sort_by_value(sorted);
    int64_t n_values = 0;
    for (int64_t i = 0; i < n; ++i) n_values += i == 0 || sorted[i].value != sorted[i - 1].value;
    column.exact = n_values <= kMaxUnits;
    int64_t value = -1;
    int32_t last = -1;
    for (int64_t i = 0; i < n; ++i) {
      const double here = sorted[i].value;
      value += i == 0 || here != sorted[i - 1].value;
      const int32_t u = static_cast<int32_t>(column.exact ? value : value * kMaxUnits / n_values);
      if (u != last) {
        column.low.push_back(here);
        column.high.push_back(here);
        last = u;
      }
      column.high.back() = here;
      unit[sorted[i].row] = static_cast<uint16_t>(u);
    }
  });
  return ranks;
}

std::vector<int64_t> group_by_mass(const std::vector<int64_t> &mass, int64_t n_groups) {
  const int64_t total = std::accumulate(mass.begin(), mass.end(), int64_t{0});
  std::vector<int64_t> first;
  // The share is rounded up so that no further group is needed; there is no product, since masses may add up to almost 2**62.
  cut_at(mass, total / n_groups + (total % n_groups != 0), -1, first);
  for (int64_t &last : first) ++last;
  first.insert(first.begin(), 0);
  return first;
}

}  // namespace cutwise

using namespace cutwise;

void bind_ranks(nb::module_ &m) {
  nb::class_<Ranks>(m, "Ranks",
                    R"(The rank of every value among the distinct values of its column, in two bytes.

In a column of more than 65,536 distinct values neighboring ones share a rank.)");
  m.def(
      "rank_columns",
      [](const Matrix &matrix, int n_jobs) {
        constexpr int64_t most = std::numeric_limits<int32_t>::max();
        require(matrix.n_rows() > 0 && matrix.n_rows() <= most && matrix.n_cols() > 0 && matrix.n_cols() <= most,
                "a table to rank has 1 to 2**31 - 1 rows and columns");
        const GilRelease release;
        return rank_columns(matrix, n_jobs);
      },
      "matrix"_a, "n_jobs"_a = 1, "The Ranks of a table.");
}
