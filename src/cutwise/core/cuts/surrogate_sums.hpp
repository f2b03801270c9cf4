// The cost of the two sides of a cut, each served by its best cluster, from sums over the rows of the left side.
//
// A search takes CostSums, whose sums are summed costs by cluster, or LabelCounts, whose sums are weights by label and whose
// costs are 0/1 disagreement. Throughout, `total` is the sums over all rows of the node and `part` those over the left side,
// (k,) each.
#pragma once

#include "base/simd.hpp"
#include "nodes/histogram.hpp"
#include "nodes/node.hpp"

namespace cutwise {

// The minimum of k values, and that of total - part.
int64_t least(const int64_t *values, int64_t k);
int64_t least_rest(const int64_t *total, const int64_t *part, int64_t k);

// The least sum left[i] + right[j] of two lists that are given entry by entry.
class MinPairSum {
 public:
  void add(int64_t j, int64_t left, int64_t right) {
    left_.add(j, left);
    right_.add(j, right);
  }
  int64_t of_any() const { return left_.first + right_.first; }
  // The least with i != j; kNone for lists of one entry.
  int64_t of_different() const {
    if (left_.second == kNone) return kNone;
    if (left_.where != right_.where) return left_.first + right_.first;
    return std::min(left_.first + right_.second, left_.second + right_.first);
  }

 private:
  struct TwoLeast {
    int64_t first = kNone, second = kNone, where = -1;
    void add(int64_t j, int64_t value) {
      if (value < first) {
        second = first;
        first = value;
        where = j;
      } else if (value < second) {
        second = value;
      }
    }
  };
  TwoLeast left_, right_;
};

// Sums where every row has a cost by each cluster. costs: (n_rows, k).
template <class Cost>
struct CostSums {
  static constexpr bool is_counts = false;

  const Cost *costs;
  int64_t k;

  void add_row(int64_t *sums, int32_t row) const { add_numbers(sums, costs + static_cast<int64_t>(row) * k, k); }
  void prefetch_row(int32_t row) const { prefetch(costs + static_cast<int64_t>(row) * k, 1); }
  int64_t left(const int64_t *part) const { return least(part, k); }
  int64_t right(const int64_t *total, const int64_t *part) const { return least_rest(total, part, k); }
  double secondary(const int64_t *, const int64_t *, const int64_t *) const { return 0.0; }
  bool has_secondary() const { return false; }
  // A lower bound on the cost of all cuts inside a bin when the sides have different clusters. before, after: the sums over the
  // rows left of the bin, and up to its end.
  int64_t bound_of_different_labels(const int64_t *total, const int64_t *before, const int64_t *after) const {
    MinPairSum pairs;
    for (int64_t j = 0; j < k; ++j) pairs.add(j, before[j], total[j] - after[j]);
    return pairs.of_different();
  }
  int32_t label_left(const int64_t *part) const { return static_cast<int32_t>(std::min_element(part, part + k) - part); }
};

// Figures of the label counts of one side. They are integers (weights add up to less than 2^32), so the order of the rows does
// not matter.
struct SideCounts {
  int64_t sum = 0, most = 0;
  uint64_t squares = 0;

  double impurity() const {
    const double n = static_cast<double>(sum);
    return sum > 0 ? n - static_cast<double>(squares) / n : 0.0;
  }
  void add(int64_t c) {
    sum += c;
    most = std::max(most, c);
    squares += static_cast<uint64_t>(c) * static_cast<uint64_t>(c);
  }
};

// Both sides of a cut. Where rows were moved to the left side, `most` of the right one may be too large.
struct CountsOfSides {
  SideCounts left, right;
};

constexpr double kRounding = 1e-9;  // an impurity is rounded by a much smaller share; bounds allow for it

// The cost of a side: the weight outside its commonest label, without or with Gini impurity as the secondary score; or the
// impurity itself, in units of 2^-30 and rounded down, so that no cut seems to cost more than the uncut node.
enum class Purity { kMajority, kMajorityThenGini, kGini };

// Sums that are weights by label.
struct LabelCounts {
  static constexpr bool is_counts = true;

