// IMM's search: the cuts that separate the fewest rows from their centers (mistakes).
//
// Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 1. The search is exact on coarse columns too, by branch and bound:
// the rows of a bin are sorted only where the bin's bound is not above the fewest mistakes so far.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "nodes/separation.hpp"

namespace cutwise {
namespace {

// The fewest mistakes of a cut so far, over all columns.
using Fewest = std::atomic<int64_t>;

// The best cuts of one column so far.
struct ColumnBest {
  int64_t mistakes = kNone;
  std::vector<double> thresholds;

  void offer(int64_t candidate, double threshold, Fewest &known) {
    if (candidate > mistakes || candidate > known) return;
    if (candidate < mistakes) {
      mistakes = candidate;
      thresholds.clear();
    }
    thresholds.push_back(threshold);
    for (int64_t before = known; candidate < before && !known.compare_exchange_weak(before, candidate);) continue;
  }
};

template <class Cell>
struct MistakeSearch {
  using Node = SeparationNode<int32_t, int64_t, Cell>;

  const Node &node;
  std::vector<int32_t> already_mistaken;  // rows without a surviving cluster; cuts on their two sides are different cuts
  std::map<int32_t, ColumnBest> best{};   // by column
  std::mutex keeping{};
  Fewest fewest{kNone};

  ColumnBest known(int32_t feature) {
    const std::lock_guard<std::mutex> lock(keeping);
    return best.count(feature) ? best[feature] : ColumnBest{};
  }

  void keep(int32_t feature, ColumnBest mine) {
    if (mine.thresholds.empty() || mine.mistakes > fewest) return;
    const std::lock_guard<std::mutex> lock(keeping);
    best[feature] = std::move(mine);
  }

  // Offers the best cuts of a column at the values of its sorted rows.
  void scan_rows(int32_t feature, const CenterLine &line, AllowedCuts &allowed, ColumnBest &mine) {
    const std::vector<RowValue> sorted = sorted_rows(node, feature);
    Sweep sweep(node, line);
    walk_rows(sweep, sorted, std::numeric_limits<double>::infinity(), [&](double threshold, const auto &at) {
      if (at.separates_centers() && allowed.holds(threshold, at.n_left())) mine.offer(at.loss(), threshold, fewest);
    });
  }

  // The bins with rows that are already mistaken. Which these are is found out only with `exact`, for columns whose cuts tie;
  // without it all bins may have some.
  std::vector<uint8_t> bins_with_mistaken(const Column &column, bool exact) const {
    const bool may_all = node.encoded.is_bins_only() || (!exact && !already_mistaken.empty());
    std::vector<uint8_t> has_mistaken(column.n_bins, may_all);
    if (!exact) return has_mistaken;
    const BinReader bin_of(node.encoded, column);
    for (int32_t row : already_mistaken) has_mistaken[bin_of(row)] = 1;
    return has_mistaken;
  }

