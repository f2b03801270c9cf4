// Decides between cuts with equally few mistakes: the one wins whose sides cost least, each served by its best surviving
// center.
//
// Where clusters are far apart or rows repeat a pattern, many cuts tie, at every node of a tree that may be as deep as it has
// leaves. Therefore clusters that no cut divides are added up as a whole, and the largest part of the other rows is never added
// up.
#include "base/arrays.hpp"
#include "base/simd.hpp"
#include "nodes/histogram.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

// The cost of one side by its best center, and that of the other side by its best center. sums: over the rows of the one side.
struct SideCosts {
  int64_t one, other;
};

// at (m,): the coordinates of the m surviving centers in the column. is_left: whether the one side is the left one.
CUTWISE_CLONES SideCosts side_costs(const int64_t *sums, const int64_t *total, const double *at, int64_t m, double threshold,
                                    bool is_left) {
  SideCosts least{kNone, kNone};
  for (int64_t j = 0; j < m; ++j) {
    const bool on_side = (at[j] <= threshold) == is_left;
    const int64_t sum = sums[j], rest = total[j] - sum;
    const int64_t one = on_side ? sum : kNone, other = on_side ? kNone : rest;
    least.one = one < least.one ? one : least.one;
    least.other = other < least.other ? other : least.other;
  }
  return least;
}

// coordinates (k, d): of the centers. features, thresholds (n_cuts,): the cuts, by column, then by threshold. The rows are
// those that are compared or added one by one.
struct TiedCuts : NodeRows {
  const In2<double> &coordinates;
  std::vector<int32_t> survivors;
  const In1<int32_t> &features;
  const In1<double> &thresholds;

  TiedCuts(const NodeRows &node, const In2<double> &centers, const In1<int32_t> &left, const In1<int32_t> &columns,
           const In1<double> &values)
      : NodeRows(node), coordinates(centers), features(columns), thresholds(values) {
    require(has_shape(coordinates, coordinates.shape(0), encoded.n_cols()), "coordinates is of shape (k, d)");
    survivors = survivors_of(left, static_cast<int64_t>(coordinates.shape(0)));
    require(has_shape(thresholds, features.size()), "features and thresholds have one length");
    for (size_t i = 0; i < features.size(); ++i)
      require(features(i) >= 0 && features(i) < encoded.n_cols() && (i == 0 || features(i - 1) <= features(i)),
              "features are columns of the table, in increasing order");
  }

  // Whether all cuts divide the survivors and the rows as the first does; their sides may be exchanged.
  bool divide_alike() const {
    const auto n_cuts = static_cast<int64_t>(features.size());
    const auto is_left = [&](int64_t cut, int32_t c) { return coordinates(c, features(cut)) <= thresholds(cut); };
    std::vector<int32_t> first;
    std::vector<bool> is_exchanged(n_cuts);
    for (int64_t cut = 1; cut < n_cuts; ++cut) {
      is_exchanged[cut] = is_left(cut, survivors[0]) != is_left(0, survivors[0]);
      for (const int32_t c : survivors)
        if ((is_left(cut, c) != is_left(0, c)) != is_exchanged[cut]) return false;
    }
    for (int64_t cut = 0; cut < n_cuts; ++cut) {
      std::vector<int32_t> segment_of_row = segments(cut, cut + 1);
      if (cut == 0) first = std::move(segment_of_row);
      else
        for (int64_t i = 0; i < n; ++i)
          if ((segment_of_row[i] != first[i]) != is_exchanged[cut]) return false;
    }
    return true;
  }

  // The segment of every row of the node: the number of cuts that are left of the row.
  std::vector<int32_t> segments(int64_t begin, int64_t end) const {
    if (n == 0) return {};
    const int32_t feature = features(begin);
    const Column &column = encoded.columns[feature];
    const double *low = encoded.low.data() + column.value_begin, *high = encoded.high.data() + column.value_begin;
    const double *first = thresholds.data() + begin, *last = thresholds.data() + end;
    const auto segment = [&](double value) { return static_cast<int32_t>(std::lower_bound(first, last, value) - first); };
    std::vector<int32_t> of_bin(column.n_bins);  // -1: a cut goes through the bin
    for (int32_t bin = 0; bin < column.n_bins; ++bin)
      of_bin[bin] = segment(low[bin]) == segment(high[bin]) ? segment(low[bin]) : -1;
    const BinReader bin_of(encoded, column);
    std::vector<int32_t> found(n);
    matrix.visit([&](auto values) {
      for (int64_t i = 0; i < n; ++i) {
        found[i] = of_bin[bin_of(rows[i])];
        if (found[i] < 0) found[i] = segment(values(rows[i], feature));
      }
    });
    return found;
  }
};

template <class Cost>
struct TieSettler : TiedCuts {
  const Cost *costs;  // (n_rows, k), none negative
  const std::optional<In2<int64_t>> &of_clusters;
  int64_t k;
  std::vector<int64_t> total;  // by survivor: the costs of the node's rows
  int64_t best = -1, best_score = kNone;

  int64_t run() {
    std::vector<double> at(survivors.size());
    const auto n_cuts = static_cast<int64_t>(features.size());
    for (int64_t begin = 0, end; begin < n_cuts; begin = end) {
      for (end = begin; end < n_cuts && features(end) == features(begin);) ++end;
      for (size_t j = 0; j < at.size(); ++j) at[j] = coordinates(survivors[j], features(begin));
      settle(begin, end, at);
    }
    return best;
  }

