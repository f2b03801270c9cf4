// Decides between cuts with equally few mistakes: the one wins whose sides cost least, each served by its best surviving
// center.
//
// Where rows and centers repeat a pattern, nearly all cuts tie, at every node of a tree that may be as deep as it has leaves.
// Therefore the summed costs of all rows are handed from node to node, and the largest part of the rows is never added up.
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

// The cuts that tie, by column, then by threshold, and the cheapest of those offered so far.
struct TiedCuts {
  const In2<double> &coordinates;  // (k, d)
  std::vector<int32_t> survivors;
  const int32_t *features;
  const double *thresholds;
  int64_t n_cuts;

  TiedCuts(const In2<double> &center_coordinates, const In1<int64_t> &totals, const In1<int32_t> &surviving,
           const In1<int32_t> &of_columns, const In1<double> &at)
      : coordinates(center_coordinates),
        survivors(survivors_of(surviving, static_cast<int64_t>(center_coordinates.shape(0)))),
        features(of_columns.data()),
        thresholds(at.data()),
        n_cuts(static_cast<int64_t>(of_columns.size())) {
    require(of_columns.size() == at.size(), "features and thresholds have one length");
    require(totals.size() == coordinates.shape(0), "totals has one entry per cluster");
    const auto d = static_cast<int32_t>(coordinates.shape(1));
    for (int64_t i = 0; i < n_cuts; ++i)
      require(features[i] >= 0 && features[i] < d && (i == 0 || features[i - 1] <= features[i]),
              "features are columns of the table, in increasing order");
    for (int32_t c : survivors) total_.push_back(totals(c));
  }

  // Calls settle(first, last, the survivors' coordinates) for the cuts first .. last - 1 of every column; returns the best cut.
  template <class Settle>
  int64_t run(Settle &&settle) {
    std::vector<double> at(survivors.size());
    for (int64_t begin = 0, end; begin < n_cuts; begin = end) {
      for (end = begin; end < n_cuts && features[end] == features[begin];) ++end;
      for (size_t j = 0; j < at.size(); ++j) at[j] = coordinates(survivors[j], features[begin]);
      settle(begin, end, at);
    }
    return best_;
  }

  // sums: the costs by each survivor, summed over the rows of one side of the cut.
  void offer(int64_t cut, const std::vector<int64_t> &sums, const std::vector<double> &at, bool is_left) {
    const SideCosts least =
        side_costs(sums.data(), total_.data(), at.data(), static_cast<int64_t>(at.size()), thresholds[cut], is_left);
    if (least.one == kNone || least.other == kNone) return;
    const int64_t score = least.one + least.other;
    if (best_ >= 0 && (score > best_score_ || (score == best_score_ && cut > best_))) return;
    best_score_ = score;
    best_ = cut;
  }

  std::vector<int64_t> total_{};  // by survivor, over the node's rows
  int64_t best_ = -1, best_score_ = kNone;
};

// For cuts without mistakes in a node whose rows are all with their centers: the left side has whole clusters.
int64_t settle_by_cluster(TiedCuts &tied, const In2<int64_t> &sums_by_cluster) {
  const std::vector<int32_t> &survivors = tied.survivors;
  const auto m = static_cast<int64_t>(survivors.size());
  std::vector<int64_t> order(m), sums(m);
  return tied.run([&](int64_t begin, int64_t end, const std::vector<double> &at) {
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at[a] < at[b]; });
    std::fill(sums.begin(), sums.end(), int64_t{0});
    auto next = order.cbegin();
    for (int64_t cut = begin; cut < end; ++cut) {
      for (; next != order.cend() && at[*next] <= tied.thresholds[cut]; ++next)
        for (int64_t j = 0; j < m; ++j) sums[j] += sums_by_cluster(survivors[*next], survivors[j]);
      tied.offer(cut, sums, at, true);
    }
  });
}

