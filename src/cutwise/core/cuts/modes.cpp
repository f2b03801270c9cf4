// Sets of levels for searches that separate centers: a center is on the side of its mode, the level most frequent in its
// cluster; levels that are nobody's mode go where they cost less.
//
// The partitions of the modes are enumerated. What one costs is a sum over levels: of what is separated for mistakes, and for
// induced cost of what rows lose without a set of modes, added up over its subsets.
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"
#include "base/simd.hpp"
#include "cuts/partitions.hpp"
#include "nodes/levels.hpp"

namespace cutwise {
namespace {

constexpr size_t kFewCandidates = 4;

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

FoundMistakes fewest_mistakes(const ModeGroups &modes, const int64_t *sums, const int64_t *costs, int64_t k,
                              const std::vector<int64_t> &weight, const NodeLimits *limits, const int64_t *counts) {
  const size_t n_levels = weight.size();
  const std::vector<int64_t> by_group = sums_by_group(modes, n_levels, [&](int64_t v, int32_t c) { return sums[v * k + c]; });
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
  const DepthPrices none;
  Partitions partitions(modes, by_group, {}, none, std::numeric_limits<double>::infinity());
  partitions.each([&](uint32_t mask, double mistakes) {  // weights add up exactly
    if (limits) {
      add_up_sides(mask);
      if (!modes.are_allowed(mask, modes.sides(mask, right, left, weight), limits, counts)) return;
    }
    if (static_cast<int64_t>(mistakes) < least) tied.clear();
    tied.push_back(mask);
    least = static_cast<int64_t>(mistakes);
    partitions.set_most(mistakes);
  });
  if (tied.empty()) return std::nullopt;
  // Those alike in all levels that have rows are settled by their place in a Gray code.
  const auto gray_rank = [](uint32_t mask) {
    for (uint32_t rest = mask >> 1; rest != 0; rest >>= 1) mask ^= rest;
    return mask;
  };
  std::sort(tied.begin(), tied.end(), [&](uint32_t a, uint32_t b) { return gray_rank(a) < gray_rank(b); });
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
          const Cost difference = cost[g][i] - cost[h][i];
          const bool is_after = difference >= 0;
          more[g][i] = is_after ? std::min(more[g][i], difference) : more[g][i];
          more[h][i] = is_after ? more[h][i] : std::min<Cost>(more[h][i], -difference);
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

// Adds lines of n numbers up, n a multiple of 8.
CUTWISE_CLONES void add_lines(double *to, const std::vector<const double *> &lines, size_t n) {
  for (size_t v = 0; v < n; v += 8) {
    double sum[8] = {};
    for (const double *line : lines)
      for (size_t i = 0; i < 8; ++i) sum[i] += line[v + i];
    std::copy_n(sum, 8, to + v);
  }
}

// Of every set of groups, in place: the sum over its subsets.
CUTWISE_CLONES void add_subsets(int64_t *sums, size_t n_groups) {
  for (size_t half = 1; half < size_t{1} << n_groups; half *= 2)
    for (size_t begin = half; begin < size_t{1} << n_groups; begin += 2 * half)
      for (size_t i = begin; i < begin + half; ++i) sums[i] += sums[i - half];
}

using ModesCut = std::tuple<bool, double, int64_t, std::vector<int32_t>>;
using FoundModes = std::optional<ModesCut>;

template <class State>
struct InducedModes {
  using Cost = typename State::Cost;

  const ModeGroups &modes;
  const DepthScore &depth;
  std::vector<int64_t> weight;  // of every level, from the first partition on that is looked at
  int64_t k = 0;
  int32_t column = 0;  // of which the kills are
  const NodeLimits *limits = nullptr;
  const int64_t *counts = nullptr;    // of every level, for the limits
  double known_score = 0.0;           // of a cut that is as valid as a cut can be, so that nothing worse is wanted
  const int64_t *distinct = nullptr;  // different rows of every level, where shares are given and no row is at hand

  struct Rows {
    const Matrix *matrix = nullptr;
    const int32_t *numbers = nullptr;
    int64_t n = 0;
    const Cost *excess = nullptr;
    const int64_t *weights = nullptr;     // null: 1 each
    const State *states = nullptr;        // null: nobody knows the nearest centers
    std::vector<Cost> *thirds = nullptr;  // of the first of them, what it costs more without its second center too
    std::vector<int32_t> codes{};         // of every one of them, the level: where they are looked at
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
    double least;  // of what it costs beyond the nearest centers, with its depth
    uint32_t mask;

    friend bool operator<(const Candidate &a, const Candidate &b) {
      return std::tie(a.least, a.mask) < std::tie(b.least, b.mask);
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
  int64_t looked_at = 0;  // rows
  // Of a partition, by the mask of its groups on the left: what it costs beyond the node, the weight of its levels on the left,
  // and of those that cost as much on either side.
  std::vector<int64_t> lost{}, on_left{}, tied{};

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
          level[some] = static_cast<size_t>(of.codes[i]) - begin;
          if (level[some] >= at_once) continue;
          // Its level is always on the side of that group: where it is the nearest, the row loses nothing.
          const int32_t own = modes.group_of_level[of.codes[i]];
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

  // The same of what a cut costs beyond the nearest centers, with its depth.
  double most() const {
    if (depth.current == 0) return std::numeric_limits<double>::infinity();
    const auto current = static_cast<double>(depth.current);
    return (limit() - 1.0) * current + 1.0 + (std::abs(limit()) + 1.0) * current * 0x1p-40;
  }

  // By `lost`: the partitions that may win, those that cost least first.
  void try_by_shares() {
    std::vector<Candidate> found;
    for (uint32_t mask = 1; mask < lost.size(); ++mask)
      if (depth.quick_bound(depth.current + lost[mask], 0, depth.points, 1, column) <= limit())
        found.push_back({static_cast<double>(lost[mask]), mask});
    std::sort(found.begin(), found.end());
    for (const Candidate &cut : found)
      if (least_score(cut.mask) <= limit()) evaluate(cut.mask);
  }
  double least_score(uint32_t mask) const {
    const int64_t m = static_cast<int64_t>(modes.survivors.size()), c = static_cast<int64_t>(modes.centers_left(mask));
    const int64_t low = on_left[mask], high = low + tied[mask], induced = depth.current + lost[mask];
    const double of_left = depth.score(induced, depth.depth_of(low, high, c, column));
    return std::min(of_left, depth.score(induced, depth.depth_of(depth.points - high, depth.points - low, m - c, column)));
  }

  bool is_valid(const std::vector<uint8_t> &side, size_t n_left, size_t n_right) const {
    if (distinct) {  // rows of different levels differ
      size_t n_distinct[2] = {0, 0};
      for (size_t v = 0; v < side.size(); ++v) n_distinct[side[v] != 0] += static_cast<size_t>(distinct[v]);
      return n_distinct[1] >= n_left && n_distinct[0] >= n_right;
    }
    return of.matrix->visit([&](auto values) {
      DistinctRows left(values, 64), right(values, 64);
      for (int64_t i = 0; i < of.n && (left.size() < n_left || right.size() < n_right); ++i) {
        const bool is_left = side[of.codes[i]] != 0;
        if (is_left && left.size() < n_left) left.add(of.numbers[i]);
        if (!is_left && right.size() < n_right) right.add(of.numbers[i]);
      }
      return left.size() >= n_left && right.size() >= n_right;
    });
  }

  // What levels lose on either side, where that is the cheaper one or may be; whether the partition may win yet.
  //
  // At least it is what rows lose without their nearest center. Those lose more that have not the second nearest one either:
  // first they are looked at on the side that seems cheaper, then also on the other one where it may cost as little.
  bool add_side_losses(uint32_t mask, const std::vector<int64_t> &by_group, Partitions &partitions, std::vector<int64_t> &left,
                       std::vector<int64_t> &right) {
    constexpr int64_t kRowsOfPiece = 4096;
    const auto n_levels = weight.size(), n_padded = partitions.n_levels();
    for (int32_t g = 0; g < modes.n_groups; ++g)
      for (size_t v = 0; v < n_levels; ++v) (modes.is_left(mask, g) ? right : left)[v] += by_group[g * n_levels + v];
    std::vector<Cost> pads[2];  // of the right, of the left
    for (auto &pad : pads) pad.assign(static_cast<size_t>(k), std::numeric_limits<Cost>::max());
    std::vector<uint8_t> is_left(k, 0);
    for (size_t s = 0; s < modes.survivors.size(); ++s) {
      is_left[modes.survivors[s]] = modes.is_left(mask, modes.group[s]);
      pads[is_left[modes.survivors[s]]][modes.survivors[s]] = 0;
    }
    // By level and side of the nearest center, whether such rows are to be looked at.
    std::vector<uint8_t> looks(2 * n_levels);
    std::vector<uint8_t> cheaper(n_levels);
    for (size_t v = 0; v < n_levels; ++v) {
      const int32_t own = modes.group_of_level[v];
      cheaper[v] = own >= 0 ? modes.is_left(mask, own) : left[v] < right[v];
      looks[2 * v + !cheaper[v]] = 1;
    }
    std::vector<int32_t> found(kRowsOfPiece);
    std::vector<double> on_side[2];
    for (auto &cost : on_side) cost.assign(n_padded, 0.0);
    const auto c = static_cast<int64_t>(modes.centers_left(mask));
    for (int phase = 0; phase < 2; ++phase) {
      for (int64_t begin = 0; begin < of.n; begin += kRowsOfPiece) {
        int32_t n_found = 0;
        const int64_t end = std::min(of.n, begin + kRowsOfPiece);
        for (int64_t i = begin; i < end; ++i) {
          const State &state = of.states[of.numbers[i]];
          const uint8_t side = is_left[state.nearest];
          found[n_found] = static_cast<int32_t>(i);
          n_found += (side == is_left[state.second]) & looks[2 * of.codes[i] + side];
        }
        for (int32_t f = 0; f < n_found; ++f) {
          const int32_t i = found[f], row = of.numbers[i];
          const State &state = of.states[row];
          const Cost *cost = of.excess + static_cast<int64_t>(row) * k;
          const uint8_t side = is_left[state.nearest];
          (side ? right : left)[of.codes[i]] += least_padded(cost, pads[!side].data(), k) - cost[state.nearest] - state.loss;
        }
        looked_at += (end - begin) / 4 + n_found;
        std::copy(right.begin(), right.end(), on_side[0].begin());
        std::copy(left.begin(), left.end(), on_side[1].begin());
        for (const int32_t v : modes.mode_levels) on_side[!cheaper[v]][v] = std::numeric_limits<double>::infinity();
        if (!partitions.may_win(partitions.bound(on_side[1].data(), on_side[0].data(), c, c))) return false;
      }
      bool any = false;
      for (size_t v = 0; v < n_levels; ++v) {
        const bool may_turn = modes.group_of_level[v] < 0 && (cheaper[v] ? right[v] <= left[v] : left[v] <= right[v]);
        looks[2 * v] = looks[2 * v + 1] = 0;
        if (may_turn) looks[2 * v + cheaper[v]] = 1, any = true;
      }
      if (!any) break;
    }
    return true;
  }

  // By what all rows lose, or by shares.
  void evaluate(uint32_t mask, const std::vector<int64_t> *by_group = nullptr, Partitions *partitions = nullptr) {
    std::vector<int64_t> left(weight.size(), 0), right(weight.size(), 0);  // what levels lose there
    for (const Share &share : shares) {
      if ((share.groups & mask) == 0) left[share.level] += share.loss;
      if ((share.groups & ~mask) == 0) right[share.level] += share.loss;
    }
    if (partitions && !add_side_losses(mask, *by_group, *partitions, left, right)) return;
    const std::vector<uint8_t> side = modes.sides(mask, left, right, weight);
    if (!modes.are_allowed(mask, side, limits, counts)) return;
    int64_t induced = depth.current;
    for (size_t v = 0; v < side.size(); ++v) induced += side[v] ? left[v] : right[v];
    NamedSide named = NamedSide::of(side, weight);
    const int64_t c = static_cast<int64_t>(modes.centers_left(mask)), m = static_cast<int64_t>(modes.survivors.size());
    const int64_t inside = named.is_left ? c : m - c;
    const double score = depth.score(induced, depth.depth_of(named.weight, named.weight, inside, column));
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

  // By bounds first, from what rows lose at least by group and level; or with prices null by the shares of all rows alone.
  FoundModes run(const Levels *levels, const std::vector<int64_t> &by_group, const DepthPrices *prices) {
    std::vector<Candidate> found;
    std::optional<Partitions> partitions;
    if (prices) {
      partitions.emplace(modes, by_group, weight, *prices, most(), depth.kills_left[column] || depth.kills_right[column]);
      partitions->each([&](uint32_t mask, double least) { found.push_back({least, mask}); });
      if (found.empty()) return std::nullopt;
    }
    std::vector<int64_t> own_counts;
    if (levels) {
      of.codes.resize(of.n);
      for (int64_t i = 0; i < of.n; ++i) of.codes[i] = (*levels)(of.numbers[i]);
      if (depth.penalty == 0.0)
        weight = levels->add_up(of.numbers, of.n, [&](int32_t row) { return of.weights ? of.weights[row] : 1; });
      if (limits)
        own_counts = levels->add_up(of.numbers, of.n, [&](int32_t row) { return limits->count_of(row); }),
        counts = own_counts.data();
    }
    if (!prices || !try_by_rows(std::move(found), by_group, *partitions)) {
      add_shares();
      try_by_shares();
    }
    return result();
  }

  // The lowest bounds first, each partition in all rows, as long as that is less work than what the rows say of all; whether
  // none is left that may win.
  bool try_by_rows(std::vector<Candidate> found, const std::vector<int64_t> &by_group, Partitions &partitions) {
    const auto n = static_cast<double>(of.n), n_levels = static_cast<double>(weight.size());
    const double q = modes.n_groups, n_sets = std::ldexp(1.0, modes.n_groups);
    double left =
        n * (static_cast<double>(k) + q * q / 4) / 2 + n_levels * n_sets * (q / 16 + 1);  // half of that, in nanoseconds
    if (found.size() > kFewCandidates) left -= rule_out(found, partitions, left);
    std::sort(found.begin(), found.end());
    for (const Candidate &cut : found) {
      partitions.set_most(most());
      if (!partitions.may_win(cut.least)) break;
      if (left < 0.0) return false;
      looked_at = 0;
      evaluate(cut.mask, &by_group, &partitions);
      left -= 8.0 * static_cast<double>(looked_at);
    }
    return true;
  }

  // Drops candidates by what rows lose more where the groups of both centers nearest to them are on the other side: block by
  // block, as long as that is little work and not few are left. Gives the work.
  double rule_out(std::vector<Candidate> &found, Partitions &partitions, double most_work) {
    if (modes.survivors.size() < 3) return 0.0;
    const auto q = static_cast<size_t>(modes.n_groups), n = partitions.n_levels();
    std::vector<double> more(q * q * n, 0.0), on_side[2];  // by both groups, the first being the lower one
    for (size_t g = 0; g < q; ++g) std::copy_n(partitions.lost(g), n, more.begin() + static_cast<int64_t>(g * (q + 1) * n));
    std::vector<const double *> lines;
    std::vector<Cost> pads(static_cast<size_t>(k), std::numeric_limits<Cost>::max());
    std::vector<size_t> group_of(k, 0);
    for (size_t s = 0; s < modes.survivors.size(); ++s) {
      pads[modes.survivors[s]] = 0;
      group_of[modes.survivors[s]] = static_cast<size_t>(modes.group[s]);
    }
    constexpr Cost kNever = std::numeric_limits<Cost>::max();
    double work = 0.0;
    for (int64_t begin = 0, end = 2048; begin < of.n && found.size() > kFewCandidates; begin = end, end *= 2) {
      work += 2.0 * static_cast<double>(std::min(end, of.n) - begin) + static_cast<double>(found.size() * q * q * n) / 32;
      if (work > most_work) return 0.0;
      for (auto i = static_cast<int64_t>(of.thirds->size()); i < std::min(end, of.n); ++i) {
        const State &state = of.states[of.numbers[i]];
        const Cost *cost = of.excess + static_cast<int64_t>(of.numbers[i]) * k;
        pads[state.nearest] = pads[state.second] = kNever;
        of.thirds->push_back(least_padded(cost, pads.data(), k) - cost[state.second]);
        pads[state.nearest] = pads[state.second] = 0;
      }
      for (int64_t i = begin; i < std::min(end, of.n); ++i) {
        const State &state = of.states[of.numbers[i]];
        const auto ends = std::minmax(group_of[state.nearest], group_of[state.second]);
        more[(ends.first * q + ends.second) * n + of.codes[i]] += static_cast<double>((*of.thirds)[i]);
      }
      const auto is_out = [&](Candidate &cut) {
        const int64_t c = static_cast<int64_t>(modes.centers_left(cut.mask));
        for (const bool is_left : {false, true}) {
          lines.clear();
          for (size_t a = 0; a < q; ++a)
            for (size_t b = a; b < q && modes.is_left(cut.mask, static_cast<int32_t>(a)) != is_left; ++b)
              if (modes.is_left(cut.mask, static_cast<int32_t>(b)) != is_left) lines.push_back(more.data() + (a * q + b) * n);
          on_side[is_left].resize(n);
          add_lines(on_side[is_left].data(), lines, n);
        }
        cut.least = partitions.bound(on_side[1].data(), on_side[0].data(), c, c);
        return !partitions.may_win(cut.least);
      };
      found.erase(std::remove_if(found.begin(), found.end(), is_out), found.end());
    }
    return work;
  }

  FoundModes result() const {
    return best.is_none() ? std::nullopt : FoundModes{{best.is_valid, best.score, best.induced, best.levels}};
  }
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_modes(nb::module_ &m) {
  m.attr("MOST_MODE_GROUPS") = kMostGroups;
  m.def(
      "may_separate",
      [](const std::vector<const Levels *> &levels, In3<int64_t> histogram, In1<int32_t> survivors, In2<int32_t> modes,
         double most) {
        const auto k = static_cast<int64_t>(histogram.shape(1)), width = static_cast<int64_t>(histogram.shape(2));
        const std::vector<int32_t> clusters = survivors_of(survivors, k);
        require(has_shape(modes, levels.size(), k), "every category has modes");
        NewArray<bool, 1> found(levels.size());
        std::vector<int32_t> own(clusters.size());
        const DepthPrices none;
        for (size_t j = 0; j < levels.size(); ++j) {
          for (size_t s = 0; s < own.size(); ++s) own[s] = modes(j, clusters[s]);
          const auto n_levels = static_cast<size_t>(levels[j]->size());
          const ModeGroups groups(clusters, own.data(), std::vector<int64_t>(n_levels, 0));
          const std::vector<int64_t> sums = levels[j]->sums(histogram);
          const auto by_group =
              sums_by_group(groups, n_levels, [&](int64_t v, int32_t c) { return sums[(v * k + c) * width]; });
          bool &may = found.data()[j] = groups.mode_levels.size() > kMostGroups;  // weights say which of them share a group
          if (may) continue;
          Partitions partitions(groups, by_group, {}, none, most);
          partitions.each([&](uint32_t, double) {
            may = true;
            partitions.set_most(-std::numeric_limits<double>::infinity());
          });
        }
        return found.to_numpy();
      },
      "levels"_a, "histogram"_a, "survivors"_a, "modes"_a, "most"_a,
      R"(Whether sets of levels may separate no more than so much from the modes of the centers: one answer a category.

histogram (n_slots, k, width): its first numbers count. modes (n_categories, k): the level of each center.)");
  m.def(
      "fewest_mode_mistakes",
      [](In2<int64_t> sums, In1<int64_t> weight, In1<int32_t> survivors, In1<int32_t> modes, std::optional<In2<int64_t>> costs,
         std::optional<In1<int64_t>> counts, const NodeLimits *limits) -> FoundMistakes {
        const int64_t k = static_cast<int64_t>(sums.shape(1));
        require(!limits || (counts && counts->size() == sums.shape(0)), "with limits there is one count a level");
        require(weight.size() == sums.shape(0), "one weight a level");
        require(!costs || (costs->shape(0) == sums.shape(0) && costs->shape(1) == sums.shape(1)), "costs is like sums");
        const std::vector<int64_t> of_level = copied(weight);
        const ModeGroups groups(survivors, k, modes, of_level);
        nb::gil_scoped_release release;
        return fewest_mistakes(groups, sums.data(), data_or_null(costs), k, of_level, limits, data_or_null(counts));
      },
      "sums"_a, "weight"_a, "survivors"_a, "modes"_a, "costs"_a.none() = nb::none(), "counts"_a.none() = nb::none(),
      "limits"_a.none() = nb::none(),
      R"(The levels against all others that separate the fewest rows from the modes of their centers.

sums (n_levels, k): weight of the node's rows by level and surviving cluster; weight (n_levels,): of all its rows. modes: the level of
each survivor's center. costs (n_levels, k): of the node's rows; of equals, sides served by their best survivor cost least.
Gives (mistakes, cost of the sides, levels of the left side, how many partitions separate so few), or None when no allowed partition has modes on both sides.)");
  for_types<SmallState, MiddleState, LargeState>(
      R"(The levels of one category against its others of least Price + penalty * DExp, centers on the sides of their modes.

levels: of every category; columns: one of its columns, for limits and kills; modes (n_categories, k): the level of each center.
Other arguments as in best_induced_cut. histogram None: added up from the states; without these every partition is looked at.
known_score: of a valid cut; nothing worse is wanted. Gives the category, the first of equals, and (whether each side has as many distinct rows as centers, score, induced cost, levels of the left side).)",
      [&](auto of_type, const char *doc) {
        using State = decltype(of_type);
        using Cost = typename State::Cost;
        m.def(
            "least_induced_modes",
            [](const Matrix &matrix, In1<int32_t> rows, const std::vector<const Levels *> &levels, In1<int32_t> columns,
               In2<Cost> excess, const Weights &weights, std::optional<In3<int64_t>> histogram, In1<int32_t> survivors,
               In2<int32_t> modes, In2<int64_t> nearest_costs, double penalty, In1<uint8_t> kills_left,
               In1<uint8_t> kills_right, std::optional<double> known_score, const NodeLimits *limits,
               std::optional<In2<typename State::Word>> states) -> std::optional<std::pair<size_t, ModesCut>> {
              const int64_t k = static_cast<int64_t>(excess.shape(1)), n = static_cast<int64_t>(rows.size());
              require(has_shape(states, matrix.n_rows(), State::width()), "states has one line per row");
              require(has_shape(excess, matrix.n_rows()), "costs have one line per row");
              require(has_shape(modes, levels.size(), k) && columns.size() == levels.size(),
                      "every category has modes and a column");
              const int64_t *row_weights = checked(weights, matrix.n_rows()), width = histogram ? histogram->shape(2) : 1;
              const std::vector<int32_t> clusters = survivors_of(survivors, k);
              const auto *state = states ? reinterpret_cast<const State *>(states->data()) : nullptr;
              int64_t current = 0, points = 0;
              for (int32_t c : clusters) current += nearest_costs(c, 0) + nearest_costs(c, 1);
              for (int64_t i = 0; i < n; ++i) points += row_weights ? row_weights[rows(i)] : 1;
              const DepthScore depth{
                  current, points, static_cast<int64_t>(clusters.size()), penalty, kills_left.data(), kills_right.data()};
              std::optional<DepthPrices> prices;
              std::optional<std::pair<size_t, ModesCut>> best;
              double known = known_score.value_or(std::numeric_limits<double>::infinity());
              std::vector<int32_t> own(clusters.size());
              std::vector<Cost> thirds;
              nb::gil_scoped_release release;
              for (size_t j = 0; j < levels.size(); ++j) {
                require(levels[j]->n_rows() == matrix.n_rows(), "levels have one entry per row");
                if (limits && !limits->allow_column(columns(j))) continue;
                for (size_t s = 0; s < own.size(); ++s) own[s] = modes(j, clusters[s]);
                const auto n_levels = static_cast<size_t>(levels[j]->size());
                std::vector<int64_t> sums, weight(n_levels, 0), by_group;
                if (histogram && state) sums = levels[j]->sums(*histogram);
                // Weights settle ties, and which modes share a group where there are too many: most columns need none.
                if (width == 2 && !sums.empty())
                  for (size_t v = 0; v < n_levels; ++v)
                    for (const int32_t c : clusters) weight[v] += sums[(static_cast<int64_t>(v) * k + c) * 2 + 1];
                else if (penalty != 0.0 || own.size() > kMostGroups)
                  weight = levels[j]->add_up(rows.data(), n, [&](int32_t row) { return row_weights ? row_weights[row] : 1; });
                const ModeGroups groups(clusters, own.data(), weight);
                if (groups.n_groups < 2) continue;
                if (!histogram && state) {
                  sums.assign(n_levels * k, 0);
                  for (int64_t i = 0; i < n; ++i)
                    sums[(*levels[j])(rows(i)) * k + state[rows(i)].nearest] += state[rows(i)].loss;
                }
                if (!sums.empty())
                  by_group = sums_by_group(groups, n_levels, [&](int64_t v, int32_t c) { return sums[(v * k + c) * width]; });
                if (!sums.empty() && !prices)  // every row has a level
                  prices.emplace(points == 0 ? 0.0 : penalty * static_cast<double>(current) / static_cast<double>(points),
                                 points, depth.centers,
                                 static_cast<double>(std::accumulate(by_group.begin(), by_group.end(), int64_t{0})));
                InducedModes<State> search{groups, depth, std::move(weight), k, columns(j), limits, nullptr, known};
                search.of = {&matrix, rows.data(), n, excess.data(), row_weights, state, &thirds};
                FoundModes found = search.run(levels[j], by_group, sums.empty() ? nullptr : &*prices);
                if (!found) continue;
                const auto rank = [](const ModesCut &cut) {
                  return std::make_tuple(!std::get<0>(cut), std::get<1>(cut), std::get<2>(cut));
                };
                if (std::get<0>(*found)) known = std::min(known, std::get<1>(*found));
                if (!best || rank(*found) < rank(best->second)) best.emplace(j, std::move(*found));
              }
              return best;
            },
            "matrix"_a, "rows"_a, "levels"_a, "columns"_a, "excess"_a.noconvert(), "weights"_a.none(), "histogram"_a.none(),
            "survivors"_a, "modes"_a, "nearest_costs"_a, "penalty"_a, "kills_left"_a, "kills_right"_a,
            "known_score"_a.none() = nb::none(), "limits"_a.none() = nb::none(), "states"_a.noconvert().none() = nb::none(),
            doc);
      });
  for_types<SmallState, LargeState>(
      R"(What a batch of rows loses by level and the centers nearest to it: those of batches add up for least_modes_by_shares.

codes (n,): level of every row; excess (n, k); weight (n_levels,): of the node's rows. Gives (level, centers' groups, loss), each once.)",
      [&](auto of_type, const char *doc) {
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
              without_gil([&] {
                const DepthScore none;
                InducedModes<State> found{groups, none, of_level, k};
                found.of = {nullptr, rows.data(), n, excess.data()};
                found.of.codes.assign(codes.data(), codes.data() + n);
                found.add_shares(false);
                for (const auto &share : found.shares) {
                  level.push_back(share.level);
                  of_groups.push_back(share.groups);
                  loss.push_back(share.loss);
                }
              });
              return std::make_tuple(to_numpy(std::move(level)), to_numpy(std::move(of_groups)), to_numpy(std::move(loss)));
            },
            "codes"_a, "excess"_a.noconvert(), "weight"_a, "survivors"_a, "modes"_a, doc);
      });
  m.def(
      "least_modes_by_shares",
      [](In1<int32_t> level, In1<uint64_t> of_groups, In1<int64_t> loss, In1<int64_t> weight, In1<int64_t> distinct,
         In1<int32_t> survivors, In1<int32_t> modes, int64_t k, int64_t current, double penalty, bool kills_left,
         bool kills_right, std::optional<double> known_score, std::optional<In1<int64_t>> counts,
         const NodeLimits *limits) -> FoundModes {
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
                                        0,
                                        limits,
                                        data_or_null(counts),
                                        known_score.value_or(std::numeric_limits<double>::infinity()),
                                        distinct.data()};
        for (size_t i = 0; i < level.size(); ++i) {
          require(level(i) >= 0 && level(i) < static_cast<int32_t>(of_level.size()) && of_groups(i) >> groups.n_groups == 0,
                  "shares are of levels and groups");
          search.shares.push_back({level(i), static_cast<uint32_t>(of_groups(i)), loss(i)});
        }
        return search.run(nullptr, {}, nullptr);
      },
      "level"_a, "groups"_a, "loss"_a, "weight"_a, "distinct"_a, "survivors"_a, "modes"_a, "k"_a, "current"_a, "penalty"_a,
      "kills_left"_a, "kills_right"_a, "known_score"_a.none(), "counts"_a.none(), "limits"_a.none(),
      R"(What least_induced_modes gives, by the shares of all rows of a node, (n,) each.

weight, distinct (n_levels,): of the rows of every level, and how many different ones there are. current: what all cost.)");
}
