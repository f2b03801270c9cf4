// IMM's search: the cuts that part the fewest rows from their centers.
//
// Moshkovitz, Dasgupta, Rashtchian, Frost (2020), Algorithm 1. Exact on coarse columns by branch and bound: a bin is opened
// only where its bound can still meet the best cut known.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "nodes/separation.hpp"

namespace cutwise {
namespace {

// The best cuts of one column so far.
struct ColumnBest {
  int64_t mistakes = kNone;
  std::vector<double> thresholds;

  void offer(int64_t candidate, double threshold) {
    if (candidate > mistakes) return;
    if (candidate < mistakes) {
      mistakes = candidate;
      thresholds.clear();
    }
    thresholds.push_back(threshold);
  }
};

// The best cuts of every column at one node, handed on to a child whose rows and centers change nothing in most columns.
struct CutCache {
  std::vector<ColumnBest> best;
  std::vector<uint8_t> is_known;  // best holds all the cuts there are, and stays true until something changes
  // Known for good: the surviving centers are equal in the column.
  bool is_dead(size_t f) const { return is_known[f] && best[f].mistakes == kNone; }
};

using MistakeNode = SeparationNode<int32_t, int64_t>;

struct MistakeSearch {
  const MistakeNode &node;
  std::vector<int32_t> already_mistaken;  // rows of the node that no surviving cluster holds: they still tell cuts apart
  CutCache &cuts;
  std::vector<ColumnBest> &best;
  std::vector<std::vector<ClosedBin>> closed;

  MistakeSearch(const MistakeNode &n, std::vector<int32_t> mistaken_rows, CutCache &known)
      : node(n), already_mistaken(std::move(mistaken_rows)), cuts(known), best(known.best), closed(n.encoded.columns.size()) {
    cuts.best.resize(closed.size());
    cuts.is_known.resize(closed.size(), 0);
  }

  // Which cuts differ when rows that no cluster holds lie between them is looked up only where cuts tie: `exact`.
  void look(int32_t feature, bool exact) {
    const Column &column = node.encoded.columns[feature];
    ColumnBest &mine = best[feature];
    if (cuts.is_known[feature]) return;
    mine = {};
    if (!node.allows_column(feature) || node.survivors.are_equal_along(feature)) {
      cuts.is_known[feature] = 1;
      return;
    }
    const CenterLine line = node.survivors.along(feature);
    const bool by_rows = node.prefers_rows(column);
    AllowedCuts allowed = node.allowed_cuts(feature);
    // What follows is all there is to know, unless bins stay closed or rows without a center await a second look.
    cuts.is_known[feature] = already_mistaken.empty() && (by_rows || column.exact);
    if (by_rows) {
      std::vector<PlacedRow> placed;
      place_all(node.matrix, node.rows, node.n, feature, placed);
      Sweep sweep(node, line);
      walk_rows(sweep, placed, std::numeric_limits<double>::infinity(), [&](double threshold, const auto &at) {
        if (at.separates_centers() && allowed.holds(threshold, at.n_left())) mine.offer(at.loss(), threshold);
      });
      return;
    }
    std::vector<uint8_t> has(column.n_bins, !exact && !already_mistaken.empty());
    if (exact) {
      const BinReader bin_of(node.encoded, column);
      for (int32_t row : already_mistaken) has[bin_of(row)] = 1;
    }
    walk_bins(
        node, feature, line, [&](int32_t bin) { return has[bin] != 0; },
        [&](double threshold, const auto &at, bool passed) {
          if (passed && at.separates_centers() && allowed.holds(threshold, at.n_left())) mine.offer(at.loss(), threshold);
        },
        [&](int32_t bin, const std::vector<int64_t> &bounds, const int64_t *, const auto &at) {
          int64_t bound = kNone;
          for (size_t i = at.n_left() == 0; i < bounds.size() && at.n_left() + i < line.size(); ++i)
            bound = std::min(bound, bounds[i]);
          if (bound < kNone) closed[feature].push_back({bin, bound});
        });
  }