  const int32_t *labels;
  const int64_t *weights;
  int64_t k;
  Purity purity;

  int64_t weight_of(int32_t row) const { return weights ? weights[row] : 1; }
  void prefetch_row(int32_t row) const { prefetch(labels + row, 1); }
  int64_t cost(const SideCounts &side) const {
    return purity == Purity::kGini ? static_cast<int64_t>(side.impurity() * 0x1p30) : side.sum - side.most;
  }
  int64_t left(const int64_t *part) const {
    SideCounts side;
    for (int64_t j = 0; j < k; ++j) side.add(part[j]);
    return cost(side);
  }
  int64_t right(const int64_t *total, const int64_t *part) const { return cost(sides(total, part).right); }
  CountsOfSides sides(const int64_t *total, const int64_t *part) const {
    CountsOfSides of;
    for (int64_t j = 0; j < k; ++j) {
      of.left.add(part[j]);
      of.right.add(total[j] - part[j]);
    }
    return of;
  }
  // Adds a row to `part`, and updates the figures of both sides without a look at other labels.
  void move_row(const int64_t *total, int64_t *part, CountsOfSides &of, int32_t row) const {
    const int64_t weight = weight_of(row), j = labels[row];
    of.right.sum -= weight;
    of.right.squares -= static_cast<uint64_t>(weight) * static_cast<uint64_t>(2 * (total[j] - part[j]) - weight);
    of.left.sum += weight;
    of.left.squares += static_cast<uint64_t>(weight) * static_cast<uint64_t>(2 * part[j] + weight);
    part[j] += weight;
    of.left.most = std::max(of.left.most, part[j]);
  }
  bool has_secondary() const { return purity == Purity::kMajorityThenGini; }
  int64_t bound_of_different_labels(const int64_t *total, const int64_t *before, const int64_t *after) const {
    if (purity == Purity::kGini) return static_cast<int64_t>(least_impurity(total, before, after) * 0x1p30 * (1.0 - kRounding));
    // Rows of a label inside may all be on the side whose commonest label it is.
    int64_t n = 0;
    MinPairSum pairs;
    for (int64_t j = 0; j < k; ++j) {
      n += total[j];
      pairs.add(j, -after[j], before[j] - total[j]);
    }
    const int64_t different = pairs.of_different();
    return different == kNone ? kNone : n + different;
  }
  // The Gini impurity of the two sides, weighted by size, which decides between cuts of equal disagreement. Where `before` and
  // `after`, sums over the rows on the left, differ: a lower bound for all cuts among the rows between. The impurity is a
  // concave function of the counts, so it is least where all rows of a label are on one side.
  double secondary(const int64_t *total, const int64_t *before, const int64_t *after) const {
    return has_secondary() ? least_impurity(total, before, after) : 0.0;
  }
  int32_t label_left(const int64_t *part) const { return static_cast<int32_t>(std::max_element(part, part + k) - part); }

 private:
  double least_impurity(const int64_t *total, const int64_t *before, const int64_t *after) const {
    constexpr size_t kMostLabels = 6;  // more are left out
    SideCounts left, right;
    std::vector<int64_t> between;
    for (int64_t j = 0; j < k; ++j) {
      left.add(before[j]);
      right.add(total[j] - after[j]);
      if (after[j] != before[j]) between.push_back(j);
    }
    if (between.size() > kMostLabels) between.clear();
    double lowest = std::numeric_limits<double>::infinity();
    for (uint32_t is_left = 0; is_left < 1u << between.size(); ++is_left) {
      SideCounts sides[2] = {right, left};
      for (size_t i = 0; i < between.size(); ++i) {
        const int64_t j = between[i], n = after[j] - before[j];
        const bool on_left = (is_left >> i & 1) != 0;
        const auto from = static_cast<uint64_t>(on_left ? before[j] : total[j] - after[j]), more = static_cast<uint64_t>(n);
        sides[on_left].sum += n;
        sides[on_left].squares += more * (2 * from + more);
      }
      lowest = std::min(lowest, sides[1].impurity() + sides[0].impurity());
    }
    return lowest;
  }
};

}  // namespace cutwise