template <class Cost>
struct TieSettler : NodeRows {
  TiedCuts &tied;
  const Cost *costs;  // (n_rows, k), none negative
  int64_t k;

  int64_t run() {
    m_ = static_cast<int64_t>(tied.survivors.size());
    contiguous_ = tied.survivors.back() - tied.survivors.front() + 1 == m_;
    return tied.run([&](int64_t begin, int64_t end, const std::vector<double> &at) { settle(begin, end, at); });
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
    for (const bool from_left : {true, false}) {
      std::vector<int64_t> sums(m_, 0);
      for (int64_t s = from_left ? 0 : n_segments - 1; s != fullest; s += from_left ? 1 : -1) {
        for (int64_t i = first[s]; i < first[s + 1]; ++i) add_row(ordered[i], sums);
        tied.offer(begin + (from_left ? s : s - 1), sums, at, from_left);
      }
    }
  }

  // The segment of every row of the node: the number of cuts that are left of the row.
  std::vector<int32_t> segments(int64_t begin, int64_t end) const {
    const int32_t feature = tied.features[begin];
    const Column &column = encoded.columns[feature];
    const double *low = encoded.low.data() + column.value_begin, *high = encoded.high.data() + column.value_begin;
    const double *first = tied.thresholds + begin, *last = tied.thresholds + end;
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

  void add_row(int32_t row, std::vector<int64_t> &sums) const {
    const Cost *of_row = costs + static_cast<int64_t>(row) * k;
    if (contiguous_) {
      add_numbers(sums.data(), of_row + tied.survivors.front(), m_);
      return;
    }
    for (int64_t j = 0; j < m_; ++j) sums[j] += of_row[tied.survivors[j]];
  }

  int64_t m_ = 0;
  bool contiguous_ = false;
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_ties(nb::module_ &m) {
  for_types<int32_t, int64_t>(
      R"(The index of the first of the given cuts whose sides cost least, each served by its best surviving center.

costs (n_rows, k): none negative. totals (k,): their sums over the node's rows. features, thresholds (n_cuts,): the cuts, by
column, then by threshold. Other arguments as in fewest_mistakes.)",
      [&](auto zero, const char *doc) {
        using Cost = decltype(zero);
        m.def(
            "cheapest_tied_cut",
            [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<Cost> costs, In1<int64_t> totals,
               In2<double> coordinates, In1<int32_t> survivors, In1<int32_t> features, In1<double> thresholds) {
              require(has_shape(costs, encoded.n_rows), "costs has one line per encoded row");
              require(has_shape(coordinates, costs.shape(1), encoded.n_cols()), "coordinates is of shape (k, d)");
              TiedCuts tied(coordinates, totals, survivors, features, thresholds);
              const GilRelease release;
              TieSettler<Cost> settler{NodeRows(encoded, matrix, rows), tied, costs.data(),
                                       static_cast<int64_t>(costs.shape(1))};
              return settler.run();
            },
            "encoded"_a, "matrix"_a, "rows"_a, "costs"_a.noconvert(), "totals"_a, "coordinates"_a, "survivors"_a, "features"_a,
            "thresholds"_a, doc);
      });
  m.def(
      "cheapest_tied_cut_of_clusters",
      [](In2<int64_t> sums, In1<int64_t> totals, In2<double> coordinates, In1<int32_t> survivors, In1<int32_t> features,
         In1<double> thresholds) {
        require(has_shape(sums, coordinates.shape(0), coordinates.shape(0)), "sums has one line per cluster");
        TiedCuts tied(coordinates, totals, survivors, features, thresholds);
        return settle_by_cluster(tied, sums);
      },
      "sums"_a, "totals"_a, "coordinates"_a, "survivors"_a, "features"_a, "thresholds"_a,
      R"(The same as cheapest_tied_cut for a node whose rows all have a surviving cluster, and cuts without mistakes.

sums (k, k): the costs of the rows of each cluster by every cluster.)");
}
