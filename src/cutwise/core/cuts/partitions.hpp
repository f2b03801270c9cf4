// Partitions of the modes of centers into a left and a right side, enumerated by branch and bound.
#pragma once

#include "base/arrays.hpp"
#include "base/simd.hpp"
#include "cuts/depth.hpp"
#include "cuts/level_sets.hpp"
#include "nodes/node.hpp"
#include "nodes/separation.hpp"

namespace cutwise {

constexpr int32_t kMostGroups = 16;

// The surviving centers of a node in groups, one per mode. Where there are more modes than kMostGroups, the lightest share one.
struct ModeGroups {
  std::vector<int32_t> survivors, group;  // the surviving clusters, and the group of each
  std::vector<int32_t> group_of_level;    // -1: no center's mode
  std::vector<int32_t> mode_levels;       // the levels that are modes
  int32_t n_groups = 0;

  // clusters: the survivors among k clusters. mode: the level of each survivor. weight: the weight of every level.
  ModeGroups(const In1<int32_t> &clusters, int64_t k, const In1<int32_t> &mode, const std::vector<int64_t> &weight)
      : ModeGroups(survivors_of(clusters, k), mode.data(), weight) {
    require(mode.size() == clusters.size(), "one mode a survivor");
  }
  ModeGroups(std::vector<int32_t> clusters, const int32_t *mode, const std::vector<int64_t> &weight)
      : survivors(std::move(clusters)), group(survivors.size()), group_of_level(weight.size(), -1) {
    std::vector<int32_t> modes(mode, mode + survivors.size());
    for (const int32_t level : modes) require(level >= 0 && level < static_cast<int32_t>(weight.size()), "modes are levels");
    std::sort(modes.begin(), modes.end());
    modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
    std::stable_sort(modes.begin(), modes.end(), [&](int32_t a, int32_t b) { return weight[a] > weight[b]; });
    for (size_t i = 0; i < modes.size(); ++i) group_of_level[modes[i]] = std::min(static_cast<int32_t>(i), kMostGroups - 1);
    n_groups = std::min(static_cast<int32_t>(modes.size()), kMostGroups);
    mode_levels = std::move(modes);
    for (size_t s = 0; s < group.size(); ++s) group[s] = group_of_level[mode[s]];
  }

  // mask: bit g is set where group g is on the left.
  bool is_left(uint32_t mask, int32_t g) const { return ((mask >> g) & 1) != 0; }

  // Whether the limits allow the sides of a partition. counts: by level.
  bool are_allowed(uint32_t mask, const std::vector<uint8_t> &side, const NodeLimits *limits, const int64_t *counts) const {
    if (!limits) return true;
    int64_t count[2] = {0, 0};
    for (size_t v = 0; v < side.size(); ++v) count[side[v] != 0] += counts[v];
    const size_t n_left = centers_left(mask);
    return limits->allow_sides(n_left, group.size() - n_left, count[1], count[0]);
  }

  size_t centers_left(uint32_t mask) const {
    return std::count_if(group.begin(), group.end(), [&](int32_t g) { return is_left(mask, g); });
  }