  // sums: the costs by each survivor, summed over the rows of one side of the cut.
  void offer(int64_t cut, const std::vector<int64_t> &sums, const std::vector<double> &at, bool is_left) {
    const SideCosts least =
        side_costs(sums.data(), total.data(), at.data(), static_cast<int64_t>(at.size()), thresholds(cut), is_left);
    if (least.one == kNone || least.other == kNone) return;
    const int64_t score = least.one + least.other;
    if (best >= 0 && (score > best_score || (score == best_score && cut > best))) return;
    best_score = score;
    best = cut;
  }

  // Offers the cuts begin .. end - 1 of one column. The rows between two neighboring cuts are a segment. The rows of the
  // fullest segment are never added up: the cuts left of it need the sums from the left, those right of it the sums from the
  // right.
  void settle(int64_t begin, int64_t end, const std::vector<double> &at) {
    const int64_t n_segments = end - begin + 1;
    const std::vector<int32_t> segment_of_row = segments(begin, end);
    std::vector<int64_t> first(n_segments + 1, 0);
    for (int32_t s : segment_of_row) ++first[s + 1];
    const int64_t fullest = std::max_element(first.begin() + 1, first.end()) - first.begin() - 1;
    first[fullest + 1] = 0;
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int32_t> ordered(first.back());
    std::vector<int64_t> next(first.begin(), first.end() - 1);
    for (int64_t i = 0; i < n; ++i)
      if (segment_of_row[i] != fullest) ordered[next[segment_of_row[i]]++] = rows[i];
    std::vector<int32_t> by_place(of_clusters ? at.size() : 0);
    std::iota(by_place.begin(), by_place.end(), 0);
    std::sort(by_place.begin(), by_place.end(), [&](int32_t a, int32_t b) { return at[a] < at[b]; });
    for (const bool from_left : {true, false}) {
      std::vector<int64_t> sums(survivors.size(), 0);
      auto next_cluster = by_place.cbegin();
      for (int64_t s = from_left ? 0 : n_segments - 1; s != fullest; s += from_left ? 1 : -1) {
        const int64_t cut = begin + (from_left ? s : s - 1);
        for (int64_t i = first[s]; i < first[s + 1]; ++i) add_row(ordered[i], sums);
        for (; next_cluster != by_place.cend() && (at[*next_cluster] <= thresholds(cut)) == from_left; ++next_cluster)
          for (size_t j = 0; j < sums.size(); ++j) sums[j] += (*of_clusters)(survivors[*next_cluster], survivors[j]);
        offer(cut, sums, at, from_left);
      }
      std::reverse(by_place.begin(), by_place.end());
    }
  }

  void add_row(int32_t row, std::vector<int64_t> &sums) const {
    const Cost *of_row = costs + static_cast<int64_t>(row) * k;
    for (size_t j = 0; j < survivors.size(); ++j) sums[j] += of_row[survivors[j]];
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_ties(nb::module_ &m) {
  m.def(
      "divide_alike",
      [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<double> coordinates, In1<int32_t> survivors,
         In1<int32_t> features, In1<double> thresholds) {
        const TiedCuts cuts(NodeRows(encoded, matrix, rows), coordinates, survivors, features, thresholds);
        const GilRelease release;
        return cuts.divide_alike();
      },
      "encoded"_a, "matrix"_a, "rows"_a, "coordinates"_a, "survivors"_a, "features"_a, "thresholds"_a,
      R"(Whether all cuts divide rows and surviving centers as the first does; their sides may be exchanged.

Arguments as in cheapest_tied_cut.)");
  for_types<int32_t, int64_t>(
      R"(The index of the first of the given cuts whose sides cost least, each served by its best surviving center.

costs (n_rows, k): none negative. totals (k,): their sums over the node's rows. of_clusters (k, k): the sums over the rows of each
cluster, where all of them are on the side of their center in every cut; rows are then the node's other rows. features, thresholds
(n_cuts,): the cuts, by column, then by threshold. Other arguments as in fewest_mistakes.)",
      [&](auto zero, const char *doc) {
        using Cost = decltype(zero);
        m.def(
            "cheapest_tied_cut",
            [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<Cost> costs, In1<int64_t> totals,
               const std::optional<In2<int64_t>> &of_clusters, In2<double> coordinates, In1<int32_t> survivors,
               In1<int32_t> features, In1<double> thresholds) {
              require(has_shape(costs, encoded.n_rows), "costs has one line per encoded row");
              const auto k = static_cast<int64_t>(costs.shape(1));
              require(has_shape(coordinates, k, encoded.n_cols()), "coordinates is of shape (k, d)");
              require(has_shape(totals, k), "totals has one entry per cluster");
              require(!of_clusters || has_shape(*of_clusters, k, k), "of_clusters has one line and one column per cluster");
              TiedCuts cuts(NodeRows(encoded, matrix, rows), coordinates, survivors, features, thresholds);
              std::vector<int64_t> total;
              for (const int32_t c : cuts.survivors) total.push_back(totals(c));
              const GilRelease release;
              TieSettler<Cost> settler{std::move(cuts), costs.data(), of_clusters, k, std::move(total)};
              return settler.run();
            },
            "encoded"_a, "matrix"_a, "rows"_a, "costs"_a.noconvert(), "totals"_a, "of_clusters"_a.none(), "coordinates"_a,
            "survivors"_a, "features"_a, "thresholds"_a, doc);
      });
}
