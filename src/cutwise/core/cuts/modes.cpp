// Cuts by sets of levels for the criteria that separate centers: IMM's mistakes and the induced cost. A center is on the side
// of its mode, which is the most frequent level of its cluster; a level that is no center's mode goes to the cheaper side.
//
// The search enumerates the partitions of the modes into two sides. The cost of a partition is a sum over levels: for mistakes
// of the separated rows, for the induced cost of the losses of rows whose nearest groups of modes are on the other side.
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"
#include "base/simd.hpp"
#include "cuts/depth.hpp"
#include "cuts/level_sets.hpp"
#include "nodes/levels.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

constexpr int32_t kMostGroups = 16;

// The surviving centers of a node in groups, one per mode. Where there are more modes than kMostGroups, the lightest share one.
struct ModeGroups {
  std::vector<int32_t> group;           // of each survivor
  std::vector<int32_t> group_of_level;  // -1: no center's mode
  int32_t n_groups = 0;
  bool is_whole = true;  // no group has several modes

  // modes: the level of each survivor. weight: the weight of every level. parts: of each survivor; a part is one group.
  ModeGroups(std::vector<int32_t> modes, const std::vector<int64_t> &weight,
             const std::optional<In1<int32_t>> &parts = std::nullopt)
      : group(modes.size()), group_of_level(weight.size(), -1) {
    const std::vector<int32_t> mode = modes;
    for (const int32_t level : modes) require(level >= 0 && level < static_cast<int32_t>(weight.size()), "modes are levels");
    std::sort(modes.begin(), modes.end());
    modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
    std::stable_sort(modes.begin(), modes.end(), [&](int32_t a, int32_t b) { return weight[a] > weight[b]; });
    for (size_t i = 0; i < modes.size(); ++i) group_of_level[modes[i]] = std::min(static_cast<int32_t>(i), kMostGroups - 1);
    n_groups = std::min(static_cast<int32_t>(modes.size()), kMostGroups);
    is_whole = modes.size() <= kMostGroups;
    for (size_t s = 0; s < group.size(); ++s) group[s] = group_of_level[mode[s]];
    if (parts && parts->size() > 0 && (*parts)(0) >= 0) merge(copied(*parts));
  }

