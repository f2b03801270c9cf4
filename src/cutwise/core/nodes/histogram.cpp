// Histograms of a node's rows over their slots.
//
// In a *cluster histogram* every row adds one or two numbers to the cell (slot, cluster of the row): its weight (mistakes,
// purity), or its loss when it is separated from its nearest center (induced cost). In a *cost histogram* every row adds its k
// excess costs (surrogate cost). All sums are of integers, so they do not depend on the order of the rows.
#include "nodes/histogram.hpp"
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {
namespace {

// The cells of one run of bytes are at most so large, so that they stay in the second-level cache during a pass over the rows.
constexpr int64_t kCachedBytes = 400 * 1024;
// Cells of a sparse table are prefetched so many stored values ahead, since the columns of a row are far from each other.
constexpr int64_t kValuesAhead = 16;

int32_t n_codes_of(const Encoded &encoded, int32_t group) {
  const int32_t end = group + 1 < encoded.n_groups ? encoded.group_begin[group + 1] : encoded.n_slots;
  return end - encoded.group_begin[group];
}

// Splits the groups of a table into runs whose cells fit in the cache, and into about n_jobs runs at least.
std::vector<int32_t> group_runs(const Encoded &encoded, int64_t bytes_per_slot, int n_jobs) {
  std::vector<int32_t> runs{0};
  const int64_t total = static_cast<int64_t>(encoded.n_slots) * bytes_per_slot;
  const int64_t limit = std::max<int64_t>(1, std::min(kCachedBytes, total / std::max(1, n_jobs)));
  int64_t filled = 0;
  for (int32_t g = 0; g < encoded.n_groups; ++g) {
    const int64_t bytes = n_codes_of(encoded, g) * bytes_per_slot;
    if (filled > 0 && filled + bytes > limit) {
      runs.push_back(g);
      filled = 0;
    }
    filled += bytes;
  }
  runs.push_back(encoded.n_groups);
  return runs;
}

int jobs_worth(int n_jobs, int64_t additions) {
  // Starting a thread costs tens of microseconds, about 50,000 additions.
  return static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(n_jobs, additions / 100000)));
}

// Calls add(first group, last group) so that all groups are added, each thread some of them. cells: numbers per slot.
template <class Add>
void add_all(const Encoded &encoded, int64_t cells, int64_t n_additions, int n_jobs, Add &&add) {
  n_jobs = jobs_worth(n_jobs, n_additions);
  const auto runs = group_runs(encoded, cells * 8, n_jobs);
  parallel_for(n_jobs, static_cast<int64_t>(runs.size()) - 1, [&](int64_t run) { add(runs[run], runs[run + 1]); });
}

template <int width, class Cell>
CUTWISE_INLINE void add_to_cell(Cell *cells, int64_t at, int64_t v0, int64_t v1) {
  cells[at * width] = static_cast<Cell>(cells[at * width] + v0);
  if (width == 2) cells[at * width + 1] = static_cast<Cell>(cells[at * width + 1] + v1);
}

template <int width, class Cluster, class First, class Cell>
void add_stored(const Encoded &encoded, const int32_t *rows, int64_t n, PerRow<Cluster> cluster, PerRow<First> first,
                PerRow<int64_t> second, int64_t k, int64_t sign, Cell *histogram) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t row = rows[i], c = cluster[row];
    if (c < 0) continue;
    const int64_t v0 = first ? sign * first[row] : sign, v1 = second ? sign * second[row] : sign;
    const int64_t last = encoded.indptr[row + 1];
    for (int64_t p = encoded.indptr[row]; p < last; ++p) {
      if (p + kValuesAhead < last) prefetch(histogram + (encoded.slot(p + kValuesAhead) * k + c) * width, 1);
      add_to_cell<width>(histogram, encoded.slot(p) * k + c, v0, v1);
    }
  }
}

template <int width, class Cluster, class First>
void add_clusters(const Encoded &encoded, const int32_t *rows, int64_t n, PerRow<Cluster> cluster, PerRow<First> first,
                  PerRow<int64_t> second, int64_t k, int64_t sign, int64_t *histogram, int n_jobs) {
  add_all(encoded, k * width, n * encoded.n_groups, n_jobs, [&](int32_t begin, int32_t end) {
    for (int64_t i = 0; i < n; ++i) {
      const int32_t row = rows[i], c = cluster[row];
      if (c < 0) continue;
      const int64_t v0 = first ? sign * first[row] : sign, v1 = second ? sign * second[row] : sign;
      const uint8_t *code = encoded.codes.data() + static_cast<int64_t>(row) * encoded.n_groups;
      for (int32_t g = begin; g < end; ++g) add_to_cell<width>(histogram, (encoded.group_begin[g] + code[g]) * k + c, v0, v1);
    }
  });
}