  // The side of every level, 1 for left: that of its group, or else the cheaper one. left_cost, right_cost: by level.
  std::vector<uint8_t> sides(uint32_t mask, const std::vector<int64_t> &left_cost, const std::vector<int64_t> &right_cost,
                             const std::vector<int64_t> &weight) const {
    std::vector<uint8_t> side(weight.size());
    for (size_t v = 0; v < side.size(); ++v) {
      if (group_of_level[v] >= 0) side[v] = is_left(mask, group_of_level[v]);
      else side[v] = left_cost[v] < right_cost[v] ? 1 : right_cost[v] < left_cost[v] ? 0 : 2;
    }
    assign_ties(side, weight);
    return side;
  }
};

// Lower bounds on the depth term of a partition by Lagrangian relaxation: for any price p per unit of weight on the left,
//   losses + depth >= (least losses when weight on the left costs p extra) + (least of depth minus p times the weight there).
class DepthPrices {
 public:
  DepthPrices() = default;  // for a depth penalty of 0
  // level_cost: the cost of one unit of weight one level deeper. loss: the summed losses of all rows, for the size of the
  // prices.
  DepthPrices(double level_cost, int64_t points, int64_t centers, double loss)
      : of_all(level_cost * static_cast<double>(points)), n_centers_(centers) {
    if (of_all <= 0.0 || centers > kMostCenters) return;
    price = {0.0};
    for (const double part : {0.3, 1.0})
      for (const double sign : {-1.0, 1.0}) price.push_back(sign * part * loss / static_cast<double>(points));
    const int64_t n_shares = std::clamp<int64_t>(kMostCosts / (centers * centers), 1, 32), share = points / n_shares + 1;
    least_.assign(price.size() * centers * centers, std::numeric_limits<double>::infinity());
    for (int64_t c = 1; c < centers; ++c)
      for (int64_t low = 0; low <= points; low += share) {
        const int64_t high = std::min(points, low + share - 1);
        const double depth =
            level_cost * static_cast<double>(std::min(total_depth(points, low, high, centers, c),
                                                      total_depth(points, points - high, points - low, centers, centers - c)));
        for (size_t p = 0; p < price.size(); ++p) {
          double &least = least_[(p * centers + c) * centers + c];
          least = std::min(least, depth - price[p] * static_cast<double>(price[p] < 0.0 ? low : high));
        }
      }
    for (size_t p = 0; p < price.size(); ++p)
      for (int64_t low = 1; low < centers; ++low)
        for (int64_t high = low + 1; high < centers; ++high) {
          double *line = least_.data() + (p * centers + low) * centers;
          line[high] = std::min(line[high - 1], least_[(p * centers + high) * centers + high]);
        }
  }

  // A lower bound on the depth term minus price[p] times the weight on the left, for low .. high centers on the left.
  double least(size_t p, int64_t low, int64_t high) const {
    if (least_.empty()) return of_all;  // every row is at least one level deep
    return least_[(p * n_centers_ + std::max<int64_t>(low, 1)) * n_centers_ + std::min(high, n_centers_ - 1)];
  }

  std::vector<double> price{0.0};
  double of_all = 0.0;  // the cost of all rows one level deeper