  void open(const OpenedBins &opened) {
    const int32_t feature = opened.feature;
    const CenterLine line = node.survivors.along(feature);
    AllowedCuts allowed = node.allowed_cuts(feature);
    for (size_t j = 0; j < opened.bins.size(); ++j) {
      const double high = node.encoded.high[node.encoded.columns[feature].value_begin + opened.bins[j]];
      Sweep sweep = sweep_before(node, feature, line, opened.bins[j]);
      walk_rows(sweep, opened.placed[j], high, [&](double threshold, const auto &at) {
        if (at.separates_centers() && allowed.holds(threshold, at.n_left())) best[feature].offer(at.loss(), threshold);
      });
    }
  }

  // Opens the bins that may hold cuts of at most `limit` mistakes, which falls as better ones are found.
  void open_all(int64_t &limit, int n_jobs) {
    std::mutex limit_mutex;
    const auto known = [&] {
      std::lock_guard<std::mutex> lock(limit_mutex);
      return limit;
    };
    open_bins(node.matrix, node.encoded, node.rows, node.n, closed, n_jobs, known, [&](const OpenedBins &opened) {
      open(opened);
      std::lock_guard<std::mutex> lock(limit_mutex);
      limit = std::min(limit, best[opened.feature].mistakes);
    });
  }

  int64_t minimum() const {
    int64_t least = kNone;
    for (const ColumnBest &column : best) least = std::min(least, column.mistakes);
    return least;
  }

  size_t n_tied() const {
    const int64_t least = minimum();
    size_t n = 0;
    for (const ColumnBest &column : best)
      if (column.mistakes == least) n += column.thresholds.size();
    return n;
  }

  void run(int n_jobs) {
    const int32_t d = node.encoded.n_cols();
    parallel_for(n_jobs, d, [&](int64_t f) { look(static_cast<int32_t>(f), false); });
    int64_t limit = minimum();
    open_all(limit, n_jobs);
    if (already_mistaken.empty() || n_tied() < 2) return;
    std::vector<int32_t> tied;
    for (int32_t f = 0; f < d; ++f) {
      closed[f].clear();
      if (best[f].mistakes == limit) tied.push_back(f);
    }
    parallel_for(n_jobs, static_cast<int64_t>(tied.size()), [&](int64_t i) {
      best[tied[i]] = {};
      look(tied[i], true);
    });
    open_all(limit, n_jobs);
  }
};

// Forgets the columns in which the loss of some rows and centers to a sibling may change a cut: those where a lost row is
// not at its center, or a lost center's coordinate is not also that of a center that stays. Nearly all columns of nearly all
// tables are forgotten within a few rows.
class Forgetting {
 public:
  Forgetting(CutCache &cuts, const double *coordinates, int64_t d) : cuts_(cuts), coordinates_(coordinates), d_(d) {
    for (int64_t f = 0; f < d; ++f)
      if (cuts.is_known[f] && !cuts.is_dead(f)) left_.push_back(static_cast<int32_t>(f));
  }

  void lose_centers(const std::vector<int32_t> &lost, const std::vector<int32_t> &remaining) {
    constexpr size_t kLookedAt = 32;  // of the centers that stay: a coordinate that is not among these is taken for a rare one
    const size_t n_looked_at = std::min(kLookedAt, remaining.size());
    for (int32_t c : lost)
      keep(left_, [&](int32_t f) {
        for (size_t j = 0; j < n_looked_at; ++j)
          if (center(remaining[j])[f] == center(c)[f]) return true;
        return false;
      });
  }

  template <class T>
  void lose_rows(const Dense<T> &x, const int32_t *rows, int64_t n, const int32_t *cluster) {
    for (int64_t i = 0; i < n && !left_.empty(); ++i) {
      const double *at = center(cluster[rows[i]]);
      keep(left_, [&](int32_t f) { return x(rows[i], f) == at[f]; });
    }
  }

  // Only stored values are touched, and columns in which a lost center is not zero.
  template <class T>
  void lose_rows(const Csr<T> &x, const int32_t *rows, int64_t n, const int32_t *cluster) {
    std::unordered_map<int32_t, std::vector<int32_t>> not_zero;
    for (int64_t i = 0; i < n; ++i) {
      const int32_t row = rows[i], c = cluster[row];
      const double *at = center(c);
      const auto [found, is_new] = not_zero.try_emplace(c);
      if (is_new)
        for (int32_t f : left_)
          if (at[f] != 0.0) found->second.push_back(f);
      keep(found->second, [&](int32_t f) { return cuts_.is_known[f] && x(row, f) == at[f]; });
      for (int64_t p = x.indptr[row]; p < x.indptr[row + 1]; ++p) {
        const int32_t f = x.indices[p];
        if (cuts_.is_known[f] && !cuts_.is_dead(f) && static_cast<double>(x.data[p]) != at[f]) cuts_.is_known[f] = 0;
      }
    }
  }