// Adds the costs of one row of a sparse table to its slots.
template <class Cost>
CUTWISE_CLONES void add_to_slots(const uint8_t *codes, const int32_t *columns, int64_t n, const int32_t *slot_begin,
                                 const Cost *cost, int64_t k, int64_t *histogram) {
  for (int64_t p = 0; p < n; ++p) {
    if (p + kValuesAhead < n) prefetch(histogram + (slot_begin[columns[p + kValuesAhead]] + codes[p + kValuesAhead]) * k, 1);
    int64_t *cell = histogram + (slot_begin[columns[p]] + codes[p]) * k;
    for (int64_t j = 0; j < k; ++j) cell[j] += cost[j];
  }
}

// Adds the costs of all rows for one run of groups. This is one function so that compilers vectorize the additions in the loop.
template <class Cost>
CUTWISE_CLONES void add_costs_run(const uint8_t *codes, const int32_t *group_begin, int64_t n_groups, int32_t begin,
                                  int32_t end, const int32_t *rows, int64_t n, const Cost *costs, int64_t k,
                                  int64_t *histogram) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = rows[i];
    const Cost *cost = costs + row * k;
    const uint8_t *code = codes + row * n_groups;
    for (int32_t g = begin; g < end; ++g) {
      int64_t *cell = histogram + (group_begin[g] + code[g]) * k;
      for (int64_t j = 0; j < k; ++j) cell[j] += cost[j];
    }
  }
}

template <class Cost>
void add_costs(const Encoded &encoded, const int32_t *rows, int64_t n, const Cost *costs, int64_t k, int64_t *histogram,
               int64_t *totals, int n_jobs) {
  if (encoded.sparse || !histogram) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = rows[i];
      add_numbers(totals, costs + row * k, k);
      if (!histogram) continue;
      const int64_t first = encoded.indptr[row];
      add_to_slots(encoded.codes.data() + first, encoded.indices + first, encoded.indptr[row + 1] - first,
                   encoded.slot_begin.data(), costs + row * k, k, histogram);
    }
    return;
  }
  add_all(encoded, k, n * encoded.n_groups * k, n_jobs, [&](int32_t begin, int32_t end) {
    add_costs_run(encoded.codes.data(), encoded.group_begin.data(), encoded.n_groups, begin, end, rows, n, costs, k, histogram);
  });
  // Every row has exactly one slot in the first group, so the totals are the sums over the slots of that group.
  const int64_t end = encoded.n_groups > 1 ? encoded.group_begin[1] : encoded.n_slots;
  std::fill(totals, totals + k, 0);
  for (int64_t slot = 0; slot < end; ++slot) add_numbers(totals, histogram + slot * k, k);
}

}  // namespace

CUTWISE_CLONES void add_numbers(int64_t *sums, const int64_t *numbers, int64_t k) {
  for (int64_t j = 0; j < k; ++j) sums[j] += numbers[j];
}
CUTWISE_CLONES void add_numbers(int64_t *sums, const int32_t *numbers, int64_t k) {
  for (int64_t j = 0; j < k; ++j) sums[j] += numbers[j];
}
CUTWISE_CLONES void add_numbers(int64_t *sums, const uint16_t *numbers, int64_t k) {
  for (int64_t j = 0; j < k; ++j) sums[j] += numbers[j];
}

template <class Cluster, class First, class Cell>
void add_cluster_histogram(const Encoded &encoded, const int32_t *rows, int64_t n, PerRow<Cluster> cluster, PerRow<First> first,
                           PerRow<int64_t> second, int64_t k, int64_t width, int64_t sign, Cell *histogram, int64_t *totals,
                           int n_jobs) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t row = rows[i], c = cluster[row];
    if (c < 0) continue;
    totals[c * width] += first ? sign * first[row] : sign;
    if (width == 2) totals[c * 2 + 1] += second ? sign * second[row] : sign;
  }
  if (!histogram) return;
  const bool one = width == 1;
  if (encoded.sparse) {
    if (one) add_stored<1>(encoded, rows, n, cluster, first, second, k, sign, histogram);
    else add_stored<2>(encoded, rows, n, cluster, first, second, k, sign, histogram);
  } else if constexpr (std::is_same_v<Cell, int64_t>) {
    if (one) add_clusters<1>(encoded, rows, n, cluster, first, second, k, sign, histogram, n_jobs);
    else add_clusters<2>(encoded, rows, n, cluster, first, second, k, sign, histogram, n_jobs);
  } else {
    throw std::invalid_argument("narrow cells are those of sparse tables");
  }
}

