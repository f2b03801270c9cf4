// ExKMC's search: the cut whose two sides cost least, each served by one cluster.
//
// Frost, Moshkovitz, Rashtchian (2020), Algorithm 2. The search takes costs (surrogate cost, kernel distances) or, for Expand,
// 0/1 disagreement with labels. It is exact on coarse columns too, by branch and bound: the rows of a bin are sorted only where
// the bin's bound is not above the best cost so far.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "cuts/surrogate_sums.hpp"
#include "nodes/node.hpp"

namespace cutwise {

CUTWISE_CLONES int64_t least(const int64_t *values, int64_t k) {
  int64_t result = kNone;
  for (int64_t j = 0; j < k; ++j) result = values[j] < result ? values[j] : result;
  return result;
}

CUTWISE_CLONES int64_t least_rest(const int64_t *total, const int64_t *part, int64_t k) {
  int64_t result = kNone;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t rest = total[j] - part[j];
    result = rest < result ? rest : result;
  }
  return result;
}

namespace {

constexpr size_t kCostsAhead = 8;  // costs are prefetched so many rows ahead, as sorted rows are scattered in memory

struct BestCut {
  int64_t score = kNone;
  double secondary = 0.0;
  Cut cut;
  int32_t left_label = -1, right_label = -1;

  bool beats(int64_t other_score, double other_secondary, const Cut &other_cut) const {
    if (score != other_score) return score < other_score;
    if (secondary != other_secondary) return secondary < other_secondary;
    return !(other_cut < cut);
  }
};

template <class Sums, class Cell>
struct SurrogateSearch : NodeRows {
  const Cell *histogram;        // (n_slots, k), null: sort every column
  const uint8_t *is_zero_cost;  // by row: 1 if all its costs are 0, so that the histogram does not show it; null: no row is
  Sums sums;
  int64_t k;
  std::vector<int64_t> total;
  const NodeLimits *limits;
  int64_t uncut = sums.left(total.data());  // the cost of the node, the most that a cut costs
  std::vector<int32_t> zero_cost_rows{};
  BestCut best{};
  std::mutex best_mutex{};

  // For the limits each side counts as having one center.
  AllowedCuts allowed_cuts(int32_t feature) const { return {limits, *this, feature, 2}; }

  void offer(int32_t feature, double threshold, int64_t score, const int64_t *part, AllowedCuts &allowed, BestCut &mine) const {
    if (score > mine.score || !allowed.holds(threshold, 1)) return;
    const double secondary = sums.secondary(total.data(), part, part);
    const Cut cut{feature, threshold};
    if (mine.score != kNone && mine.beats(score, secondary, cut)) return;
    std::vector<int64_t> rest(k);
    for (int64_t j = 0; j < k; ++j) rest[j] = total[j] - part[j];
    mine = {score, secondary, cut, sums.label_left(part), sums.label_left(rest.data())};
  }

  // The best cut of all columns so far.
  BestCut known() {
    std::lock_guard<std::mutex> lock(best_mutex);
    return best;
  }

  void share(const BestCut &mine) {
    if (mine.score == kNone) return;
    std::lock_guard<std::mutex> lock(best_mutex);
    if (best.score == kNone || !best.beats(mine.score, mine.secondary, mine.cut)) best = mine;
  }

  // Offers the cuts among sorted rows, of which `part` has the sums to the left; not the cut after the last row, which is the
  // end of a bin or of the node. Costs are added for several rows at a time, and row by row only where a bound says that a cut
  // among them may be the best; counts change for one label a row.
  void walk(int32_t feature, const std::vector<RowValue> &sorted, std::vector<int64_t> &part, AllowedCuts &allowed,
            BestCut &mine) const {
    if constexpr (Sums::is_counts) {
      CountsOfSides sides = sums.sides(total.data(), part.data());
      for (size_t i = 0; i < sorted.size();) {
        const double value = sorted[i].value;
        for (; i < sorted.size() && sorted[i].value == value; ++i) {
          if (i + kCostsAhead < sorted.size()) sums.prefetch_row(sorted[i + kCostsAhead].row);
          sums.move_row(total.data(), part.data(), sides, sorted[i].row);
        }
        if (i == sorted.size() || sums.cost(sides.left) + sums.cost(sides.right) > mine.score) continue;
        sides = sums.sides(total.data(), part.data());
        offer(feature, value, sums.cost(sides.left) + sums.cost(sides.right), part.data(), allowed, mine);
      }
    } else {
      const size_t at_once = std::clamp<size_t>(static_cast<size_t>(k) / 16, 8, 64);  // a bound takes as long as k additions
      std::vector<int64_t> before;
      int64_t left = sums.left(part.data());
      const auto pass = [&](size_t &i, std::vector<int64_t> &to) {
        for (const double value = sorted[i].value; i < sorted.size() && sorted[i].value == value; ++i)
          sums.add_row(to.data(), sorted[i].row);
      };
      for (size_t i = 0, end = 0; i < sorted.size(); i = end) {
        before = part;
        while (end < sorted.size() && end < i + at_once) {
          if (end + kCostsAhead < sorted.size()) sums.prefetch_row(sorted[end + kCostsAhead].row);
          pass(end, part);
        }
        const int64_t left_before = left;
        left = sums.left(part.data());
        if (left_before + sums.right(total.data(), part.data()) > mine.score) continue;
        for (size_t j = i; j < end;) {
          const double value = sorted[j].value;
          pass(j, before);
          if (j == sorted.size()) break;
          offer(feature, value, sums.left(before.data()) + sums.right(total.data(), before.data()), before.data(), allowed,
                mine);
        }
      }
    }
  }

