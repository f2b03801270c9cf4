// What is left of a column while rows are taken out of it, and what it costs to serve the rest by its median.
//
// Ranks are the column's rows in increasing order of value. Which of them are left is one bit each; the weight of every 64
// ranks, and of every 64 times 64, tells the median's walk which stretches to step over. A removal costs a few operations,
// and the median moves by the weight removed, whatever is left: with n rows, the whole pass is O(n) for equal weights.
#pragma once

#include <cstdint>
#include <vector>

#include "optimal_cut/parts.hpp"

namespace cutwise {

CUTWISE_INLINE int lowest_bit(uint64_t word) {
#if defined(__GNUC__)
  return __builtin_ctzll(word);
#else
  int bit = 0;
  while (!(word & 1)) word >>= 1, ++bit;
  return bit;
#endif
}
CUTWISE_INLINE int highest_bit(uint64_t word) {
#if defined(__GNUC__)
  return 63 - __builtin_clzll(word);
#else
  int bit = 0;
  while (word >>= 1) ++bit;
  return bit;
#endif
}

// A stretch of ranks: the weight left in it, and the sum of its values by weight.
template <int n_parts>
struct Stretch {
  int64_t weight = 0;
  Parts<n_parts> sum;

  CUTWISE_INLINE void add(int64_t w, const Parts<n_parts> &value) {
    weight += w;
    sum.add_times(value, w);
  }
};

// A column as its searches read it.
template <int n_parts>
struct SummedColumn {
  // What a removal reads of a row, side by side.
  struct Row {
    Parts<n_parts> value;
    int64_t rank;
  };
  std::vector<Row> row;
  std::vector<Parts<n_parts>> value;           // of every rank, increasing
  std::vector<int64_t> weight;                 // of every rank; empty where each is 1
  std::vector<Stretch<n_parts>> block, group;  // of 64 ranks, of 64 blocks
  Stretch<n_parts> all;

  // Once rows, values and weights are there.
  void sum_up() {
    const int64_t n = static_cast<int64_t>(value.size());
    block.assign((n + 63) / 64, {});
    group.assign((n + 4095) / 4096, {});
    all = {};
    for (int64_t r = 0; r < n; ++r) {
      const int64_t w = weight.empty() ? 1 : weight[r];
      block[r >> 6].add(w, value[r]);
      group[r >> 12].add(w, value[r]);
      all.add(w, value[r]);
    }
  }
};

template <int n_parts, bool is_weighted>
class Remaining {
 public:
  void start(const SummedColumn<n_parts> &column) {
    column_ = &column;
    const int64_t n = static_cast<int64_t>(column.value.size());
    left_.assign((n + 63) / 64, ~uint64_t{0});
    if (n % 64) left_.back() = (uint64_t{1} << (n % 64)) - 1;
    block_ = column.block;
    group_ = column.group;
    all_ = column.all;
    below_ = {};
    at_ = 0;
  }

  CUTWISE_INLINE void remove(const typename SummedColumn<n_parts>::Row &row) {
    const auto &[value, r] = row;
    const int64_t w = -weight_of(r);
    left_[r >> 6] ^= uint64_t{1} << (r & 63);
    block_[r >> 6].add(w, value);
    group_[r >> 12].add(w, value);
    all_.add(w, value);
    below_.add(r < at_ ? w : 0, value);  // no branch: it would be guessed wrong half of the time
  }

  // The sum of the l1 distances of what is left to its median; something is left.
  Parts<n_parts> cost() {
    if (2 * below_.weight > all_.weight) step_down();
    else step_up();
    // Values from the median on, less the median, and the median less the values below it.
    Parts<n_parts> sum = all_.sum;
    sum.add_times(below_.sum, -2);
    sum.add_times(column_->value[at_], 2 * below_.weight - all_.weight);
    return sum;
  }

 private:
  CUTWISE_INLINE int64_t weight_of(int64_t r) const { return is_weighted ? column_->weight[r] : 1; }
  CUTWISE_INLINE bool too_low(int64_t w) const { return 2 * (below_.weight + w) < all_.weight; }
  CUTWISE_INLINE bool too_high(int64_t w) const { return 2 * (below_.weight - w) > all_.weight; }

  // To the first rank such that at least half of the weight is at or below it. Where exactly half is below the old rank, it
  // stays there even if that row is gone: its value still lies between the two halves.
  void step_up() {
    if (!too_low((left_[at_ >> 6] >> (at_ & 63)) & 1 ? weight_of(at_) : 0)) return;
    int64_t b = at_ >> 6;
    uint64_t word = left_[b] & (~uint64_t{0} << (at_ & 63));
    for (;;) {
      for (; word; word &= word - 1) {
        const int64_t r = b * 64 + lowest_bit(word);
        if (!too_low(weight_of(r))) {
          at_ = r;
          return;
        }
        below_.add(weight_of(r), column_->value[r]);
      }
      for (++b;;) {
        if ((b & 63) == 0 && too_low(group_[b >> 6].weight)) {
          take(group_[b >> 6], 1);
          b += 64;
        } else if (too_low(block_[b].weight)) {
          take(block_[b], 1);
          ++b;
        } else {
          break;
        }
      }
      word = left_[b];
    }
  }

  // Down to the first rank such that at most half of the weight is below it.
  void step_down() {
    int64_t b = at_ >> 6;
    uint64_t word = left_[b] & ~(~uint64_t{0} << (at_ & 63));
    for (;;) {
      while (word) {
        const int bit = highest_bit(word);
        at_ = b * 64 + bit;
        below_.add(-weight_of(at_), column_->value[at_]);
        if (!too_high(0)) return;
        word ^= uint64_t{1} << bit;
      }
      for (--b;;) {
        if ((b & 63) == 63 && too_high(group_[b >> 6].weight)) {
          take(group_[b >> 6], -1);
          b -= 64;
        } else if (too_high(block_[b].weight)) {
          take(block_[b], -1);
          --b;
        } else {
          break;
        }
      }
      word = left_[b];
    }
  }

  CUTWISE_INLINE void take(const Stretch<n_parts> &stretch, int64_t sign) {
    below_.weight += sign * stretch.weight;
    below_.sum.add_times(stretch.sum, sign);
  }

  const SummedColumn<n_parts> *column_ = nullptr;
  std::vector<uint64_t> left_;
  std::vector<Stretch<n_parts>> block_, group_;
  Stretch<n_parts> all_, below_;  // of all that is left, and of it what has a rank below the median's
  int64_t at_ = 0;                // the median's rank
};

}  // namespace cutwise