 private:
  const double *center(int32_t c) const { return coordinates_ + static_cast<int64_t>(c) * d_; }

  // Forgets the listed columns that are not wanted, and takes them off the list.
  template <class IsWanted>
  void keep(std::vector<int32_t> &columns, IsWanted &&is_wanted) {
    size_t n = 0;
    for (int32_t f : columns) {
      if (is_wanted(f)) columns[n++] = f;
      else cuts_.is_known[f] = 0;
    }
    columns.resize(n);
  }

  CutCache &cuts_;
  const double *coordinates_;
  int64_t d_;
  std::vector<int32_t> left_;  // columns that are still known, and in which there are cuts
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_mistakes(nb::module_ &m) {
  nb::class_<CutCache>(m, "CutCache", "The best cuts of every column at a node.").def(nb::init<>());
  m.def(
      "invalidate_changed_cuts",
      [](CutCache &cuts, const Matrix &matrix, In1<int32_t> lost_rows, In1<int32_t> cluster, In2<double> coordinates,
         In1<int32_t> lost_centers, In1<int32_t> remaining_centers) {
        const int64_t d = static_cast<int64_t>(coordinates.shape(1));
        require(static_cast<int64_t>(cuts.is_known.size()) == d && matrix.n_cols() == d,
                "cuts, rows and centers are in the same columns");
        require(static_cast<int64_t>(cluster.size()) == matrix.n_rows(), "cluster has one entry per row");
        const int64_t k = static_cast<int64_t>(coordinates.shape(0));
        for (size_t i = 0; i < lost_rows.size(); ++i) {
          const int32_t c = cluster(lost_rows(i));
          require(c >= 0 && c < k, "every lost row has a center");
        }
        const std::vector<int32_t> lost = survivors_of(lost_centers, k), remaining = survivors_of(remaining_centers, k);
        nb::gil_scoped_release release;
        Forgetting forgetting(cuts, coordinates.data(), d);
        forgetting.lose_centers(lost, remaining);
        matrix.visit([&](const auto &values) {
          forgetting.lose_rows(values, lost_rows.data(), static_cast<int64_t>(lost_rows.size()), cluster.data());
        });
      },
      nb::arg("cuts"), nb::arg("matrix"), nb::arg("lost_rows"), nb::arg("cluster"), nb::arg("coordinates"),
      nb::arg("lost_centers"), nb::arg("remaining_centers"),
      R"(Make a parent's best cuts those of a child that has lost a few rows and centers to its sibling, in place.

A column's cuts are forgotten where a lost row does not lie at its center's coordinate, or where no center that stays shares
the coordinate of a lost one. In every other column the child has the values, the centers and the mistakes of its parent.
lost_rows: each on its center's side, as the cut made no mistakes and none was made above. coordinates (k, d).)");
  m.def(
      "mistaken_rows",
      [](In1<int32_t> rows, In1<int32_t> cluster, In1<int32_t> survivors, int64_t k) {
        std::vector<int32_t> separated, already_mistaken;
        {
          nb::gil_scoped_release release;
          std::vector<uint8_t> kind(k + 1, 2);  // 0: of a surviving cluster, 1: of none since before, 2: separated just now
          kind[0] = 1;
          for (size_t i = 0; i < survivors.size(); ++i) kind[survivors.data()[i] + 1] = 0;
          for (size_t i = 0; i < rows.size(); ++i) {
            const int32_t row = rows.data()[i];
            const uint8_t here = kind[cluster.data()[row] + 1];
            if (here == 0) continue;
            already_mistaken.push_back(row);
            if (here == 2) separated.push_back(row);
          }
        }
        return std::make_tuple(to_numpy(std::move(separated)), to_numpy(std::move(already_mistaken)));
      },
      nb::arg("rows"), nb::arg("cluster"), nb::arg("survivors"), nb::arg("k"),
      R"(A child's rows whose cluster is not among its survivors, and these together with the rows of cluster -1.

cluster (n_rows,): -1 for rows that were separated before.)");
  m.def(
      "fewest_mistakes",
      [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In1<int32_t> cluster, const Weights &weights,
         In1<int32_t> already_mistaken, std::optional<In3<int64_t>> histogram, In2<int64_t> totals, In2<double> coordinates,
         In1<int32_t> survivors, CutCache &known, const Limits *limits, int n_jobs) {
        require_same_table(encoded, matrix);
        require(static_cast<int64_t>(cluster.size()) == encoded.n_rows, "cluster has one entry per encoded row");
        require(static_cast<int32_t>(coordinates.shape(1)) == encoded.n_cols(), "coordinates has one entry per column");
        require(!histogram || (static_cast<int64_t>(histogram->shape(0)) == encoded.n_slots &&
                               histogram->shape(1) == coordinates.shape(0) && histogram->shape(2) == 1),
                "histogram is of shape (n_slots, k, 1)");
        require(totals.shape(0) == coordinates.shape(0) && totals.shape(1) == 1, "totals is of shape (k, 1)");
        require(survivors.size() >= 2, "a node is cut when it has two surviving clusters");
        std::vector<int32_t> feature;
        std::vector<double> threshold;
        int64_t mistakes;
        const int64_t k = static_cast<int64_t>(coordinates.shape(0));
        const int64_t *weight = checked(weights, encoded.n_rows);
        const std::vector<int32_t> clusters = survivors_of(survivors, k);
        {
          nb::gil_scoped_release release;
          const MistakeNode node{encoded,
                                 matrix,
                                 rows.data(),
                                 static_cast<int64_t>(rows.size()),
                                 {cluster.data()},
                                 {weight},
                                 {},
                                 histogram ? histogram->data() : nullptr,
                                 totals.data(),
                                 k,
                                 1,
                                 {coordinates.data(), encoded.n_cols(), clusters},
                                 limits};
          MistakeSearch search(
              node, std::vector<int32_t>(already_mistaken.data(), already_mistaken.data() + already_mistaken.size()), known);
          search.run(n_jobs);
          mistakes = search.minimum();
          if (mistakes == kNone) mistakes = -1;
          for (int32_t f = 0; f < encoded.n_cols(); ++f) {
            ColumnBest &column = search.best[f];
            if (column.mistakes != mistakes || mistakes < 0) continue;
            std::sort(column.thresholds.begin(), column.thresholds.end());
            column.thresholds.erase(std::unique(column.thresholds.begin(), column.thresholds.end()), column.thresholds.end());
            for (double t : column.thresholds) {
              feature.push_back(f);
              threshold.push_back(t);
            }
          }
        }
        return std::make_tuple(mistakes, to_numpy(std::move(feature)), to_numpy(std::move(threshold)));
      },
      nb::arg("encoded"), nb::arg("matrix"), nb::arg("rows"), nb::arg("cluster"), nb::arg("weights").none(),
      nb::arg("already_mistaken"), nb::arg("histogram").none(), nb::arg("totals"), nb::arg("coordinates"), nb::arg("survivors"),
      nb::arg("known"), nb::arg("limits").none() = nb::none(), nb::arg("n_jobs") = 1,
      R"(The cuts that part the fewest rows from their centers and leave a surviving center on each side.

rows: all rows routed to the node; cluster (n_rows,): the surviving one of every row, -1 where it was separated before;
already_mistaken: those of cluster -1 among rows, which count nothing but tell cuts apart. histogram (n_slots, k, 1) or None, totals
(k, 1): weights by slot and cluster. coordinates (k, d). survivors: clusters whose centers reached the node, increasing, two
or more. known: the best cuts of every column, new or the parent's after invalidate_changed_cuts; known columns are not looked
at again, and on return it holds those of this node. Gives the fewest mistakes (-1 when no cut parts the centers), and the
features and thresholds (left ends of gaps) of every cut that attains them, in order. Moshkovitz, Dasgupta, Rashtchian,
Frost (2020), Algorithm 1.)");
}