 private:
  static constexpr int64_t kMostCosts = 1 << 14, kMostCenters = 128;
  int64_t n_centers_ = 0;
  std::vector<double> least_;  // by price, fewest and most centers on the left
};

// The sum over levels of the cheaper of two sides, where a unit of weight on the left costs `price` extra. n: a multiple of 8.
CUTWISE_CLONES inline double cost_of_sides(const double *on_left, const double *on_right, const double *weight, double price,
                                           size_t n) {
  double sum[8] = {};
  for (size_t v = 0; v < n; v += 8)
    for (size_t i = 0; i < 8; ++i) {
      const double left = on_left[v + i] + weight[v + i] * price, right = on_right[v + i];
      sum[i] += right < left ? right : left;
    }
  for (size_t i = 0; i < 4; ++i) sum[i] += sum[4 + i];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

CUTWISE_CLONES inline void add_levels(double *to, const double *from, const double *more, size_t n) {
  for (size_t v = 0; v < n; ++v) to[v] = from[v] + more[v];
}

// Enumerates the partitions of the groups whose cost may be at most a limit, by lower bounds on the losses of the rows.
class Partitions {
 public:
  // by_group (n_groups, n_levels): the least loss of the rows of a level and a group where these are on different sides.
  // weight: of every level; it may be empty where the depth penalty is 0. most: the limit. kills: whether a side may make an
  // ancestor's condition redundant, which lowers the depth.
  Partitions(const ModeGroups &modes, const std::vector<int64_t> &by_group, const std::vector<int64_t> &weight,
             const DepthPrices &depth, double most, bool kills = false)
      : modes_(modes),
        depth_(depth),
        n_((modes.group_of_level.size() + 7) / 8 * 8),
        lost_(n_ * modes.n_groups, 0.0),
        weight_(n_, 0.0),
        size_(modes.n_groups, 0) {
    const size_t n_levels = modes.group_of_level.size();
    for (const int32_t g : modes.group) ++size_[g];
    double total = 0.0;
    for (int32_t g = 0; g < modes.n_groups; ++g)
      for (size_t v = 0; v < n_levels; ++v) {
        const auto lost = static_cast<double>(by_group[g * n_levels + v]);
        total += lost;
        lost_[g * n_ + v] = modes.group_of_level[v] == g ? std::numeric_limits<double>::infinity() : lost;
      }
    for (size_t v = 0; v < n_levels && !weight.empty(); ++v) weight_[v] = static_cast<double>(weight[v]);
    constant_ = kills ? -depth.of_all : 0.0;
    rounding_ = 0x1p-40 * (4.0 * total + static_cast<double>(modes.group.size()) * depth.of_all);
    set_most(most);
  }

  size_t n_levels() const { return n_; }  // rounded up to a multiple of 8, with levels without rows
  const double *lost(size_t group) const { return lost_.data() + group * n_; }
  void set_most(double most) { most_ = most + rounding_; }

  // A lower bound on the cost of a partition with low .. high centers on the left; any bound above the limit will do. on_left,
  // on_right: the least losses of every level on that side.
  double bound(const double *on_left, const double *on_right, int64_t low, int64_t high) {
    double most = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < depth_.price.size() && most <= most_; ++i) {
      const size_t p = i == 0 ? first_ : i == first_ ? 0 : i;
      const double sum = cost_of_sides(on_left, on_right, weight_.data(), depth_.price[p], n_);
      most = std::max(most, sum + depth_.least(p, low, high) + constant_);
      if (most > most_) first_ = p;
    }
    return most;
  }
  bool may_win(double bound) const { return bound <= most_; }

  // Calls visit(mask, bound) for every partition that may win, with the last group always on the right. A depth-first search
  // gives the groups their sides one after the other, left before right.
  template <class Visit>
  void each(Visit &&visit) {
    const int32_t q = modes_.n_groups;
    if (q < 2) return;
    struct Partial {
      const double *on_side[2];        // least losses of the levels on the right, on the left
      int64_t n_left = 0, n_open = 0;  // centers on the left, and centers without a side yet
    };
    std::vector<double> costs(n_ * q, 0.0);
    std::vector<Partial> partial(q);
    partial[0] = {{costs.data(), lost_.data() + (q - 1) * n_}, 0, static_cast<int64_t>(modes_.group.size()) - size_[q - 1]};
    uint32_t mask = 0;
    for (int32_t g = 0, is_left = 1;;) {
      const Partial &from = partial[g];
      Partial &to = partial[g + 1];
      double *other = costs.data() + (g + 1) * n_;
      add_levels(other, from.on_side[!is_left], lost_.data() + g * n_, n_);
      to = from;
      to.on_side[!is_left] = other;
      to.n_left += is_left ? size_[g] : 0;
      to.n_open -= size_[g];
      mask = (mask & ~(uint32_t{1} << g)) | static_cast<uint32_t>(is_left) << g;
      const double least = bound(to.on_side[1], to.on_side[0], to.n_left, to.n_left + to.n_open);
      if (may_win(least)) {
        if (g < q - 2) {
          ++g, is_left = 1;
          continue;
        }
        if (mask != 0) visit(mask, least);
      }
      while (is_left == 0) {
        if (g == 0) return;
        mask &= ~(uint32_t{1} << g);
        --g;
        is_left = (mask >> g) & 1;
      }
      is_left = 0;
    }
  }

 private:
  const ModeGroups &modes_;
  const DepthPrices &depth_;
  size_t n_;
  std::vector<double> lost_;  // by_group, but infinite where the level is the group's mode
  std::vector<double> weight_;
  std::vector<int64_t> size_;  // centers of every group
  double constant_ = 0.0, most_ = 0.0, rounding_ = 0.0;
  size_t first_ = 0;  // the price that ruled out the last partition, which is tried first
};

}  // namespace cutwise