  void sort_column(int32_t feature, BestCut &mine) const {
    std::vector<int64_t> part(k, 0);
    AllowedCuts allowed = allowed_cuts(feature);
    walk(feature, sorted_rows(*this, feature), part, allowed, mine);
  }

  const Cell *cells(const Column &column, int32_t bin, const std::vector<Cell> &rest) const {
    if (bin == column.default_bin) return rest.data();
    return histogram + static_cast<int64_t>(column.slot_of(bin)) * k;
  }

  const std::vector<Cell> &default_cells(const Column &column) const {
    thread_local std::vector<Cell> rest;  // reused, since tables of texts have many thousand columns
    if (column.default_bin < 0) return rest;
    rest.assign(total.begin(), total.end());
    for (int32_t bin = 0; bin < column.n_bins; ++bin) {
      if (bin == column.default_bin) continue;
      const Cell *here = cells(column, bin, rest);
      for (int64_t j = 0; j < k; ++j) rest[j] = static_cast<Cell>(rest[j] - here[j]);
    }
    return rest;
  }

  // Offers the cuts between the bins of a column, and returns the bins inside which a better cut may lie.
  std::vector<CandidateBin> walk_column(int32_t feature, BestCut &mine) const {
    std::vector<CandidateBin> candidates;
    const Column &column = encoded.columns[feature];
    const std::vector<Cell> &rest = default_cells(column);
    thread_local std::vector<uint8_t> present;
    thread_local std::vector<int64_t> part, before;
    present.assign(column.n_bins, encoded.is_bins_only());
    part.assign(k, 0);
    for (int32_t row : zero_cost_rows) present[encoded.bin(row, column)] = 1;
    int32_t first = -1, last = -1;
    for (int32_t bin = 0; bin < column.n_bins; ++bin) {
      const Cell *here = cells(column, bin, rest);
      for (int64_t j = 0; j < k && !present[bin]; ++j) present[bin] = here[j] != 0;
      if (!present[bin]) continue;
      if (first < 0) first = bin;
      last = bin;
    }
    AllowedCuts allowed = allowed_cuts(feature);
    int64_t left = 0;
    for (int32_t bin = 0; bin <= last; ++bin) {
      if (!present[bin]) continue;
      const Cell *here = cells(column, bin, rest);
      add_numbers(part.data(), here, k);
      const int64_t left_before = left, right = sums.right(total.data(), part.data());
      left = sums.left(part.data());
      const double low = encoded.low[column.value_begin + bin], high = encoded.high[column.value_begin + bin];
      // A weak bound first, as it costs nothing. Until a cut gains anything, take_lowest() may need the first bin.
      const bool is_first = bin == first && !sums.has_secondary() && mine.score >= uncut;
      if (low < high && (is_first || left_before + right <= mine.score) && allowed.reaches(low, high, 1)) {
        before = part;
        for (int64_t j = 0; j < k; ++j) before[j] -= here[j];
        const int64_t bound = bound_inside(before.data(), part.data());
        if (is_first || bound <= mine.score) {
          const double secondary = sums.secondary(total.data(), before.data(), part.data()) * (1.0 - kRounding);
          candidates.push_back({bin, bound, is_first, secondary});
        }
      }
      if (bin < last) offer(feature, high, left + right, part.data(), allowed, mine);
    }
    return candidates;
  }

  // A lower bound on the cost of every cut inside a bin. With one label on both sides a cut costs at least what the uncut node
  // costs, which matters only where a secondary score decides. Otherwise all bins of a pure node, which no cut improves, would
  // have to be sorted.
  int64_t bound_inside(const int64_t *before, const int64_t *after) const {
    const int64_t bound = sums.bound_of_different_labels(total.data(), before, after);
    return sums.has_secondary() ? std::min(bound, uncut) : bound;
  }