template void add_cluster_histogram(const Encoded &, const int32_t *, int64_t, PerRow<int32_t>, PerRow<int32_t>,
                                    PerRow<int64_t>, int64_t, int64_t, int64_t, int64_t *, int64_t *, int);
template void add_cluster_histogram(const Encoded &, const int32_t *, int64_t, PerRow<int16_t>, PerRow<int32_t>,
                                    PerRow<int64_t>, int64_t, int64_t, int64_t, int64_t *, int64_t *, int);
template void add_cluster_histogram(const Encoded &, const int32_t *, int64_t, PerRow<int32_t>, PerRow<int64_t>,
                                    PerRow<int64_t>, int64_t, int64_t, int64_t, int64_t *, int64_t *, int);

}  // namespace cutwise

using namespace cutwise;

void bind_histogram(nb::module_ &m) {
  for_types<int64_t, uint16_t>(
      R"(Add one or two numbers per row to the cells of its slots and its cluster, in place.

cluster (n_rows,): rows with a negative cluster are left out. first, second (n_rows,): the numbers that a row adds; None: 1 each.
histogram (n_slots, k, 1 or 2) or None: int64, or uint16 where the table is sparse and the sums fit. totals (k, 1 or 2): the
sums by cluster. sign: 1, or -1 to take rows out again.)",
      [&](auto zero, const char *doc) {
        using Cell = decltype(zero);
        m.def(
            "add_to_cluster_histogram",
            [](const Encoded &encoded, In1<int32_t> rows, In1<int32_t> cluster, std::optional<In1<int64_t>> first,
               std::optional<In1<int64_t>> second, std::optional<Out3<Cell>> histogram, Out2<int64_t> totals, int64_t sign,
               int n_jobs) {
              require(has_shape(cluster, encoded.n_rows), "cluster has one entry per encoded row");
              require(has_shape(first, encoded.n_rows), "first has one entry per encoded row");
              require(has_shape(second, encoded.n_rows), "second has one entry per encoded row");
              require(totals.shape(1) == 1 || totals.shape(1) == 2, "a cell holds one or two numbers");
              require(has_shape(histogram, encoded.n_slots, totals.shape(0), totals.shape(1)),
                      "histogram has one line per slot, and as many cells as totals");
              const GilRelease release;
              add_cluster_histogram(encoded, rows.data(), static_cast<int64_t>(rows.size()), PerRow<int32_t>{cluster.data()},
                                    PerRow<int64_t>{data_or_null(first)}, PerRow<int64_t>{data_or_null(second)},
                                    static_cast<int64_t>(totals.shape(0)), static_cast<int64_t>(totals.shape(1)), sign,
                                    data_or_null(histogram), totals.data(), n_jobs);
            },
            "encoded"_a, "rows"_a, "cluster"_a, "first"_a.none(), "second"_a.none(), "histogram"_a.noconvert().none(),
            "totals"_a.noconvert(), "sign"_a, "n_jobs"_a = 1, doc);
      });

  for_types<int32_t, int64_t>(R"(Add every row's costs, (n_rows, k), to each of its slots, in place.

histogram (n_slots, k) or None, and totals (k,), are zeros before.)",
                              [&](auto zero, const char *doc) {
                                using Cost = decltype(zero);
                                m.def(
                                    "add_to_cost_histogram",
                                    [](const Encoded &encoded, In1<int32_t> rows, In2<Cost> costs,
                                       std::optional<Out2<int64_t>> histogram, Out1<int64_t> totals, int n_jobs) {
                                      require(has_shape(costs, encoded.n_rows), "costs has one line per encoded row");
                                      require(totals.shape(0) == costs.shape(1), "totals has one entry per cluster");
                                      require(has_shape(histogram, encoded.n_slots, costs.shape(1)),
                                              "histogram has one line per slot and one column per cluster");
                                      const GilRelease release;
                                      add_costs(encoded, rows.data(), static_cast<int64_t>(rows.size()), costs.data(),
                                                static_cast<int64_t>(costs.shape(1)), data_or_null(histogram), totals.data(),
                                                n_jobs);
                                    },
                                    "encoded"_a, "rows"_a, "costs"_a.noconvert(), "histogram"_a.noconvert().none(),
                                    "totals"_a.noconvert(), "n_jobs"_a = 1, doc);
                              });
}
