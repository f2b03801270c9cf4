// Sets of levels for searches that separate centers: a center is on the side of its mode, the level most frequent in its
// cluster; levels that are nobody's mode go where they cost less.
//
// The partitions of the modes are enumerated. What one costs is a sum over levels: of what is separated for mistakes, and for
// induced cost of what rows lose without a set of modes, added up over its subsets.
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"
#include "base/simd.hpp"
#include "cuts/depth.hpp"
#include "cuts/level_sets.hpp"
#include "nodes/levels.hpp"
#include "nodes/separation.hpp"

namespace cutwise {
namespace {

constexpr int32_t kMostGroups = 16;
constexpr int64_t kDepthShares = 64;

// The surviving centers by mode. The lightest modes share a group where there are too many to enumerate.
struct ModeGroups {
  std::vector<int32_t> survivors, group;  // of every survivor
  std::vector<int32_t> group_of_level;    // -1: nobody's mode
  std::vector<int32_t> mode_levels;       // all others
  int32_t n_groups = 0;

  // clusters: of k, those that survive; mode: of each of them; weight: of every level.
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

  // Calls visit(mask of the groups on the left, what is separated) for every partition that within(what is separated) holds
  // for; the last group is right. Groups find their sides one after the other, and what those that have one separate among
  // themselves is a bound on what all do: of rows at a level whose mode has no side yet, at least the lesser part.
  template <class Within, class Visit>
  void each(const std::vector<int64_t> &by_group, size_t n_levels, Within &&within, Visit &&visit) const {
    if (n_groups < 2) return;
    std::vector<int64_t> sums(2 * n_groups * n_levels,
                              0);  // of the right and the left by level, by number of groups that have one
    const auto side = [&](int32_t n_placed, bool is_left) { return sums.data() + (2 * n_placed + is_left) * n_levels; };
    const auto place = [&](int32_t n_placed, int32_t g, bool is_left) {
      const int64_t *own = by_group.data() + g * n_levels;
      int64_t *to = side(n_placed, is_left), *other = side(n_placed, !is_left);
      if (n_placed > 0) {
        const int64_t *from = side(n_placed - 1, is_left), *rest = side(n_placed - 1, !is_left);
        for (size_t v = 0; v < n_levels; ++v) to[v] = from[v] + own[v], other[v] = rest[v];
      } else {
        std::copy(own, own + n_levels, to);
      }
    };
    place(0, n_groups - 1, false);
    uint32_t mask = 0;
    // Group g is placed as the (g + 1)th beside the last one: left first, then right.
    for (int32_t g = 0, is_left = 1;;) {
      place(g + 1, g, is_left != 0);
      mask = (mask & ~(uint32_t{1} << g)) | static_cast<uint32_t>(is_left) << g;
      const int64_t *left = side(g + 1, true), *right = side(g + 1, false);
      const int64_t sum = separated(mask, g, left, right, n_levels);
      const bool is_whole = g == n_groups - 2;
      if (within(sum)) {
        if (!is_whole) {
          ++g, is_left = 1;
          continue;
        }
        if (mask != 0) visit(mask, sum);
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

  bool is_left(uint32_t mask, int32_t g) const { return ((mask >> g) & 1) != 0; }

  // Whether limits allow the sides of a partition; counts: of every level.
  bool are_allowed(uint32_t mask, const std::vector<uint8_t> &side, const Limits *limits, const int64_t *counts) const {
    if (!limits) return true;
    int64_t count[2] = {0, 0};
    for (size_t v = 0; v < side.size(); ++v) count[side[v] != 0] += counts[v];
    const size_t n_left = centers_left(mask);
    return limits->allow_sides(n_left, group.size() - n_left, count[1], count[0]);
  }

  size_t centers_left(uint32_t mask) const {
    return std::count_if(group.begin(), group.end(), [&](int32_t g) { return is_left(mask, g); });
  }

  // What is separated from its centers: by mode, of groups up to g and the last, or as little as possible.
  int64_t separated(uint32_t mask, int32_t g, const int64_t *left, const int64_t *right, size_t n_levels) const {
    int64_t sum = 0;
    for (size_t v = 0; v < n_levels; ++v) sum += std::min(left[v], right[v]);
    for (const int32_t v : mode_levels) {
      const int32_t own = group_of_level[v];
      if (own <= g || own == n_groups - 1)
        sum += std::max<int64_t>(0, is_left(mask, own) ? right[v] - left[v] : left[v] - right[v]);
    }
    return sum;
  }

  // The side of every level: `left_cost`, `right_cost` of having it there.
  std::vector<uint8_t> sides(uint32_t mask, const std::vector<int64_t> &left_cost, const std::vector<int64_t> &right_cost,
                             const std::vector<int64_t> &weight) const {
    std::vector<uint8_t> side(weight.size());
    for (size_t v = 0; v < side.size(); ++v) {
      if (group_of_level[v] >= 0) side[v] = is_left(mask, group_of_level[v]);
      else side[v] = left_cost[v] < right_cost[v] ? 1 : right_cost[v] < left_cost[v] ? 0 : 2;
    }
    place_ties(side, weight);
    return side;
  }
};

std::vector<int32_t> levels_of(const std::vector<uint8_t> &side) {
  std::vector<int32_t> levels;
  for (size_t v = 0; v < side.size(); ++v)
    if (side[v]) levels.push_back(static_cast<int32_t>(v));
  return levels;
}

using FoundMistakes = std::optional<std::tuple<int64_t, int64_t, std::vector<int32_t>, size_t>>;

// What rows add by level and group of their cluster; cell(level, cluster): by level and cluster.
template <class Cell>
std::vector<int64_t> sums_by_group(const ModeGroups &modes, size_t n_levels, Cell &&cell) {
  std::vector<int64_t> by_group(modes.n_groups * n_levels, 0);
  for (size_t v = 0; v < n_levels; ++v)
    for (size_t s = 0; s < modes.group.size(); ++s)
      by_group[modes.group[s] * n_levels + v] += cell(static_cast<int64_t>(v), modes.survivors[s]);
  return by_group;
}

std::vector<int64_t> sums_by_level(const std::vector<int64_t> &by_group, size_t n_levels) {
  std::vector<int64_t> total(n_levels, 0);
  for (size_t i = 0; i < by_group.size(); ++i) total[i % n_levels] += by_group[i];
  return total;
}

FoundMistakes fewest_mistakes(const ModeGroups &modes, const int64_t *held, const int64_t *costs, int64_t k,
                              const std::vector<int64_t> &weight, const Limits *limits, const int64_t *counts) {
  const size_t n_levels = weight.size();
  const std::vector<int64_t> by_group = sums_by_group(modes, n_levels, [&](int64_t v, int32_t c) { return held[v * k + c]; });
  const std::vector<int64_t> total = sums_by_level(by_group, n_levels);
  int64_t least = kNone;
  std::vector<uint32_t> tied;
  std::vector<int64_t> left(n_levels), right(n_levels);
  const auto add_up_sides = [&](uint32_t mask) {
    std::fill(left.begin(), left.end(), int64_t{0});
    right = total;
    for (int32_t g = 0; g < modes.n_groups; ++g)
      for (size_t v = 0; v < n_levels && modes.is_left(mask, g); ++v) {
        left[v] += by_group[g * n_levels + v];
        right[v] -= by_group[g * n_levels + v];
      }
  };
  modes.each(
      by_group, n_levels, [&](int64_t mistakes) { return mistakes <= least; },
      [&](uint32_t mask, int64_t mistakes) {
        if (limits) {
          add_up_sides(mask);
          if (!modes.are_allowed(mask, modes.sides(mask, right, left, weight), limits, counts)) return;
        }
        if (mistakes < least) tied.clear();
        tied.push_back(mask);
        least = mistakes;
      });
  if (tied.empty()) return std::nullopt;
  // Those alike in all levels that have rows are settled by their place in a Gray code.
  const auto place_of = [](uint32_t mask) {
    for (uint32_t rest = mask >> 1; rest != 0; rest >>= 1) mask ^= rest;
    return mask;
  };
  std::sort(tied.begin(), tied.end(), [&](uint32_t a, uint32_t b) { return place_of(a) < place_of(b); });
  int64_t best_second = kNone;
  NamedSide best_named;
  std::vector<int32_t> best_levels;
  for (uint32_t mask : tied) {
    add_up_sides(mask);
    const std::vector<uint8_t> side = modes.sides(mask, right, left, weight);  // on the left, those of the right are mistakes
    int64_t second = 0;
    if (costs) {
      int64_t of_side[2] = {kNone, kNone};
      for (size_t s = 0; s < modes.survivors.size(); ++s) {
        const bool is_left = modes.is_left(mask, modes.group[s]);
        int64_t sum = 0;
        for (size_t v = 0; v < n_levels; ++v)
          if ((side[v] != 0) == is_left) sum += costs[static_cast<int64_t>(v) * k + modes.survivors[s]];
        of_side[is_left] = std::min(of_side[is_left], sum);
      }
      second = of_side[0] + of_side[1];
    }
    NamedSide named = NamedSide::of(side, weight);
    if (best_second != kNone && (second > best_second || (second == best_second && !(named < best_named)))) continue;
    best_second = second;
    best_named = std::move(named);
    best_levels = levels_of(side);
  }
  return std::make_tuple(least, best_second, best_levels, tied.size());
}

constexpr size_t kRowsAtOnce = 16;

// The groups of some rows in order of cost: which are before a group, and what it costs more than the last of them.
template <class Cost>
struct GroupOrder {
  Cost cost[kMostGroups][kRowsAtOnce], more[kMostGroups][kRowsAtOnce];
  std::make_unsigned_t<Cost> before[kMostGroups][kRowsAtOnce];

  // Costs come in no order, so no branch depends on them, and all rows take the same steps.
  CUTWISE_INLINE void find(size_t n_groups) {
    for (size_t g = 0; g < n_groups; ++g)
      for (size_t i = 0; i < kRowsAtOnce; ++i) more[g][i] = cost[g][i], before[g][i] = 0;
    for (size_t g = 1; g < n_groups; ++g)
      for (size_t h = 0; h < g; ++h)
        for (size_t i = 0; i < kRowsAtOnce; ++i) {
          const Cost apart = cost[g][i] - cost[h][i];
          const bool is_after = apart >= 0;
          more[g][i] = is_after ? std::min(more[g][i], apart) : more[g][i];
          more[h][i] = is_after ? more[h][i] : std::min<Cost>(more[h][i], -apart);
          before[g][i] |= static_cast<std::make_unsigned_t<Cost>>(is_after) << h;
          before[h][i] |= static_cast<std::make_unsigned_t<Cost>>(!is_after) << g;
        }
  }
};

CUTWISE_CLONES void find_order(GroupOrder<int32_t> &order, size_t n_groups) { order.find(n_groups); }
CUTWISE_CLONES void find_order(GroupOrder<int64_t> &order, size_t n_groups) { order.find(n_groups); }

// What the centers of a side cost at least; pads (k,): 0 for these, more than any cost for all others.
template <class Cost>
CUTWISE_INLINE Cost least_of_side(const Cost *cost, const Cost *pads, int64_t k) {
  Cost least = std::numeric_limits<Cost>::max();
  for (int64_t j = 0; j < k; ++j) least = std::min(least, std::max(cost[j], pads[j]));
  return least;
}

CUTWISE_CLONES int32_t least_padded(const int32_t *cost, const int32_t *pads, int64_t k) {
  return least_of_side(cost, pads, k);
}
CUTWISE_CLONES int64_t least_padded(const int64_t *cost, const int64_t *pads, int64_t k) {
  return least_of_side(cost, pads, k);
}

// Of every set of groups, in place: the sum over its subsets.
CUTWISE_CLONES void add_subsets(int64_t *sums, size_t n_groups) {
  for (size_t half = 1; half < size_t{1} << n_groups; half *= 2)
    for (size_t begin = half; begin < size_t{1} << n_groups; begin += 2 * half)
      for (size_t i = begin; i < begin + half; ++i) sums[i] += sums[i - half];
}

using FoundModes = std::optional<std::tuple<bool, double, int64_t, std::vector<int32_t>>>;

template <class State>
struct InducedModes {
  using Cost = typename State::Cost;

  const ModeGroups &modes;
  const DepthScore &depth;
  std::vector<int64_t> weight;  // of every level, from the first partition on that is looked at
  int64_t k = 0;
  const int64_t *sums =
      nullptr;        // (n_levels, k, width): what rows lose without their nearest center, by it; null: nobody knows
  int64_t width = 1;  // 2: then their weight, known from the first on
  const Limits *limits = nullptr;
  const int64_t *counts = nullptr;    // of every level, for the limits
  double known_score = 0.0;           // of a cut that is as valid as a cut can be, so that nothing worse is wanted
  const int64_t *distinct = nullptr;  // different rows of every level, where shares are given and no row is at hand

  struct Rows {
    const Matrix *matrix = nullptr;
    const int32_t *numbers = nullptr, *codes = nullptr;  // codes by row of the table
    int64_t n = 0;
    const Cost *excess = nullptr;
    const int64_t *weights = nullptr;  // null: 1 each
    const State *states = nullptr;     // null: nobody knows the nearest centers
  } of{};

  struct Best {
    bool is_valid = false;
    double score = std::numeric_limits<double>::infinity();
    int64_t induced = kNone;
    NamedSide named;
    uint32_t mask = 0;
    std::vector<int32_t> levels;

    bool is_none() const { return levels.empty(); }
  } best{};

  struct Candidate {
    double score;
    int64_t induced;
    uint32_t mask;
    int64_t least_depth = 0;

    friend bool operator<(const Candidate &a, const Candidate &b) {
      return std::tie(a.score, a.induced, a.mask) < std::tie(b.score, b.induced, b.mask);
    }
  };

  // What rows of a level lose when they are served by none of the groups in the mask, beyond fewer of the groups nearest to
  // them: a row of groups a, b, c in order of cost has a share for {a}, one for {a, b}. Added up, they are what any side costs.
  struct Share {
    int32_t level;
    uint32_t groups;
    int64_t loss;
  };
  std::vector<Share> shares{};
  int64_t held_by[kMostGroups] = {};  // weight of every group's levels
  mutable std::optional<DepthBounds> depths{};
  mutable int64_t looked_at = 0;  // rows
  // Of a partition, by the mask of its groups on the left: what it costs beyond the node, the weight of its levels on the left,
  // and of those that cost as much on either side.
  std::vector<int64_t> lost{}, on_left{}, tied{};
  // What rows lose without their nearest center: by its group and their level, and by level.
  std::vector<int64_t> by_group{}, total{};

  // Of the rows, or of shares that are there already.
  void add_shares(bool adds_up = true) {
    constexpr int64_t kMostCells = 1 << 20;
    const auto q = static_cast<size_t>(modes.n_groups), n_levels = weight.size();
    std::vector<std::vector<int32_t>> centers(q);
    std::vector<int32_t> group_of(k, -1);
    for (size_t s = 0; s < modes.survivors.size(); ++s) {
      centers[modes.group[s]].push_back(modes.survivors[s]);
      group_of[modes.survivors[s]] = modes.group[s];
    }
    const size_t at_once = std::min<size_t>(n_levels, kMostCells >> q);
    std::vector<int64_t> cells(at_once << q);
    const auto order = std::make_unique<GroupOrder<Cost>>();
    const size_t n_sets = size_t{1} << q;
    for (auto *of_mask : {&lost, &on_left, &tied}) of_mask->assign(adds_up ? n_sets / 2 : 0, 0);
    std::vector<Share> given;
    given.swap(shares);
    for (size_t begin = 0; begin < n_levels; begin += at_once) {
      std::fill(cells.begin(), cells.end(), int64_t{0});
      for (const Share &share : given)
        if (static_cast<size_t>(share.level) - begin < at_once)
          cells[(static_cast<size_t>(share.level) - begin) << q | share.groups] += share.loss;
      for (int64_t i = 0; i < of.n;) {
        size_t level[kRowsAtOnce], some = 0;
        for (; i < of.n && some < kRowsAtOnce; ++i) {
          level[some] = static_cast<size_t>(of.codes[of.numbers[i]]) - begin;
          if (level[some] >= at_once) continue;
          // Its level is always on the side of that group: where it is the nearest, the row loses nothing.
          const int32_t own = modes.group_of_level[of.codes[of.numbers[i]]];
          if (of.states && own >= 0 && group_of[of.states[of.numbers[i]].nearest] == own) continue;
          const Cost *cost = of.excess + static_cast<int64_t>(of.numbers[i]) * k;
          Cost nearest = std::numeric_limits<Cost>::max();
          for (size_t g = 0; g < q; ++g) {
            Cost least = std::numeric_limits<Cost>::max();
            for (const int32_t c : centers[g]) least = std::min(least, cost[c]);
            order->cost[g][some] = least;
            nearest = std::min(nearest, least);
          }
          some += own < 0 || order->cost[own][some] > nearest;
        }
        find_order(*order, q);
        for (size_t g = 0; g < q; ++g)
          for (size_t j = 0; j < some; ++j) cells[level[j] << q | order->before[g][j]] += order->more[g][j];
      }
      for (size_t cell = 0; cell < cells.size(); ++cell) {
        const auto groups = static_cast<uint32_t>(cell & ((size_t{1} << q) - 1));
        if (groups != 0 && cells[cell] != 0) shares.push_back({static_cast<int32_t>(begin + (cell >> q)), groups, cells[cell]});
      }
      for (size_t v = begin; v < std::min(begin + at_once, n_levels); ++v) {
        int64_t *of_set = cells.data() + ((v - begin) << q);  // from here on, what its rows lose without that set
        if (weight[v] == 0 || !adds_up) continue;
        of_set[0] = 0;
        add_subsets(of_set, q);
        const int32_t own = modes.group_of_level[v];
        for (size_t mask = 0; mask < lost.size(); ++mask) {
          const int64_t left = of_set[n_sets - 1 - mask], right = of_set[mask];
          const bool is_left = own < 0 ? left < right : modes.is_left(static_cast<uint32_t>(mask), own);
          lost[mask] += is_left ? left : right;
          on_left[mask] += is_left ? weight[v] : 0;
          tied[mask] += own < 0 && left == right ? weight[v] : 0;
        }
      }
    }
  }

  double limit() const { return std::min(best.is_valid ? best.score : std::numeric_limits<double>::infinity(), known_score); }

  // The partitions whose price may win: by lower bounds from what rows lose without their nearest center, then by
  // `lost`.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> found;
    const auto score_of = [&](int64_t more) { return depth.quick_bound(depth.current + more, 0, depth.points, 1, 0); };
    const auto may_be_price = [&](int64_t more) { return score_of(more) <= limit(); };
    const auto offer = [&](uint32_t mask, int64_t more) {
      if (may_be_price(more)) found.push_back({score_of(more), depth.current + more, mask});
    };
    for (uint32_t mask = 1; mask < lost.size(); ++mask) offer(mask, lost[mask]);
    if (lost.empty()) modes.each(by_group, weight.size(), may_be_price, offer);
    return found;
  }

  void add_up_by_group() {
    by_group = sums_by_group(modes, weight.size(), [&](int64_t v, int32_t c) { return sums[(v * k + c) * width]; });
    total = sums_by_level(by_group, weight.size());
  }

  // Whether a partition may win with some weight on its left, by what rows lose at least without their nearest center: more
  // or less weight than where each level costs least takes levels that cost more there, or a part of one.
  bool may_win_with_some_weight(const Candidate &cut) const {
    struct Move {
      double loss;
      int64_t weight;
      double each() const { return loss / static_cast<double>(weight); }
    };
    std::vector<Move> moves[2];  // of levels to the left, to the right
    int64_t cheapest = 0;
    for (size_t v = 0; v < weight.size(); ++v) {
      int64_t more = -total[v];  // on the right
      for (int32_t g = 0; g < modes.n_groups; ++g) more += modes.is_left(cut.mask, g) ? 2 * by_group[g * weight.size() + v] : 0;
      const int32_t own = modes.group_of_level[v];
      const bool is_left = own < 0 ? more > 0 : modes.is_left(cut.mask, own);
      cheapest += is_left ? weight[v] : 0;
      if (own < 0 && weight[v] > 0) moves[is_left].push_back({std::abs(static_cast<double>(more)), weight[v]});
    }
    const auto may_win_by = [&](std::vector<Move> &own, int64_t sign) {
      std::sort(own.begin(), own.end(), [](const Move &a, const Move &b) { return a.each() < b.each(); });
      own.push_back({0.0, 1});
      const int64_t share = depth.points / kDepthShares + 1;
      int64_t near = cheapest;  // weight on the left
      double loss = 0.0;
      for (const Move &move : own) {
        for (int64_t some = 0; some < move.weight; some += share) {
          const double more = loss + move.each() * static_cast<double>(some);
          const int64_t induced = cut.induced + static_cast<int64_t>(more * (1.0 - 0x1p-40));  // rounding is far below that
          if (depth.quick_bound(induced, 0, depth.points, 1, 0) > limit()) return false;
          const int64_t one = near + sign * some, other = near + sign * (std::min(some + share, move.weight) - 1);
          if (bound(induced, cut.mask, std::min(one, other), std::max(one, other)) <= limit()) return true;
        }
        near += sign * move.weight;
        loss += move.loss;
      }
      return false;
    };
    return may_win_by(moves[0], 1) || may_win_by(moves[1], -1);
  }

  // At least what a partition scores with a weight in this range on its left.
  double bound(int64_t induced, uint32_t mask, int64_t low, int64_t high) const {
    return depth.score(induced, least_depth(mask, low, high));
  }
  int64_t least_depth(uint32_t mask, int64_t low, int64_t high) const {
    const int64_t m = static_cast<int64_t>(modes.survivors.size()), c = static_cast<int64_t>(modes.centers_left(mask));
    return std::min(depths->least(low, high, c, 0), depths->least(depth.points - high, depth.points - low, m - c, 0));
  }

  bool is_valid(const std::vector<uint8_t> &side, size_t n_left, size_t n_right) const {
    if (distinct) {  // rows of different levels differ
      size_t held[2] = {0, 0};
      for (size_t v = 0; v < side.size(); ++v) held[side[v] != 0] += static_cast<size_t>(distinct[v]);
      return held[1] >= n_left && held[0] >= n_right;
    }
    return of.matrix->visit([&](auto values) {
      DistinctRows left(values, 64), right(values, 64);
      for (int64_t i = 0; i < of.n && (left.size() < n_left || right.size() < n_right); ++i) {
        const bool is_left = side[of.codes[of.numbers[i]]] != 0;
        if (is_left && left.size() < n_left) left.add(of.numbers[i]);
        if (!is_left && right.size() < n_right) right.add(of.numbers[i]);
      }
      return left.size() >= n_left && right.size() >= n_right;
    });
  }

  // Where their level may be, what rows lose by level on the side that has not their nearest center; whether the partition may
  // win yet.
  bool add_side_losses(const Candidate &cut, std::vector<int64_t> &left, std::vector<int64_t> &right) const {
    const uint32_t mask = cut.mask;
    int64_t beyond = 0;  // what rows lose more than without their nearest center, where their level can be on one side alone
    std::vector<Cost> pads[2];  // of the left, of the right
    for (auto &pad : pads) pad.assign(static_cast<size_t>(k), std::numeric_limits<Cost>::max());
    std::vector<uint8_t> is_left(k, 0);
    for (size_t s = 0; s < modes.survivors.size(); ++s) {
      is_left[modes.survivors[s]] = modes.is_left(mask, modes.group[s]);
      pads[!is_left[modes.survivors[s]]][modes.survivors[s]] = 0;
    }
    std::vector<int32_t> forced(weight.size(), -1);  // whether a level is on the left; -1: that is free
    for (const int32_t v : modes.mode_levels) forced[v] = modes.is_left(mask, modes.group_of_level[v]);
    for (int64_t i = 0; i < of.n; ++i, ++looked_at) {
      const int32_t row = of.numbers[i], level = of.codes[row];
      const Cost *cost = of.excess + static_cast<int64_t>(row) * k;
      if (!of.states) {
        const Cost in_left = least_padded(cost, pads[0].data(), k), in_right = least_padded(cost, pads[1].data(), k);
        left[level] += in_left - std::min(in_left, in_right);
        right[level] += in_right - std::min(in_left, in_right);
        continue;
      }
      const State &state = of.states[row];
      const int32_t nearest_left = is_left[state.nearest];
      if (forced[level] == nearest_left) continue;
      int64_t loss = state.loss;
      if (is_left[state.second] == nearest_left) {
        loss = least_padded(cost, pads[nearest_left].data(), k) - cost[state.nearest];
        if (forced[level] >= 0) beyond += loss - state.loss;
        if (depth.score(cut.induced + beyond, cut.least_depth) > limit()) return false;
      }
      (nearest_left ? right : left)[level] += loss;
    }
    return true;
  }

  void evaluate(const Candidate &cut) {
    const uint32_t mask = cut.mask;
    std::vector<int64_t> left(weight.size(), 0), right(weight.size(), 0);  // what levels lose there
    for (const Share &share : shares) {
      if ((share.groups & mask) == 0) left[share.level] += share.loss;
      if ((share.groups & ~mask) == 0) right[share.level] += share.loss;
    }
    if (lost.empty() && !add_side_losses(cut, left, right)) return;
    const std::vector<uint8_t> side = modes.sides(mask, left, right, weight);
    if (!modes.are_allowed(mask, side, limits, counts)) return;
    int64_t induced = depth.current;
    for (size_t v = 0; v < side.size(); ++v) induced += side[v] ? left[v] : right[v];
    NamedSide named = NamedSide::of(side, weight);
    const int64_t c = static_cast<int64_t>(modes.centers_left(mask)), m = static_cast<int64_t>(modes.survivors.size());
    const int64_t inside = named.is_left ? c : m - c;
    const double score = depth.score(induced, depth.depth_of(named.weight, named.weight, inside, 0));
    if (score > limit()) return;
    const auto mine = std::tie(score, induced);
    const auto known = std::tie(best.score, best.induced);
    const bool is_later = named < best.named ? false : best.named < named || mask >= best.mask;
    const bool is_worse = !best.is_none() && (known < mine || (known == mine && is_later));
    if (is_worse && best.is_valid) return;
    const bool valid = is_valid(side, static_cast<size_t>(c), static_cast<size_t>(m - c));
    if (!best.is_none() && (valid == best.is_valid ? is_worse : !valid)) return;
    best = {valid, score, induced, std::move(named), mask, levels_of(side)};
  }

  bool may_win(const Candidate &cut) const {
    return cut.score <= limit() && (depth.penalty == 0.0 || bound(cut.induced, cut.mask, on_left[cut.mask],
                                                                  on_left[cut.mask] + tied[cut.mask]) <= limit());
  }

  FoundModes run() {
    depths.emplace(depth, kDepthShares);
    std::vector<Candidate> found;
    if (sums) {
      add_up_by_group();
      found = candidates();
      if (found.empty()) return std::nullopt;
    }
    if (width == 1) weight = level_weights(of.codes, of.numbers, of.n, of.weights, static_cast<int64_t>(weight.size()));
    for (size_t v = 0; v < weight.size(); ++v)
      if (modes.group_of_level[v] >= 0) held_by[modes.group_of_level[v]] += weight[v];
    if (sums && try_by_rows(std::move(found))) return result();
    add_shares();
    found = candidates();
    std::sort(found.begin(), found.end());
    for (const Candidate &cut : found)
      if (may_win(cut)) evaluate(cut);
    return result();
  }

  // The lowest bounds first, each partition in all rows, as long as that is less work than what the rows say of all; whether
  // none is left that may win.
  bool try_by_rows(std::vector<Candidate> found) {
    const auto n = static_cast<double>(of.n), n_levels = static_cast<double>(weight.size());
    const double q = modes.n_groups, n_sets = std::ldexp(1.0, modes.n_groups);
    double left =
        n * (static_cast<double>(k) + q * q / 4) / 2 + n_levels * n_sets * (q / 16 + 1);  // half of that, in nanoseconds
    for (Candidate &cut : found) {
      if (depth.penalty == 0.0) break;
      int64_t low = 0, high = depth.points;
      for (int32_t g = 0; g < modes.n_groups; ++g)
        (modes.is_left(cut.mask, g) ? low : high) += modes.is_left(cut.mask, g) ? held_by[g] : -held_by[g];
      cut.least_depth = least_depth(cut.mask, low, high);
      cut.score = depth.score(cut.induced, cut.least_depth);
    }
    const auto is_after = [](const Candidate &a, const Candidate &b) { return b < a; };
    std::make_heap(found.begin(), found.end(), is_after);
    for (; !found.empty() && found.front().score <= limit(); found.pop_back()) {
      if (left < 0.0) return false;
      std::pop_heap(found.begin(), found.end(), is_after);
      left -= depth.penalty == 0.0 ? 0.0 : 40 * n_levels;
      if (depth.penalty != 0.0 && !may_win_with_some_weight(found.back())) continue;
      looked_at = 0;
      evaluate(found.back());
      left -= 8.0 * static_cast<double>(looked_at);
    }
    return true;
  }

  FoundModes result() const {
    return best.is_none() ? std::nullopt : FoundModes{{best.is_valid, best.score, best.induced, best.levels}};
  }
};

std::vector<int64_t> copied(const In1<int64_t> &values) { return {values.data(), values.data() + values.size()}; }

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_modes(nb::module_ &m) {
  m.def(
      "may_separate",
      [](const std::vector<const Levels *> &levels, In3<int64_t> histogram, In1<int32_t> survivors, In2<int32_t> modes,
         int64_t most) {
        const auto k = static_cast<int64_t>(histogram.shape(1)), width = static_cast<int64_t>(histogram.shape(2));
        const std::vector<int32_t> clusters = survivors_of(survivors, k);
        require(has_shape(modes, levels.size(), k), "every category has modes");
        NewArray<bool, 1> found(levels.size());
        std::vector<int32_t> own(clusters.size());
        for (size_t j = 0; j < levels.size(); ++j) {
          for (size_t s = 0; s < own.size(); ++s) own[s] = modes(j, clusters[s]);
          const auto n_levels = static_cast<size_t>(levels[j]->size());
          const ModeGroups groups(clusters, own.data(), std::vector<int64_t>(n_levels, 0));
          const std::vector<int64_t> sums = levels[j]->sums(histogram);
          const auto by_group =
              sums_by_group(groups, n_levels, [&](int64_t v, int32_t c) { return sums[(v * k + c) * width]; });
          bool &may = found.data()[j] = false;
          groups.each(
              by_group, n_levels, [&](int64_t sum) { return !may && sum <= most; }, [&](uint32_t, int64_t) { may = true; });
        }
        return found.to_numpy();
      },
      "levels"_a, "histogram"_a, "survivors"_a, "modes"_a, "most"_a,
      R"(Whether sets of levels may separate no more than so much from the modes of the centers: one answer a category.

histogram (n_slots, k, width): its first numbers count. modes (n_categories, k): the level of each center.)");
  m.def(
      "fewest_mode_mistakes",
      [](In2<int64_t> held, In1<int64_t> weight, In1<int32_t> survivors, In1<int32_t> modes, std::optional<In2<int64_t>> costs,
         std::optional<In1<int64_t>> counts, const Limits *limits) -> FoundMistakes {
        const int64_t k = static_cast<int64_t>(held.shape(1));
        require(!limits || (counts && counts->size() == held.shape(0)), "with limits there is one count a level");
        require(weight.size() == held.shape(0), "one weight a level");
        require(!costs || (costs->shape(0) == held.shape(0) && costs->shape(1) == held.shape(1)), "costs is like held");
        const std::vector<int64_t> of_level = copied(weight);
        const ModeGroups groups(survivors, k, modes, of_level);
        nb::gil_scoped_release release;
        return fewest_mistakes(groups, held.data(), costs ? costs->data() : nullptr, k, of_level, limits,
                               counts ? counts->data() : nullptr);
      },
      "held"_a, "weight"_a, "survivors"_a, "modes"_a, "costs"_a.none() = nb::none(), "counts"_a.none() = nb::none(),
      "limits"_a.none() = nb::none(),
      R"(The levels against all others that separate the fewest rows from the modes of their centers.

held (n_levels, k): weight of the node's rows by level and surviving cluster; weight (n_levels,): of all its rows. modes: the level of
each survivor's center. costs (n_levels, k): of the node's rows; of equals, sides served by their best survivor cost least.
Gives (mistakes, cost of the sides, levels of the left side, how many partitions separate so few), or None when no allowed partition has modes on both sides.)");
  auto for_states = [&](auto of_type, const char *doc) {
    using State = decltype(of_type);
    using Cost = typename State::Cost;
    m.def(
        "least_induced_modes",
        [](const Matrix &matrix, In1<int32_t> rows, In1<int32_t> codes, In2<Cost> excess, const Weights &weights,
           int64_t n_levels, std::optional<In3<int64_t>> sums, In1<int32_t> survivors, In1<int32_t> modes,
           In2<int64_t> nearest_costs, double penalty, bool kills_left, bool kills_right, std::optional<double> known_score,
           std::optional<In1<int64_t>> counts, const Limits *limits,
           std::optional<In2<typename State::Word>> states) -> FoundModes {
          const int64_t k = static_cast<int64_t>(excess.shape(1));
          require(has_shape(states, matrix.n_rows(), State::width()), "states has one line per row");
          require(static_cast<int64_t>(excess.shape(0)) == matrix.n_rows() && codes.size() == excess.shape(0),
                  "costs and codes have one line per row");
          const int64_t *row_weights = checked(weights, matrix.n_rows()), n = static_cast<int64_t>(rows.size());
          require(!sums || (static_cast<int64_t>(sums->shape(0)) == n_levels && static_cast<int64_t>(sums->shape(1)) == k),
                  "sums is of shape (n_levels, k, 1 or 2)");
          const int64_t width = sums ? static_cast<int64_t>(sums->shape(2)) : 1;
          const int64_t *sum = sums ? sums->data() : nullptr;
          require(!limits || (counts && static_cast<int64_t>(counts->size()) == n_levels),
                  "with limits there is one count a level");
          // Weights settle ties, and which modes share a group where there are too many: most columns need none.
          std::vector<int64_t> of_level(n_levels, 0);
          for (int64_t v = 0; v < n_levels && width == 2; ++v)
            for (size_t s = 0; s < survivors.size(); ++s) of_level[v] += sum[(v * k + survivors(s)) * 2 + 1];
          if (width == 1 && modes.size() > kMostGroups)
            of_level = level_weights(codes.data(), rows.data(), n, row_weights, n_levels);
          const ModeGroups groups(survivors, k, modes, of_level);
          if (groups.n_groups < 2) return std::nullopt;
          int64_t current = 0;
          for (int32_t c : groups.survivors) current += nearest_costs(c, 0) + nearest_costs(c, 1);
          int64_t points = n;
          for (int64_t i = 0; i < n && row_weights; ++i) points += row_weights[rows(i)] - 1;
          const uint8_t kills[2] = {kills_left, kills_right};
          const DepthScore depth{current, points, static_cast<int64_t>(groups.survivors.size()), penalty, kills, kills + 1};
          nb::gil_scoped_release release;
          InducedModes<State> search{groups,
                                     depth,
                                     of_level,
                                     k,
                                     sum,
                                     width,
                                     limits,
                                     counts ? counts->data() : nullptr,
                                     known_score.value_or(std::numeric_limits<double>::infinity())};
          search.of = {&matrix,
                       rows.data(),
                       codes.data(),
                       n,
                       excess.data(),
                       row_weights,
                       states ? reinterpret_cast<const State *>(states->data()) : nullptr};
          return search.run();
        },
        "matrix"_a, "rows"_a, "codes"_a, "excess"_a.noconvert(), "weights"_a.none(), "n_levels"_a, "sums"_a.none(),
        "survivors"_a, "modes"_a, "nearest_costs"_a, "penalty"_a, "kills_left"_a, "kills_right"_a,
        "known_score"_a.none() = nb::none(), "counts"_a.none() = nb::none(), "limits"_a.none() = nb::none(),
        "states"_a.noconvert().none() = nb::none(), doc);
  };
  for_states(SmallState{},
             R"(The levels against all others of least Price + penalty * DExp, centers on the sides of their modes.

codes (n_rows,): level of every row; sums (n_levels, k, 1 or 2): what the node's rows lose without their nearest survivor, and
their weight, by level and it; None: worked out from the costs. Other arguments as in fewest_mode_mistakes and best_induced_cut. known_score: of a valid cut;
nothing worse is wanted. states: as in best_induced_cut, of the centers that survive; None: worked out. Gives (whether each side has as many distinct rows as centers, score, induced cost, levels of the
left side).)");
  for_states(MiddleState{}, "");
  for_states(LargeState{}, "");
  auto for_shares = [&](auto of_type, const char *doc) {
    using State = decltype(of_type);
    using Cost = typename State::Cost;
    m.def(
        "mode_shares",
        [](In1<int32_t> codes, In2<Cost> excess, In1<int64_t> weight, In1<int32_t> survivors, In1<int32_t> modes) {
          const auto n = static_cast<int64_t>(codes.size()), k = static_cast<int64_t>(excess.shape(1));
          const std::vector<int64_t> of_level = copied(weight);
          require(excess.shape(0) == codes.size(), "one line a row");
          for (size_t i = 0; i < codes.size(); ++i)
            require(codes(i) >= 0 && codes(i) < static_cast<int32_t>(of_level.size()), "codes are levels");
          const ModeGroups groups(survivors, k, modes, of_level);
          std::vector<int32_t> rows(codes.size()), level;
          std::iota(rows.begin(), rows.end(), 0);
          std::vector<uint64_t> of_groups;
          std::vector<int64_t> loss;
          {
            nb::gil_scoped_release release;
            const DepthScore none;
            InducedModes<State> found{groups, none, of_level, k};
            found.of = {nullptr, rows.data(), codes.data(), n, excess.data()};
            found.add_shares(false);
            for (const auto &share : found.shares) {
              level.push_back(share.level);
              of_groups.push_back(share.groups);
              loss.push_back(share.loss);
            }
          }
          return std::make_tuple(to_numpy(std::move(level)), to_numpy(std::move(of_groups)), to_numpy(std::move(loss)));
        },
        "codes"_a, "excess"_a.noconvert(), "weight"_a, "survivors"_a, "modes"_a, doc);
  };
  for_shares(
      SmallState{},
      R"(What a batch of rows loses by level and the centers nearest to it: those of batches add up for least_modes_by_shares.

codes (n,): level of every row; excess (n, k); weight (n_levels,): of the node's rows. Gives (level, centers' groups, loss), each once.)");
  for_shares(LargeState{}, "");
  m.def(
      "least_modes_by_shares",
      [](In1<int32_t> level, In1<uint64_t> of_groups, In1<int64_t> loss, In1<int64_t> weight, In1<int64_t> distinct,
         In1<int32_t> survivors, In1<int32_t> modes, int64_t k, int64_t current, double penalty, bool kills_left,
         bool kills_right, std::optional<double> known_score, std::optional<In1<int64_t>> counts,
         const Limits *limits) -> FoundModes {
        const std::vector<int64_t> of_level = copied(weight);
        require(of_groups.size() == level.size() && loss.size() == level.size(), "a share has a level, groups and a loss");
        require(distinct.size() == weight.size(), "one count of different rows a level");
        require(!limits || (counts && counts->size() == weight.size()), "with limits there is one count a level");
        const ModeGroups groups(survivors, k, modes, of_level);
        if (groups.n_groups < 2) return std::nullopt;
        const uint8_t kills[2] = {kills_left, kills_right};
        const int64_t points = std::accumulate(of_level.begin(), of_level.end(), int64_t{0});
        const DepthScore depth{current, points, static_cast<int64_t>(groups.survivors.size()), penalty, kills, kills + 1};
        InducedModes<SmallState> search{groups,
                                        depth,
                                        of_level,
                                        k,
                                        nullptr,
                                        2,
                                        limits,
                                        counts ? counts->data() : nullptr,
                                        known_score.value_or(std::numeric_limits<double>::infinity()),
                                        distinct.data()};
        for (size_t i = 0; i < level.size(); ++i) {
          require(level(i) >= 0 && level(i) < static_cast<int32_t>(of_level.size()) && of_groups(i) >> groups.n_groups == 0,
                  "shares are of levels and groups");
          search.shares.push_back({level(i), static_cast<uint32_t>(of_groups(i)), loss(i)});
        }
        return search.run();
      },
      "level"_a, "groups"_a, "loss"_a, "weight"_a, "distinct"_a, "survivors"_a, "modes"_a, "k"_a, "current"_a, "penalty"_a,
      "kills_left"_a, "kills_right"_a, "known_score"_a.none(), "counts"_a.none(), "limits"_a.none(),
      R"(What least_induced_modes gives, by the shares of all rows of a node, (n,) each.

weight, distinct (n_levels,): of the rows of every level, and how many different ones there are. current: what all cost.)");
}