  void search_inside(const SortedBins &sorted) {
    const Column &column = encoded.columns[sorted.feature];
    const std::vector<Cell> &rest = default_cells(column);
    BestCut mine = known();
    std::vector<int64_t> part(k, 0);
    AllowedCuts allowed = allowed_cuts(sorted.feature);
    int32_t reached = 0;
    for (size_t i = 0; i < sorted.bins.size(); ++i) {
      for (; reached < sorted.bins[i]; ++reached) add_numbers(part.data(), cells(column, reached, rest), k);
      std::vector<int64_t> inside = part;
      walk(sorted.feature, sorted.rows[i], inside, allowed, mine);
    }
    share(mine);
  }

  void run(int n_jobs) {
    for (int64_t i = 0; is_zero_cost && i < n; ++i)
      if (is_zero_cost[rows[i]]) zero_cost_rows.push_back(rows[i]);
    const int32_t d = encoded.n_cols();
    CandidateBins candidates;
    parallel_for(n_jobs, d, [&](int64_t f) {
      BestCut mine = known();
      const int32_t feature = static_cast<int32_t>(f);
      if (limits && !limits->allow_column(feature)) return;
      if (histogram) candidates.add(feature, walk_column(feature, mine));
      else sort_column(feature, mine);
      share(mine);
    });
    // Cuts that cost as much as the uncut node may have one label on both sides, which the bounds leave out.
    const auto may_win = [&](int32_t feature, const CandidateBin &bin) {
      const BestCut best_so_far = known();
      if (!sums.has_secondary() && best_so_far.score >= uncut) return bin.bound < uncut;
      const double low = encoded.low[encoded.columns[feature].value_begin + bin.bin];  // no cut inside is lower
      return !best_so_far.beats(bin.bound, bin.secondary, {feature, low});
    };
    search_inside_bins(*this, candidates, n_jobs, may_win, [&](const SortedBins &sorted) { search_inside(sorted); });
    if (!sums.has_secondary() && best.score >= uncut) take_lowest(candidates);
  }