  // Collects the best cuts of a column between bins, and returns the bins inside which such cuts may lie. Two cuts are
  // different when only already mistaken rows lie between them. exact: see bins_with_mistaken.
  std::vector<CandidateBin> scan_column(int32_t feature, bool exact) {
    const Column &column = node.encoded.columns[feature];
    ColumnBest mine;
    std::vector<CandidateBin> candidates;
    if (!node.allows_column(feature) || node.survivors.are_equal_along(feature)) return candidates;
    if (node.encoded.sparse && node.histogram && fewest < kNone && least_loss_bound(node, feature) > fewest) return candidates;
    const CenterLine line = node.survivors.along(feature);
    AllowedCuts allowed = node.allowed_cuts(feature);
    if (node.prefers_rows(column)) {
      scan_rows(feature, line, allowed, mine);
      keep(feature, std::move(mine));
      return candidates;
    }
    const double *low = node.encoded.low.data() + column.value_begin;
    const double *high = node.encoded.high.data() + column.value_begin;
    const std::vector<uint8_t> has_mistaken = bins_with_mistaken(column, exact);
    walk_bins(
        node, feature, line, [&](int32_t bin) { return has_mistaken[bin] != 0; },
        [&](double threshold, const auto &at, bool passed) {
          if (passed && at.separates_centers() && allowed.holds(threshold, at.n_left()))
            mine.offer(at.loss(), threshold, fewest);
        },
        [&](int32_t bin, const std::vector<int64_t> &bounds, const auto &at) {
          int64_t bound = kNone;
          // Without centers in the bin, a cut inside it has rows on both sides, and separates one if all their centers are on
          // one side.
          const bool has_centers = at.more_centers() && at.next_center() <= high[bin];
          const int64_t least = at.bin_is_of_one_side() && !has_centers && !has_mistaken[bin] ? 1 : 0;
          for (size_t i = at.n_left() == 0; i < bounds.size() && at.n_left() + i < line.size(); ++i)
            if (allowed.reaches(low[bin], high[bin], at.n_left() + i))
              bound = std::min(bound, bounds[i] + (i == 0 ? least : 0));
          if (bound < kNone && bound <= fewest) candidates.push_back({bin, bound});
        });
    keep(feature, std::move(mine));
    return candidates;
  }

  void search_inside(const SortedBins &sorted) {
    const int32_t feature = sorted.feature;
    const CenterLine line = node.survivors.along(feature);
    AllowedCuts allowed = node.allowed_cuts(feature);
    ColumnBest mine = known(feature);
    const Column &column = node.encoded.columns[feature];
    const ColumnCells cells(node, column);
    Sweep left(node, line);  // just left of a bin
    int32_t reached = 0;
    for (size_t j = 0; j < sorted.bins.size(); ++j) {
      for (; reached < sorted.bins[j]; ++reached) left.pass_cells(cells.at(reached));
      const double low = node.encoded.low[column.value_begin + reached], high = node.encoded.high[column.value_begin + reached];
      while (left.more_centers() && left.next_center() < low) left.pass_center();
      Sweep sweep = left;
      walk_rows(sweep, sorted.rows[j], high, [&](double threshold, const auto &at) {
        if (at.separates_centers() && allowed.holds(threshold, at.n_left())) mine.offer(at.loss(), threshold, fewest);
      });
    }
    keep(feature, std::move(mine));
  }

  // Searches n columns, given by column(i).
  template <class Column>
  void scan_columns(int64_t n, Column &&column, bool exact, int n_jobs) {
    CandidateBins candidates;
    parallel_for(n_jobs, n, [&](int64_t i) { candidates.add(column(i), scan_column(column(i), exact)); });
    search_inside_bins(
        node, candidates, n_jobs, [&](int32_t, const CandidateBin &bin) { return bin.bound <= fewest; },
        [&](const SortedBins &sorted) { search_inside(sorted); });
  }

