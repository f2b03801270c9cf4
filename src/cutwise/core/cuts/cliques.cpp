// SpEx's search on the clique graph, in which any two rows of one cluster are joined by an edge: the cut that separates the
// fewest edges for the size of its sides.
//
// SpEx: A Spectral Approach to Explainable Clustering (2025). Scores are sums of ratios of integers. The search compares them
// in floating point and returns all cuts that may be the best; the caller compares those exactly.
#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

constexpr double kSlack = 1e-12;  // relative; far above the rounding error of a score

constexpr int32_t kColumnsPerPass = 1024;  // columns of a sparse table that share a pass over the rows

// The rows of one side: the number of edges that lead to the other side, and the sum of the rows' degrees.
struct Side {
  std::vector<int64_t> count;  // weight by cluster
  uint64_t separated = 0, degree = 0;

  void add(int32_t label, int64_t weight, int64_t size) {
    int64_t &in_cluster = count[label];
    separated += static_cast<uint64_t>(weight) * static_cast<uint64_t>(size - 2 * in_cluster - weight);
    degree += static_cast<uint64_t>(weight) * static_cast<uint64_t>(size - 1);
    in_cluster += weight;
  }
  double score() const { return degree == 0 ? 0.0 : static_cast<double>(separated) / static_cast<double>(degree); }
  int32_t label() const { return static_cast<int32_t>(std::max_element(count.begin(), count.end()) - count.begin()); }
};

// Separated edges and degree of the left side, the same of the right; feature, threshold, left label, right label.
using Candidate = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, int32_t, double, int32_t, int32_t>;

struct CliqueSearch : NodeRows {
  const int32_t *labels;
  const int64_t *weights;  // null: ones
  const int64_t *sizes;    // of every cluster, over all rows
  int64_t k;
  const NodeLimits *limits;

  struct Best {
    double score = std::numeric_limits<double>::infinity();
    std::vector<Candidate> cuts;
  };

  // sorted: the rows by value or, in a sparse table, those that store a value; the others are zeros.
  Best of_column(int32_t feature, const std::vector<RowValue> &sorted, const Side &all) const {
    Side left{std::vector<int64_t>(k, 0)}, right = all;
    const auto pass = [&](int32_t label, int64_t weight) {
      left.add(label, weight, sizes[label]);
      right.add(label, -weight, sizes[label]);
    };
    bool has_zeros = static_cast<int64_t>(sorted.size()) < n;
    std::vector<int64_t> zeros = all.count;
    for (size_t i = 0; has_zeros && i < sorted.size(); ++i) zeros[labels[sorted[i].row]] -= weight_of(sorted[i].row);
    Best best;
    AllowedCuts allowed(limits, *this, feature, 2);
    for (size_t i = 0; i < sorted.size() || has_zeros;) {
      const bool is_zero = has_zeros && (i == sorted.size() || sorted[i].value > 0.0);
      const double value = is_zero ? 0.0 : sorted[i].value;
      for (int32_t c = 0; is_zero && c < k; ++c) pass(c, zeros[c]);
      has_zeros = has_zeros && !is_zero;
      for (; i < sorted.size() && sorted[i].value == value; ++i) pass(labels[sorted[i].row], weight_of(sorted[i].row));
      if ((i < sorted.size() || has_zeros) && allowed.holds(value, 1)) offer(left, right, feature, value, best);
    }
    return best;
  }

  int64_t weight_of(int32_t row) const { return weights ? weights[row] : int64_t{1}; }

  static void offer(const Side &left, const Side &right, int32_t feature, double threshold, Best &best) {
    const double score = left.score() + right.score();
    if (score > best.score * (1 + kSlack)) return;
    if (score * (1 + kSlack) < best.score) best.cuts.clear();
    best.score = std::min(best.score, score);
    for (const Candidate &cut : best.cuts)
      if (std::tie(std::get<0>(cut), std::get<1>(cut), std::get<2>(cut), std::get<3>(cut)) ==
          std::tie(left.separated, left.degree, right.separated, right.degree))
        return;  // of equal cuts the lowest is kept
    best.cuts.emplace_back(left.separated, left.degree, right.separated, right.degree, feature, threshold, left.label(),
                           right.label());
  }

  std::vector<Candidate> run(int32_t n_cols, int n_jobs) const {
    std::vector<Best> found(n_cols);
    Side all{std::vector<int64_t>(k, 0)};
    for (int64_t i = 0; i < n; ++i) all.add(labels[rows[i]], weight_of(rows[i]), sizes[labels[rows[i]]]);
    const int32_t step = encoded.sparse ? kColumnsPerPass : n_cols;
    for (int32_t first = 0; first < n_cols; first += step) {
      const int32_t n_here = std::min(step, n_cols - first);
      std::vector<int32_t> features(n_here);
      std::iota(features.begin(), features.end(), first);
      const std::vector<SortedBins> stored = encoded.sparse ? sorted_stored_rows(*this, features) : std::vector<SortedBins>();
      parallel_for(n_jobs, n_here, [&](int64_t j) {
        const int32_t f = features[j];
        found[f] = of_column(f, encoded.sparse ? stored[j].in_order() : sorted_rows(*this, f), all);
      });
    }
    double least = std::numeric_limits<double>::infinity();
    for (const Best &best : found) least = std::min(least, best.score);
    std::vector<Candidate> cuts;
    for (const Best &best : found)
      if (best.score <= least * (1 + kSlack)) cuts.insert(cuts.end(), best.cuts.begin(), best.cuts.end());
    return cuts;
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_cliques(nb::module_ &m) {
  m.def(
      "best_clique_cuts",
      [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In1<int32_t> labels, const Weights &weights,
         In1<int64_t> sizes, const NodeLimits *limits, int n_jobs) {
        require(has_shape(labels, encoded.n_rows), "labels has one entry per encoded row");
        const CliqueSearch search{NodeRows(encoded, matrix, rows),    labels.data(),
                                  checked(weights, encoded.n_rows),   sizes.data(),
                                  static_cast<int64_t>(sizes.size()), limits};
        const GilRelease release;
        return search.run(encoded.n_cols(), n_jobs);
      },
      "encoded"_a, "matrix"_a, "rows"_a, "labels"_a, "weights"_a.none(), "sizes"_a, "limits"_a.none() = nb::none(),
      "n_jobs"_a = 1,
      R"(The cuts that may separate the fewest pairs of rows of one cluster, for the size of their sides (SpEx).

labels (n_rows,): the cluster of every row. sizes (k,): the weight of each cluster over all rows of the table. Returns one tuple
per cut: separated pairs and degree of the left side, the same of the right, feature, threshold (the left end of the gap), left
label, right label; by column, then by threshold. Their scores differ by no more than rounding.)");
}