  // Called where no cut is better than the uncut node, so that all cost the same: offers the lowest cut of the lowest column,
  // which lies after the node's lowest value and so in the first bin with rows.
  void take_lowest(const CandidateBins &candidates) {
    if (encoded.is_bins_only() && !encoded.requested->bin.empty()) return;
    for (const auto &[f, bins] : candidates.of_column) {
      if (best.score != kNone && best.cut.feature < f) return;
      if (!bins.front().is_first) continue;
      SortedBins first{f, {bins.front().bin}};
      if (encoded.is_bins_only()) return encoded.requested->add(encoded.columns[f].value_begin + first.bins[0], 0.0);
      sort_bins(*this, &first, 1);
      search_inside(first);
    }
  }
};

// Cost, secondary score, feature, threshold, left label, right label.
using FoundCut = std::optional<std::tuple<int64_t, double, int32_t, double, int32_t, int32_t>>;

template <class Sums, class Cell>
FoundCut found(SurrogateSearch<Sums, Cell> &search, int n_jobs) {
  without_gil([&] { search.run(n_jobs); });
  const BestCut &best = search.best;
  if (best.score == kNone) return std::nullopt;
  return std::make_tuple(best.score, best.secondary, best.cut.feature, best.cut.threshold, best.left_label, best.right_label);
}

template <class Cost>
auto best_surrogate_cut(const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<Cost> costs,
                        std::optional<In2<int64_t>> histogram, In1<int64_t> totals, std::optional<In1<uint8_t>> is_zero_cost,
                        const NodeLimits *limits, int n_jobs) {
  const int64_t k = costs.shape(1);
  require(has_shape(costs, encoded.n_rows), "costs has one line per encoded row");
  require(has_shape(histogram, encoded.n_slots, k), "histogram is of shape (n_slots, k)");
  require(has_shape(totals, k), "totals has one entry per cluster");
  require(has_shape(is_zero_cost, encoded.n_rows), "is_zero_cost has one entry per encoded row");
  const NodeRows node(encoded, matrix, rows);
  const CostSums<Cost> sums{costs.data(), k};
  SurrogateSearch<CostSums<Cost>, int64_t> search{
      node, data_or_null(histogram), data_or_null(is_zero_cost), sums, k, copied(totals), limits};
  return found(search, n_jobs);
}

template <class Cell>
auto best_disagreement_cut(const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In1<int32_t> labels,
                           const Weights &weights, std::optional<In2<Cell>> histogram, In1<int64_t> totals, bool gini,
                           const NodeLimits *limits, int n_jobs, bool gini_alone) {
  const int64_t k = totals.size();
  const Purity purity = gini_alone ? Purity::kGini : gini ? Purity::kMajorityThenGini : Purity::kMajority;
  require(has_shape(labels, encoded.n_rows), "labels has one entry per encoded row");
  require(has_shape(histogram, encoded.n_slots, k), "histogram is of shape (n_slots, k)");
  const NodeRows node(encoded, matrix, rows);
  // Where there are many labels and no histogram, the labels are renumbered to those that occur in the node.
  std::vector<int64_t> counts = copied(totals);
  std::vector<int32_t> present;
  for (int32_t label = 0; label < k; ++label)
    if (counts[label] != 0) present.push_back(label);
  const bool renumbers = !histogram && !present.empty() && static_cast<int64_t>(present.size()) < k;
  std::unique_ptr<int32_t[]> renumbered(renumbers ? new int32_t[encoded.n_rows] : nullptr);
  if (renumbers) {
    std::vector<int32_t> number(k);
    for (size_t j = 0; j < present.size(); ++j) {
      number[present[j]] = static_cast<int32_t>(j);
      counts[j] = counts[present[j]];
    }
    counts.resize(present.size());
    for (int64_t i = 0; i < node.n; ++i) renumbered[node.rows[i]] = number[labels.data()[node.rows[i]]];
  }
  const auto n_labels = static_cast<int64_t>(counts.size());
  const LabelCounts sums{renumbers ? renumbered.get() : labels.data(), checked(weights, encoded.n_rows), n_labels, purity};
  SurrogateSearch<LabelCounts, Cell> search{node, data_or_null(histogram), nullptr, sums, n_labels, std::move(counts), limits};
  FoundCut best = found(search, n_jobs);
  if (renumbers && best)
    for (int32_t *label : {&std::get<4>(*best), &std::get<5>(*best)}) *label = present[*label];
  return best;
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_surrogate(nb::module_ &m) {
  for_types<int32_t, int64_t>(
      R"(The cut whose two sides cost least, each served by its best cluster (Frost, Moshkovitz, Rashtchian 2020, Algorithm 2).

costs (n_rows, k). histogram (n_slots, k) or None, totals (k,): summed costs of the node's rows, by slot and over all.
is_zero_cost (n_rows,) or None: 1 for rows whose costs are all 0, which the histogram does not show. Returns (cost, 0.0, feature,
threshold, left label, right label), where the threshold is the left end of the gap, or None when no cut separates the rows.)",
      [&](auto zero, const char *doc) {
        using Cost = decltype(zero);
        m.def("best_surrogate_cut", &best_surrogate_cut<Cost>, "encoded"_a, "matrix"_a, "rows"_a, "costs"_a.noconvert(),
              "histogram"_a.none(), "totals"_a, "is_zero_cost"_a.none(), "limits"_a.none() = nb::none(), "n_jobs"_a = 1, doc);
      });

  nb::class_<NodeLimits>(m, "NodeLimits", "The user's limits on the cuts of a node.")
      .def(
          nb::init<std::optional<In1<uint8_t>>, Weights, int64_t, int64_t>(), "columns"_a.none(), "counts"_a.none(), "least"_a,
          "most_centers"_a,
          R"(columns (d,): 1 where a column may be cut; None: all may. counts (n_rows,): the count of each row, such as its weight;
None: 1 each. least: the least count of a side, times its number of centers where the cut separates centers. most_centers: the
most centers on a side.)");
  for_types<int64_t, uint16_t>(
      R"(The cut that leaves the fewest rows outside their side's commonest label.

labels (n_rows,): 0 to k - 1. histogram (n_slots, k) int64 or uint16, or None, totals (k,): weights of the node's rows by label.
gini: impurity decides between equals. gini_alone: the disagreement is replaced by impurity times weight, in units of 2^-30,
rounded down on each side. Returns (disagreement, impurity, feature, threshold, left label, right label), or None when no cut
separates the rows.)",
      [&](auto zero, const char *doc) {
        using Cell = decltype(zero);
        m.def("best_disagreement_cut", &best_disagreement_cut<Cell>, "encoded"_a, "matrix"_a, "rows"_a, "labels"_a,
              "weights"_a.none(), "histogram"_a.noconvert().none(), "totals"_a, "gini"_a, "limits"_a.none() = nb::none(),
              "n_jobs"_a = 1, "gini_alone"_a = false, doc);
      });
}