  void run(int n_jobs) {
    scan_columns(node.encoded.n_cols(), [](int64_t i) { return static_cast<int32_t>(i); }, false, n_jobs);
    std::vector<int32_t> tied;
    size_t n_cuts = 0;
    for (const auto &[feature, column] : best) {
      if (column.mistakes != fewest) continue;
      tied.push_back(feature);
      n_cuts += column.thresholds.size();
    }
    if (already_mistaken.empty() || n_cuts < 2) return;
    best.clear();
    scan_columns(static_cast<int64_t>(tied.size()), [&](int64_t i) { return tied[i]; }, true, n_jobs);
  }
};

auto mistaken_rows(In1<int32_t> rows, In1<int32_t> cluster, In1<int32_t> survivors, int64_t k) {
  std::vector<int32_t> separated, already_mistaken;
  without_gil([&] {
    // By cluster + 1: 0 where it survives, 1 for rows separated by an earlier cut, 2 where the last cut separated it.
    std::vector<uint8_t> status(k + 1, 2);
    status[0] = 1;
    for (size_t i = 0; i < survivors.size(); ++i) status[survivors.data()[i] + 1] = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int32_t row = rows.data()[i];
      const uint8_t here = status[cluster.data()[row] + 1];
      if (here == 0) continue;
      already_mistaken.push_back(row);
      if (here == 2) separated.push_back(row);
    }
  });
  return std::make_tuple(to_numpy(std::move(separated)), to_numpy(std::move(already_mistaken)));
}

template <class Cell>
auto fewest_mistakes(const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In1<int32_t> cluster,
                     const Weights &weights, In1<int32_t> already_mistaken, std::optional<In3<Cell>> histogram,
                     In2<int64_t> totals, In2<double> coordinates, In1<int32_t> survivors, const NodeLimits *limits,
                     int n_jobs) {
  const int64_t k = coordinates.shape(0);
  require(has_shape(cluster, encoded.n_rows), "cluster has one entry per encoded row");
  require(has_shape(histogram, encoded.n_slots, k, 1), "histogram is of shape (n_slots, k, 1)");
  require(has_shape(coordinates, k, encoded.n_cols()), "coordinates has one entry per column");
  require(has_shape(totals, k, 1), "totals is of shape (k, 1)");
  require(survivors.size() >= 2, "a node is cut when it has two surviving clusters");
  std::vector<int32_t> feature;
  std::vector<double> threshold;
  int64_t mistakes;
  const int64_t *weight = checked(weights, encoded.n_rows);
  typename MistakeSearch<Cell>::Node node(NodeRows(encoded, matrix, rows), data_or_null(histogram), totals.data(), 1,
                                          coordinates, survivors, limits);
  node.cluster = {cluster.data()};
  node.loss = {weight};
  without_gil([&] {
    MistakeSearch<Cell> search{node, copied(already_mistaken)};
    search.run(n_jobs);
    mistakes = search.fewest;
    if (mistakes == kNone) mistakes = -1;
    for (auto &[f, column] : search.best) {
      if (column.mistakes != mistakes) continue;
      std::sort(column.thresholds.begin(), column.thresholds.end());
      column.thresholds.erase(std::unique(column.thresholds.begin(), column.thresholds.end()), column.thresholds.end());
      for (double t : column.thresholds) {
        feature.push_back(f);
        threshold.push_back(t);
      }
    }
  });
  return std::make_tuple(mistakes, to_numpy(std::move(feature)), to_numpy(std::move(threshold)));
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_mistakes(nb::module_ &m) {
  m.def("mistaken_rows", &mistaken_rows, "rows"_a, "cluster"_a, "survivors"_a, "k"_a,
        R"(The rows that the last cut separated from their cluster, and all rows of a child without a surviving cluster.

rows: those of the child. cluster (n_rows,): the cluster of every row, -1 if an earlier cut separated them.)");
  for_types<int64_t, uint16_t>(
      R"(The cuts that separate the fewest rows from their centers and leave a surviving center on each side (IMM's Algorithm 1).

rows: all rows routed to the node. cluster (n_rows,): the surviving cluster of every row, -1 if an earlier cut separated them.
already_mistaken: those of the rows with cluster -1; they are no mistakes, but cuts on their two sides are different cuts.
histogram (n_slots, k, 1) int64 or uint16, or None, totals (k, 1): weights by slot and cluster. coordinates (k, d). survivors:
two or more clusters whose centers reached the node, increasing. Returns the fewest mistakes (-1 when no cut separates the
centers), and the features and thresholds (left ends of gaps) of every cut with so few, in order.
Moshkovitz, Dasgupta, Rashtchian, Frost (2020).)",
      [&](auto zero, const char *doc) {
        using Cell = decltype(zero);
        m.def("fewest_mistakes", &fewest_mistakes<Cell>, "encoded"_a, "matrix"_a, "rows"_a, "cluster"_a, "weights"_a.none(),
              "already_mistaken"_a, "histogram"_a.noconvert().none(), "totals"_a, "coordinates"_a, "survivors"_a,
              "limits"_a.none() = nb::none(), "n_jobs"_a = 1, doc);
      });
}
