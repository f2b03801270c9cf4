// What rows add up to on the two sides of a cut, and what each side costs under its best cluster.
//
// CostSums: every cluster has its own cost for each row, and the sums are summed costs. LabelCounts: 0/1 disagreement with
// labels, and the sums are counts per label. A search takes either.
#pragma once

#include "base/simd.hpp"
#include "nodes/node.hpp"

namespace cutwise {

// Of k values, and of what they leave of a total.
int64_t least(const int64_t *values, int64_t k);
int64_t least_rest(const int64_t *total, const int64_t *part, int64_t k);
void add_numbers(int64_t *sums, const int64_t *numbers, int64_t k);
void add_numbers(int64_t *sums, const int32_t *numbers, int64_t k);
void add_numbers(int64_t *sums, const uint16_t *numbers, int64_t k);

// The least sum of an entry of one list and an entry of another that stands elsewhere in it; none in lists of one.
class MinPairSum {
 public:
  void add(int64_t j, int64_t left, int64_t right) {
    left_.add(j, left);
    right_.add(j, right);
  }
  // The same wherever the two stand.
  int64_t of_any() const { return left_.first + right_.first; }
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

// What rows add, and what a cut costs, when every cluster has its own cost per row.
template <class Cost>
struct CostSums {
  static constexpr bool is_counts = false;

  const Cost *costs;
  int64_t k;

  void add_row(int64_t *sums, int32_t row) const { add_numbers(sums, costs + static_cast<int64_t>(row) * k, k); }
  void prefetch_row(int32_t row) const { prefetch(costs + static_cast<int64_t>(row) * k, 1); }
  int64_t left(const int64_t *part) const { return least(part, k); }
  int64_t right(const int64_t *total, const int64_t *part) const { return least_rest(total, part, k); }
  double second(const int64_t *, const int64_t *) const { return 0.0; }
  bool has_second() const { return false; }
  // The least that rows up to `before` and rows after `after` can cost under two different clusters.
  int64_t bound_of_different_labels(const int64_t *total, const int64_t *before, const int64_t *after) const {
    MinPairSum pairs;
    for (int64_t j = 0; j < k; ++j) pairs.add(j, before[j], total[j] - after[j]);
    return pairs.of_different();
  }
  int32_t label_left(const int64_t *part) const { return static_cast<int32_t>(std::min_element(part, part + k) - part); }
};

// What the counts of one side add up to. Integers all the way (weights add up to less than 2^32), so that it does not matter
// which rows came first.
struct SideCounts {
  int64_t sum = 0, most = 0;
  uint64_t squares = 0;

  double impurity() const {
    const double n = static_cast<double>(sum);
    return sum > 0 ? n - static_cast<double>(squares) / n : 0.0;
  }
  void take_in(int64_t c) {
    sum += c;
    most = std::max(most, c);
    squares += static_cast<uint64_t>(c) * static_cast<uint64_t>(c);
  }
};

// What label counts of a side are worth: the rows outside its commonest label, with or without Gini impurity between equals, or
// impurity itself, in units of 2^-30 of a row, rounded down so that no cut seems to cost more than the uncut node.
enum class Purity { kMajority, kMajorityThenGini, kGini };

// The same for labels: sums are label counts.
struct LabelCounts {
  static constexpr bool is_counts = true;

  const int32_t *labels;
  const int64_t *weights;
  int64_t k;
  Purity purity;

  int64_t weight_of(int32_t row) const { return weights ? weights[row] : 1; }
  void add_row(int64_t *sums, int32_t row) const { sums[labels[row]] += weight_of(row); }
  void prefetch_row(int32_t row) const { prefetch(labels + row, 1); }
  int64_t cost(const SideCounts &side) const {
    return purity == Purity::kGini ? static_cast<int64_t>(side.impurity() * 0x1p30) : side.sum - side.most;
  }
  int64_t left(const int64_t *part) const {
    return cost_of_counts([&](int64_t j) { return part[j]; });
  }
  int64_t right(const int64_t *total, const int64_t *part) const {
    return cost_of_counts([&](int64_t j) { return total[j] - part[j]; });
  }
  bool has_second() const { return purity == Purity::kMajorityThenGini; }
  int64_t bound_of_different_labels(const int64_t *total, const int64_t *before, const int64_t *after) const {
    if (purity == Purity::kGini) return left(before) + right(total, after);
    int64_t n_left = 0, n_right = 0;
    for (int64_t j = 0; j < k; ++j) {
      n_left += before[j];
      n_right += total[j] - after[j];
    }
    MinPairSum pairs;
    for (int64_t j = 0; j < k; ++j) pairs.add(j, n_left - before[j], n_right - (total[j] - after[j]));
    return pairs.of_different();
  }
  // Gini impurity of the two sides, weighted by size: tells apart cuts that disagree equally.
  double second(const int64_t *total, const int64_t *part) const {
    if (!has_second()) return 0.0;
    SideCounts left, right;
    for (int64_t j = 0; j < k; ++j) {
      left.take_in(part[j]);
      right.take_in(total[j] - part[j]);
    }
    return left.impurity() + right.impurity();
  }
  int32_t label_left(const int64_t *part) const { return static_cast<int32_t>(std::max_element(part, part + k) - part); }

 private:
  template <class Count>
  int64_t cost_of_counts(Count &&count) const {
    SideCounts side;
    for (int64_t j = 0; j < k; ++j) side.take_in(count(j));
    return cost(side);
  }
};

}  // namespace cutwise