  // Merges the groups of every part. They are in the order of their last group, so that masks of partitions stay in order.
  void merge(const std::vector<int32_t> &part) {
    std::vector<int32_t> last(part.size(), -1), number(n_groups);
    for (size_t s = 0; s < part.size(); ++s) {
      require(part.size() == group.size() && part[s] >= 0 && part[s] < static_cast<int32_t>(part.size()),
              "survivors have parts");
      last[part[s]] = std::max(last[part[s]], group[s]);
    }
    last.erase(std::remove(last.begin(), last.end(), -1), last.end());
    for (size_t s = 0; s < part.size(); ++s)
      number[group[s]] =
          static_cast<int32_t>(std::count_if(last.begin(), last.end(), [&](int32_t g) { return g < last[part[s]]; }));
    for (int32_t &g : group) g = number[g];
    for (int32_t &g : group_of_level) g = g < 0 ? -1 : number[g];
    n_groups = static_cast<int32_t>(last.size());
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

// Enumerates the partitions of the groups, with the last group always on the right, that lose at most `most`, by branch and
// bound; visits may lower that limit.
class Partitions {
 public:
  // by_group (n_groups, n_levels): what the rows of a level and a group lose at least where these are on different sides.
  Partitions(const ModeGroups &modes, std::vector<int64_t> by_group, int64_t limit)
      : most(limit),
        n_groups_(modes.n_groups),
        n_levels_(modes.group_of_level.size()),
        lost_(std::move(by_group)),
        on_side_(2 * n_groups_ * n_levels_, 0) {
    for (size_t v = 0; v < n_levels_; ++v)  // a mode's level is on the side of its group
      if (modes.group_of_level[v] >= 0) lost_[modes.group_of_level[v] * n_levels_ + v] = kNever;
    if (n_groups_ > 1) std::copy_n(lost_.data() + (n_groups_ - 1) * n_levels_, n_levels_, losses(0, true));
  }

  int64_t most;

  // The losses of every level on a side of the partition that is visited.
  const int64_t *losses(bool is_left) { return losses(n_groups_ - 1, is_left); }

  // Calls visit(mask, loss) for every such partition.
  template <class Visit>
  void each(Visit &&visit) {
    if (n_groups_ > 1) place(0, 0, visit);
  }

 private:
  // More than any sum of losses, and twice that is no overflow.
  static constexpr int64_t kNever = int64_t{1} << 61;

  // Gives the groups from g on each side.
  template <class Visit>
  void place(int32_t g, uint32_t mask, Visit &visit) {
    if (g == n_groups_ - 1) {
      if (mask != 0) visit(mask, least(g));
      return;
    }
    for (const bool is_left : {true, false}) {
      for (const bool side : {true, false})
        add_levels(losses(g + 1, side), losses(g, side), side == is_left ? nullptr : lost_.data() + g * n_levels_, n_levels_);
      if (least(g + 1) <= most) place(g + 1, mask | static_cast<uint32_t>(is_left) << g, visit);
    }
  }

  // The losses of every level on a side by the first g groups and the last.
  int64_t *losses(int32_t g, bool is_left) { return on_side_.data() + (2 * g + is_left) * n_levels_; }
  int64_t least(int32_t g) { return cheaper_sides(losses(g, true), losses(g, false), n_levels_); }

  CUTWISE_CLONES static void add_levels(int64_t *to, const int64_t *from, const int64_t *more, size_t n) {
    for (size_t v = 0; v < n; ++v) to[v] = from[v] + (more ? more[v] : 0);
  }
  CUTWISE_CLONES static int64_t cheaper_sides(const int64_t *left, const int64_t *right, size_t n) {
    int64_t sum = 0;
    for (size_t v = 0; v < n; ++v) sum += std::min(left[v], right[v]);
    return sum;
  }

  int32_t n_groups_;
  size_t n_levels_;
  std::vector<int64_t> lost_, on_side_;
};

// The levels on the left side.
std::vector<int32_t> levels_of(const std::vector<uint8_t> &side) {
  std::vector<int32_t> levels;
  for (size_t v = 0; v < side.size(); ++v)
    if (side[v]) levels.push_back(static_cast<int32_t>(v));
  return levels;
}

using FoundMistakes = std::optional<std::tuple<int64_t, int64_t, std::vector<int32_t>, size_t>>;

// Sums by group and level, (n_groups, n_levels), from the first of `width` sums by level and cluster, (n_levels, k, width).
std::vector<int64_t> sums_by_group(const ModeGroups &modes, const std::vector<int32_t> &survivors, const int64_t *sums,
                                   int64_t k, int64_t width = 1) {
  const size_t n_levels = modes.group_of_level.size();
  std::vector<int64_t> by_group(modes.n_groups * n_levels, 0);
  for (size_t v = 0; v < n_levels; ++v)
    for (size_t s = 0; s < modes.group.size(); ++s)
      by_group[modes.group[s] * n_levels + v] += sums[(static_cast<int64_t>(v) * k + survivors[s]) * width];
  return by_group;
}

// Adds to every level what it costs on the left and on the right: the losses of the groups on the other side.
void add_losses(const ModeGroups &modes, uint32_t mask, const std::vector<int64_t> &by_group, std::vector<int64_t> &left,
                std::vector<int64_t> &right) {
  for (int32_t g = 0; g < modes.n_groups; ++g)
    for (size_t v = 0; v < left.size(); ++v) (modes.is_left(mask, g) ? right : left)[v] += by_group[g * left.size() + v];
}

FoundMistakes fewest_mistakes(const ModeGroups &modes, const std::vector<int32_t> &survivors, const int64_t *sums,
                              const int64_t *costs, int64_t k, const std::vector<int64_t> &weight, const NodeLimits *limits,
                              const int64_t *counts) {
  const size_t n_levels = weight.size();
  const std::vector<int64_t> by_group = sums_by_group(modes, survivors, sums, k);
  std::vector<uint32_t> tied;
  std::vector<int64_t> left(n_levels), right(n_levels);
  const auto sides_of = [&](uint32_t mask) {
    std::fill(left.begin(), left.end(), int64_t{0});
    std::fill(right.begin(), right.end(), int64_t{0});
    add_losses(modes, mask, by_group, left, right);
    return modes.sides(mask, left, right, weight);
  };
  Partitions partitions(modes, by_group, kNone);
  partitions.each([&](uint32_t mask, int64_t mistakes) {
    if (limits && !modes.are_allowed(mask, sides_of(mask), limits, counts)) return;
    if (mistakes < partitions.most) tied.clear();
    tied.push_back(mask);
    partitions.most = mistakes;
  });
  if (tied.empty()) return std::nullopt;
  // Partitions that differ only in levels without rows are equal below; the first in the order of a Gray code is taken.
  const auto gray_rank = [](uint32_t mask) {
    for (uint32_t rest = mask >> 1; rest != 0; rest >>= 1) mask ^= rest;
    return mask;
  };
  std::sort(tied.begin(), tied.end(), [&](uint32_t a, uint32_t b) { return gray_rank(a) < gray_rank(b); });
  int64_t best_second = kNone;
  NamedSide best_named;
  std::vector<int32_t> best_levels;
  for (uint32_t mask : tied) {
    const std::vector<uint8_t> side = sides_of(mask);
    int64_t second = 0;
    if (costs) {
      int64_t of_side[2] = {kNone, kNone};
      for (size_t s = 0; s < survivors.size(); ++s) {
        const bool is_left = modes.is_left(mask, modes.group[s]);
        int64_t sum = 0;
        for (size_t v = 0; v < n_levels; ++v)
          if ((side[v] != 0) == is_left) sum += costs[static_cast<int64_t>(v) * k + survivors[s]];
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
  return std::make_tuple(partitions.most, best_second, best_levels, tied.size());
}

// What the rows of a level lose further when not only the nearest groups of a smaller set but all groups of `groups` are on the
// other side. A row whose groups are a, b, c in order of cost has the shares {a}: cost of b - cost of a, and {a, b}: cost of c
// - cost of b. The loss on a side is the sum of the shares whose groups are all on the other side.
struct Share {
  int32_t level;
  uint32_t groups;
  int64_t loss;
};

constexpr int64_t kMostCells = 1 << 20;  // cells of level and set of groups that are summed at once

// Some rows whose groups are sorted by cost, all rows at once and without branches, as costs are in no order.
template <class Cost>
struct SortedGroups {
  static constexpr size_t kRows = 32;
  Cost cost[kMostGroups][kRows] = {}, groups[kMostGroups][kRows] = {};  // the bits of a group and of those before it
  size_t cell[kRows] = {}, n = 0;                                       // of the rows' levels

  CUTWISE_CLONES void sort(int n_groups) {
    for (int g = 0; g < n_groups; ++g)
      for (size_t r = 0; r < kRows; ++r) groups[g][r] = Cost{1} << g;
    for (int end = 1; end < n_groups; ++end)
      for (int g = end; g > 0; --g)
        for (size_t r = 0; r < kRows; ++r) {
          const Cost swaps = -static_cast<Cost>(cost[g][r] < cost[g - 1][r]);
          const Cost by = (cost[g][r] ^ cost[g - 1][r]) & swaps, of = (groups[g][r] ^ groups[g - 1][r]) & swaps;
          cost[g][r] ^= by, cost[g - 1][r] ^= by;
          groups[g][r] ^= of, groups[g - 1][r] ^= of;
        }
    for (int g = 1; g < n_groups; ++g)
      for (size_t r = 0; r < kRows; ++r) groups[g][r] |= groups[g - 1][r];
  }
};

// The levels, groups and losses of the shares of some rows of excess, (n_rows, k), by level. codes: the level of each of the
// rows.
template <class Cost>
auto shares_of(const ModeGroups &modes, const std::vector<int32_t> &survivors, const In1<int32_t> &codes,
               const In1<int32_t> &rows, const In2<Cost> &excess) {
  const auto q = static_cast<size_t>(modes.n_groups), n_levels = modes.group_of_level.size();
  const size_t at_once = std::min<size_t>(n_levels, kMostCells >> q);
  std::tuple<std::vector<int32_t>, std::vector<uint64_t>, std::vector<int64_t>> shares;
  std::vector<int64_t> cells(at_once << q, 0);
  std::vector<std::vector<size_t>> filled(at_once);  // by level: few, where there are many sets
  std::vector<int32_t> by_group;  // the survivors in order of their groups, which are read one after the other
  std::vector<size_t> end_of_group;
  for (int32_t g = 0; g < modes.n_groups; end_of_group.push_back(by_group.size()), ++g)
    for (size_t s = 0; s < survivors.size(); ++s)
      if (modes.group[s] == g) by_group.push_back(survivors[s]);
  SortedGroups<Cost> sorted;
  const auto add_sorted = [&] {
    sorted.sort(modes.n_groups);
    for (size_t r = 0; r < sorted.n; ++r)
      for (size_t g = 0; g + 1 < q; ++g) {
        const int64_t more = sorted.cost[g + 1][r] - sorted.cost[g][r];
        const size_t cell = sorted.cell[r] | static_cast<size_t>(sorted.groups[g][r]);
        if (more != 0 && cells[cell] == 0) filled[cell >> q].push_back(cell);
        cells[cell] += more;
      }
    sorted.n = 0;
  };
  for (size_t begin = 0; begin < n_levels; begin += at_once) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t level = static_cast<size_t>(codes(i)) - begin;
      if (level >= at_once) continue;
      const Cost *cost = excess.data() + static_cast<int64_t>(rows(i)) * static_cast<int64_t>(excess.shape(1));
      Cost least[1 + kMostGroups], nearest = std::numeric_limits<Cost>::max();  // the first for levels without a group
      least[0] = nearest;
      for (size_t g = 0, s = 0; g < q; ++g) {
        Cost of_group = std::numeric_limits<Cost>::max();
        for (; s < end_of_group[g]; ++s) of_group = std::min(of_group, cost[by_group[s]]);
        least[1 + g] = of_group;
        nearest = std::min(nearest, of_group);
      }
      for (size_t g = 0; g < q; ++g) sorted.cost[g][sorted.n] = least[1 + g];
      sorted.cell[sorted.n] = level << q;
      // A mode's level is always on the side of its group.
      sorted.n += least[1 + modes.group_of_level[codes(i)]] == nearest ? 0 : 1;
      if (sorted.n == sorted.kRows) add_sorted();
    }
    add_sorted();
    for (size_t level = 0; level < at_once; ++level) {
      for (const size_t cell : filled[level]) {
        std::get<0>(shares).push_back(static_cast<int32_t>(begin + level));
        std::get<1>(shares).push_back(cell & ((size_t{1} << q) - 1));
        std::get<2>(shares).push_back(std::exchange(cells[cell], 0));
      }
      filled[level].clear();
    }
  }
  return shares;
}

// Replaces the number of every set of groups by the sum over its subsets.
CUTWISE_CLONES void add_subsets(int64_t *sums, size_t n_groups) {
  for (size_t half = 1; half < size_t{1} << n_groups; half *= 2)
    for (size_t begin = half; begin < size_t{1} << n_groups; begin += 2 * half)
      for (size_t i = begin; i < begin + half; ++i) sums[i] += sums[i - half];
}

// Whether each side has as many distinct rows as centers, the score, the induced cost, the levels on the left.
using FoundModes = std::optional<std::tuple<bool, double, int64_t, std::vector<int32_t>>>;

// What rounding may add to a score.
double rounding_of(double score) { return 0x1p-40 * (std::abs(score) + 1.0); }

// The largest loss of a partition whose score may be at most `score`, in a node of the cost `current`.
int64_t most_loss(int64_t current, double score) {
  if (std::isinf(score)) return int64_t{1} << 60;
  return static_cast<int64_t>(std::clamp((score - 1.0 + rounding_of(score)) * static_cast<double>(current), -1.0, 0x1p60));
}

// The search for the partition of least induced cost and depth.
struct InducedModes {
  const ModeGroups &modes;
  const DepthScore &depth;
  const std::vector<Share> &shares;    // by level
  const std::vector<int64_t> &weight;  // of the rows of every level
  const int64_t *distinct;             // the number of distinct rows by level
  const NodeLimits *limits;
  const int64_t *counts;  // by level, for the limits
  double known_score;     // the score of a valid cut found before: worse cuts are not wanted

  struct Best {
    bool is_valid = false;
    double score = std::numeric_limits<double>::infinity();
    int64_t induced = kNone;
    NamedSide named;
    uint32_t mask = 0;
    std::vector<int32_t> levels;

    bool is_none() const { return levels.empty(); }
  } best{};

  // By the mask of the groups on the left: the induced cost of the partition minus the node's cost, the weight of the levels on
  // the left, and the weight of the levels that cost the same on both sides.
  std::vector<int64_t> lost{}, on_left{}, tied{};

  // Evaluates the partitions that may win by their cost, cheapest first.
  FoundModes run() {
    add_up();
    std::vector<uint32_t> masks;
    for (uint32_t mask = 1; mask < lost.size(); ++mask)
      if (depth.quick_bound(depth.current + lost[mask], 0, depth.points, 1, 0) <= limit()) masks.push_back(mask);
    std::sort(masks.begin(), masks.end(), [&](uint32_t a, uint32_t b) { return lost[a] < lost[b]; });
    for (const uint32_t mask : masks) {
      if (lost[mask] > most_loss(depth.current, limit())) break;
      if (least_score(mask) <= limit()) evaluate(mask);
    }
    if (best.is_none()) return std::nullopt;
    return std::make_tuple(best.is_valid, best.score, best.induced, best.levels);
  }

  void add_up() {
    const size_t n_sets = size_t{1} << modes.n_groups;
    for (auto *of_mask : {&lost, &on_left, &tied}) of_mask->assign(n_sets / 2, 0);
    std::vector<int64_t> of_set(n_sets);
    for (size_t level = 0, s = 0; level < weight.size(); ++level) {
      std::fill(of_set.begin(), of_set.end(), int64_t{0});
      for (; s < shares.size() && shares[s].level == static_cast<int32_t>(level); ++s)
        of_set[shares[s].groups] += shares[s].loss;
      if (weight[level] != 0) add_up_level(level, of_set);
    }
  }

  // of_set: the shares of the level by set of groups, which become its losses when all groups of the set are on the other side.
  void add_up_level(size_t level, std::vector<int64_t> &of_set) {
    add_subsets(of_set.data(), static_cast<size_t>(modes.n_groups));
    const int32_t own_group = modes.group_of_level[level];
    for (size_t mask = 0; mask < lost.size(); ++mask) {
      const int64_t left = of_set[of_set.size() - 1 - mask], right = of_set[mask];
      const bool is_left = own_group < 0 ? left < right : modes.is_left(static_cast<uint32_t>(mask), own_group);
      lost[mask] += is_left ? left : right;
      on_left[mask] += is_left ? weight[level] : 0;
      tied[mask] += own_group < 0 && left == right ? weight[level] : 0;
    }
  }

  // Scores above this are not wanted.
  double limit() const { return std::min(best.is_valid ? best.score : std::numeric_limits<double>::infinity(), known_score); }

  double least_score(uint32_t mask) const {
    const auto m = static_cast<int64_t>(modes.group.size()), c = static_cast<int64_t>(modes.centers_left(mask));
    const int64_t low = on_left[mask], high = low + tied[mask], induced = depth.current + lost[mask];
    const double of_left = depth.score(induced, depth.depth_of(low, high, c, 0));
    return std::min(of_left, depth.score(induced, depth.depth_of(depth.points - high, depth.points - low, m - c, 0)));
  }

  // Offers a partition to `best`.
  void evaluate(uint32_t mask) {
    std::vector<int64_t> left(weight.size(), 0), right(weight.size(), 0);  // losses of every level on that side
    for (const Share &share : shares) {
      if ((share.groups & mask) == 0) left[share.level] += share.loss;
      if ((share.groups & ~mask) == 0) right[share.level] += share.loss;
    }
    const std::vector<uint8_t> side = modes.sides(mask, left, right, weight);
    if (!modes.are_allowed(mask, side, limits, counts)) return;
    int64_t induced = depth.current, n_distinct[2] = {0, 0};
    for (size_t v = 0; v < side.size(); ++v) {
      induced += side[v] ? left[v] : right[v];
      n_distinct[side[v]] += distinct[v];  // rows of different levels are distinct
    }
    NamedSide named = NamedSide::of(side, weight);
    const int64_t c = static_cast<int64_t>(modes.centers_left(mask)), m = static_cast<int64_t>(modes.group.size());
    const int64_t inside = named.is_left ? c : m - c;
    const double score = depth.score(induced, depth.depth_of(named.weight, named.weight, inside, 0));
    if (score > limit()) return;
    const bool is_valid = n_distinct[1] >= c && n_distinct[0] >= m - c;
    const auto mine = std::tie(score, induced);
    const auto known = std::tie(best.score, best.induced);
    const bool is_later = named < best.named ? false : best.named < named || mask >= best.mask;
    const bool is_worse = known < mine || (known == mine && is_later);
    if (!best.is_none() && (is_valid == best.is_valid ? is_worse : !is_valid)) return;
    best = {is_valid, score, induced, std::move(named), mask, levels_of(side)};
  }
};

// For every category, the parts of the centers that are on one side in every partition that loses at most `most` and wins; the
// losses are the first numbers of the histogram, and weights the second. winner(category, its groups, its weights): gives
// wins(partition, loss, partitions). Weights decide which modes share a group where there are too many: without them the parts
// are unknown, -1.
template <class Winner>
auto parts_that_win(const std::vector<const Levels *> &levels, const In3<int64_t> &histogram, const In1<int32_t> &survivors,
                    const In2<int32_t> &modes, int64_t most, Winner &&winner) {
  const auto k = static_cast<int64_t>(histogram.shape(1)), width = static_cast<int64_t>(histogram.shape(2));
  const std::vector<int32_t> clusters = survivors_of(survivors, k);
  require(has_shape(modes, levels.size(), k), "every category has modes");
  NewArray<int32_t, 2> found(levels.size(), clusters.size());
  std::vector<int32_t> modes_of_survivors(clusters.size());
  for (size_t j = 0; j < levels.size(); ++j) {
    const std::vector<int64_t> sums = levels[j]->sums(histogram);
    std::vector<int64_t> weight(static_cast<size_t>(levels[j]->size()), 0);
    for (size_t v = 0; width == 2 && v < weight.size(); ++v)
      for (const int32_t c : clusters) weight[v] += sums[(static_cast<int64_t>(v) * k + c) * 2 + 1];
    for (size_t s = 0; s < clusters.size(); ++s) modes_of_survivors[s] = modes(j, clusters[s]);
    const ModeGroups groups(modes_of_survivors, weight);
    int32_t *part_of_center = found.data() + j * clusters.size();
    std::fill_n(part_of_center, clusters.size(), -1);
    if (!groups.is_whole && width == 1) continue;
    auto wins = winner(j, groups, weight);
    Partitions partitions(groups, sums_by_group(groups, clusters, sums.data(), k, width), most);
    int32_t part[kMostGroups] = {};
    partitions.each([&](uint32_t mask, int64_t loss) {
      if (!wins(mask, loss, partitions)) return;
      int32_t n_parts = 0, number[2 * kMostGroups];
      std::fill_n(number, 2 * kMostGroups, -1);
      for (int32_t g = 0; g < groups.n_groups; ++g) {
        int32_t &own = number[2 * part[g] + groups.is_left(mask, g)];
        part[g] = own < 0 ? own = n_parts++ : own;
      }
      if (n_parts == groups.n_groups) partitions.most = -1;
    });
    for (size_t s = 0; s < clusters.size(); ++s) part_of_center[s] = part[groups.group[s]];
  }
  return found.to_numpy();
}

auto may_separate(const std::vector<const Levels *> &levels, In3<int64_t> histogram, In1<int32_t> survivors, In2<int32_t> modes,
                  int64_t most) {
  return parts_that_win(levels, histogram, survivors, modes, most, [](auto &&...) { return [](auto &&...) { return true; }; });
}

constexpr int64_t kPieces = 32;            // of the points of a node, for bounds on the depth
constexpr int64_t kMostRelaxed = 1 << 15;  // levels in relaxations for a category: beyond, a search is no slower

// Whether a partition of a category's modes may be that of a set of levels of at most a known score.
struct MayInduce {
  static constexpr int64_t kUnknown = -2;

  const ModeGroups &groups;
  const std::vector<int64_t> &weight;  // of every level
  DepthScore score;
  int32_t column;
  double known;  // the known score, rounded up
  int64_t piece_size = score.points / kPieces + 1;
  std::vector<int64_t> most = std::vector<int64_t>(groups.group.size() * (kPieces + 1), kUnknown);  // by centers left, piece
  int64_t n_relaxed = 0;
  std::vector<std::pair<double, size_t>> unsure{};  // a level, and what it loses more on the left per unit of its weight
  // Of the partition that is visited: losses of every level on each side, their least sum, and centers on the left.
  const int64_t *left = nullptr, *right = nullptr;
  int64_t loss = 0, n_left = 0;

  bool operator()(uint32_t mask, int64_t least_loss, Partitions &partitions) {
    if (score.penalty == 0.0) return true;
    left = partitions.losses(true);
    right = partitions.losses(false);
    loss = least_loss;
    n_left = static_cast<int64_t>(groups.centers_left(mask));
    // A level is surely on its cheaper side where the other one loses more than the slack. The more levels are sure, the
    // larger is the least depth, and the smaller the slack.
    int64_t low = 0, slack = most_loss(score.current, known) - loss;
    for (int64_t high = -1; slack >= 0; slack = slack_of(low, high)) {
      const int64_t low_before = std::exchange(low, 0), high_before = std::exchange(high, score.points);
      for (size_t v = 0; v < weight.size(); ++v) {
        low += right[v] - left[v] > slack ? weight[v] : 0;
        high -= left[v] - right[v] > slack ? weight[v] : 0;
      }
      if (low == low_before && high == high_before) break;
    }
    if (slack < 0 || (n_relaxed += static_cast<int64_t>(weight.size())) > kMostRelaxed) return slack >= 0;
    return relaxation_wins(low, slack);
  }

  // What sets of at most the known score, with n_left centers and between low and high points on the left, or named so, may
  // lose besides. By pieces of the points: the bound on the depth over a wide range together is weak.
  int64_t slack_of(int64_t low, int64_t high) {
    int64_t slack = -kNone;
    for (int64_t piece = low / piece_size; piece <= high / piece_size; ++piece) {
      int64_t &of_piece = most[n_left * (kPieces + 1) + piece];
      if (of_piece == kUnknown) {
        const int64_t from = piece * piece_size, to = std::min(from + piece_size, score.points);
        const int64_t least = std::min(score.depth_of(from, to, n_left, column),
                                       score.depth_of(score.points - to, score.points - from, score.centers - n_left, column));
        of_piece = most_loss(score.current, known + 1.0 - score.score(score.current, least));
      }
      slack = std::max(slack, of_piece - loss);
    }
    return slack;
  }

  // Sets of the levels that are not sure lose at least what the linear relaxation does, in which levels may be divided: from
  // none of them on the left to all, those come first that lose least by weight.
  bool relaxation_wins(int64_t low, int64_t slack) {
    unsure.clear();
    double lost = 0.0;
    for (size_t v = 0; v < weight.size(); ++v) {
      if (weight[v] == 0 || std::abs(left[v] - right[v]) > slack) continue;
      unsure.emplace_back(static_cast<double>(left[v] - right[v]) / static_cast<double>(weight[v]), v);
      lost += static_cast<double>(std::max<int64_t>(right[v] - left[v], 0));
    }
    std::sort(unsure.begin(), unsure.end());
    for (const auto &[loss_by_weight, level] : unsure)
      for (int64_t end = low + weight[level], next; low < end; low = next) {
        next = std::min(end, (low / piece_size + 1) * piece_size);
        const double before = std::exchange(lost, lost + loss_by_weight * static_cast<double>(next - low));
        // sums are rounded, losses integers
        if (std::min(before, lost) < static_cast<double>(slack_of(low, low)) + 1.0) return true;
      }
    return unsure.empty();
  }
};

auto may_induce(const std::vector<const Levels *> &levels, In3<int64_t> histogram, In1<int32_t> survivors, In2<int32_t> modes,
                In1<int32_t> columns, int64_t current, double penalty, In1<uint8_t> kills_left, In1<uint8_t> kills_right,
                double known_score) {
  require(penalty == 0.0 || histogram.shape(2) == 2, "with a depth penalty the histogram has weights");
  require(columns.size() == levels.size(), "every category has a column");
  const auto of_category = [&](size_t j, const ModeGroups &groups, const std::vector<int64_t> &weight) {
    const int64_t points = std::accumulate(weight.begin(), weight.end(), int64_t{0});
    const auto n_centers = static_cast<int64_t>(groups.group.size());
    const DepthScore score{current, points, n_centers, penalty, kills_left.data(), kills_right.data()};
    return MayInduce{groups, weight, score, columns(j), known_score + rounding_of(known_score)};
  };
  return parts_that_win(levels, histogram, survivors, modes, most_loss(current, known_score), of_category);
}

FoundMistakes fewest_mode_mistakes(In2<int64_t> sums, In1<int64_t> weight, In1<int32_t> survivors, In1<int32_t> modes,
                                   std::optional<In2<int64_t>> costs, std::optional<In1<int64_t>> counts,
                                   const NodeLimits *limits) {
  const int64_t k = static_cast<int64_t>(sums.shape(1));
  require(!limits || (counts && counts->size() == sums.shape(0)), "with limits there is one count a level");
  require(weight.size() == sums.shape(0) && modes.size() == survivors.size(), "one weight a level, one mode a survivor");
  require(!costs || (costs->shape(0) == sums.shape(0) && costs->shape(1) == sums.shape(1)), "costs is like sums");
  const std::vector<int64_t> of_level = copied(weight);
  const ModeGroups groups(copied(modes), of_level);
  const std::vector<int32_t> clusters = survivors_of(survivors, k);
  const GilRelease release;
  return fewest_mistakes(groups, clusters, sums.data(), data_or_null(costs), k, of_level, limits, data_or_null(counts));
}

template <class Cost>
auto mode_shares(In1<int32_t> codes, In1<int32_t> rows, In2<Cost> excess, In1<int64_t> weight, In1<int32_t> survivors,
                 In1<int32_t> modes, std::optional<In1<int32_t>> parts) {
  require(codes.size() == rows.size() && modes.size() == survivors.size(), "one code a row, one mode a survivor");
  for (size_t i = 0; i < codes.size(); ++i)
    require(codes(i) >= 0 && codes(i) < static_cast<int32_t>(weight.size()) && rows(i) >= 0 &&
                rows(i) < static_cast<int64_t>(excess.shape(0)),
            "codes are levels, and rows have costs");
  const std::vector<int32_t> clusters = survivors_of(survivors, static_cast<int64_t>(excess.shape(1)));
  const ModeGroups groups(copied(modes), copied(weight), parts);
  auto [level, sets, loss] = without_gil([&] { return shares_of(groups, clusters, codes, rows, excess); });
  return std::make_tuple(to_numpy(std::move(level)), to_numpy(std::move(sets)), to_numpy(std::move(loss)));
}

// By level the number of distinct rows among the given ones, up to `most`.
auto distinct_by_level(const Matrix &matrix, In1<int32_t> rows, In1<int32_t> codes, int64_t n_levels, int64_t most) {
  require(codes.size() == rows.size(), "one code a row");
  std::vector<int64_t> n_distinct(n_levels, 0);
  without_gil([&] {
    matrix.visit([&](auto values) {
      DistinctRows found(values, 64);
      for (size_t i = 0; i < rows.size(); ++i) {
        require(codes(i) >= 0 && codes(i) < n_levels && rows(i) >= 0 && rows(i) < matrix.n_rows(), "codes are levels of rows");
        int64_t &count = n_distinct[codes(i)];
        if (count == most) continue;
        const size_t before = found.size();
        found.add(rows(i));
        count += found.size() > before;
      }
    });
  });
  return to_numpy(std::move(n_distinct));
}

FoundModes least_induced_modes(In1<int32_t> level, In1<uint64_t> of_groups, In1<int64_t> loss, In1<int64_t> weight,
                               In1<int64_t> distinct, In1<int32_t> modes, int64_t current, double penalty, bool kills_left,
                               bool kills_right, std::optional<double> known_score, std::optional<In1<int64_t>> counts,
                               const NodeLimits *limits, std::optional<In1<int32_t>> parts) {
  const std::vector<int64_t> of_level = copied(weight);
  require(of_groups.size() == level.size() && loss.size() == level.size(), "a share has a level, groups and a loss");
  require(distinct.size() == weight.size(), "one count of distinct rows a level");
  require(!limits || (counts && counts->size() == weight.size()), "with limits there is one count a level");
  const ModeGroups groups(copied(modes), of_level, parts);
  if (groups.n_groups < 2) return std::nullopt;
  std::vector<Share> shares(level.size());
  for (size_t i = 0; i < level.size(); ++i) {
    require(level(i) >= 0 && level(i) < static_cast<int32_t>(of_level.size()) && of_groups(i) >> groups.n_groups == 0,
            "shares are of levels and groups");
    require(i == 0 || level(i - 1) <= level(i), "shares are in order of levels");
    shares[i] = {level(i), static_cast<uint32_t>(of_groups(i)), loss(i)};
  }
  const uint8_t kills[2] = {kills_left, kills_right};
  const int64_t points = std::accumulate(of_level.begin(), of_level.end(), int64_t{0});
  const DepthScore depth{current, points, static_cast<int64_t>(groups.group.size()), penalty, kills, kills + 1};
  InducedModes search{groups,
                      depth,
                      shares,
                      of_level,
                      distinct.data(),
                      limits,
                      data_or_null(counts),
                      known_score.value_or(std::numeric_limits<double>::infinity())};
  return without_gil([&] { return search.run(); });
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_modes(nb::module_ &m) {
  m.attr("MOST_MODE_GROUPS") = kMostGroups;
  m.def(
      "may_separate", &may_separate, "levels"_a, "histogram"_a, "survivors"_a, "modes"_a, "most"_a,
      R"(For every category, which centers are on one side in all sets of levels that may lose at most `most` by separating rows
from the modes of their centers.

histogram (n_slots, k, width): losses, in the first of the width numbers. modes (n_categories, k): the mode of each center.
Returns (n_categories, n_survivors): the number of every survivor's part; all 0 where no set loses so little, -1 if unknown.)");
  m.def("may_induce", &may_induce, "levels"_a, "histogram"_a, "survivors"_a, "modes"_a, "columns"_a, "current"_a, "penalty"_a,
        "kills_left"_a, "kills_right"_a, "known_score"_a,
        R"(For every category, which centers are on one side in all sets of levels that may have at most a known score.

histogram (n_slots, k, 1 or 2): losses, and weights where there is a penalty. columns: one encoded column of each category.
Returns (n_categories, n_survivors): the number of every survivor's part; all 0 where least_induced_modes finds no such set, -1
if that is unknown.)");
  m.def("fewest_mode_mistakes", &fewest_mode_mistakes, "sums"_a, "weight"_a, "survivors"_a, "modes"_a,
        "costs"_a.none() = nb::none(), "counts"_a.none() = nb::none(), "limits"_a.none() = nb::none(),
        R"(The set of levels, against all others, that separates the fewest rows from the modes of their centers.

sums (n_levels, k): weight of the node's rows by level and surviving cluster; weight (n_levels,): of all rows of the node. modes
(n_survivors,): the mode of each survivor. costs (n_levels, k) or None: summed costs of the node's rows. Among equal sets the one
wins whose sides cost least, each served by its best survivor. counts (n_levels,): for the limits. Returns (mistakes, cost of
the sides, levels of the left side, how many partitions have so few mistakes), or None when no allowed partition has modes on
both sides.)");
  for_types<int32_t, int64_t>(
      R"(The losses of rows by level and set of groups of centers, in order of levels; least_induced_modes takes those of all rows.

rows (n,): of excess (m, k). codes (n,): the level of each. weight (n_levels,): of the node's rows. parts
(n_survivors,) or None: of may_induce; a part is one group. Returns arrays (level, groups, loss): the loss when the nearest groups
of a row, those of the bit mask `groups`, are on the other side, beyond that of its smaller sets.)",
      [&](auto zero, const char *doc) {
        m.def("mode_shares", &mode_shares<decltype(zero)>, "codes"_a, "rows"_a, "excess"_a.noconvert(), "weight"_a,
              "survivors"_a, "modes"_a, "parts"_a.none() = nb::none(), doc);
      });
  m.def("distinct_by_level", &distinct_by_level, "matrix"_a, "rows"_a, "codes"_a, "n_levels"_a, "most"_a,
        "The number of distinct rows among the given rows by level, (n_levels,), counted up to `most`; codes: their levels.");
  m.def(
      "least_induced_modes", &least_induced_modes, "level"_a, "groups"_a, "loss"_a, "weight"_a, "distinct"_a, "modes"_a,
      "current"_a, "penalty"_a, "kills_left"_a, "kills_right"_a, "known_score"_a.none(), "counts"_a.none(), "limits"_a.none(),
      "parts"_a.none() = nb::none(),
      R"(The set of levels of one category, against its other levels, of least Price + penalty * DExp; centers are on their mode's side.

level, groups, loss, parts: of mode_shares. weight, distinct (n_levels,): weight and number of distinct rows of every level.
modes (n_survivors,): the mode of each survivor. current: the cost of the node. known_score: the score of a valid cut; worse ones
are not returned. Returns (whether each side has at least as many distinct rows as centers, score, induced cost, levels of the left
side), or None.)");
}
