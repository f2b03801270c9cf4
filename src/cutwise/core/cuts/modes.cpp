// Cuts by sets of levels for the criteria that separate centers: IMM's mistakes and the induced cost. A center is on the side
// of its mode, which is the most frequent level of its cluster; a level that is no center's mode goes to the cheaper side.
//
// The search enumerates the partitions of the modes into two sides. The cost of a partition is a sum over levels: for mistakes
// of the separated rows, for the induced cost of the losses of rows whose nearest groups of modes are on the other side.
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"
#include "base/simd.hpp"
#include "cuts/partitions.hpp"
#include "nodes/levels.hpp"

namespace cutwise {
namespace {

constexpr size_t kFewCandidates = 4;

// The levels on the left side.
std::vector<int32_t> levels_of(const std::vector<uint8_t> &side) {
  std::vector<int32_t> levels;
  for (size_t v = 0; v < side.size(); ++v)
    if (side[v]) levels.push_back(static_cast<int32_t>(v));
  return levels;
}

using FoundMistakes = std::optional<std::tuple<int64_t, int64_t, std::vector<int32_t>, size_t>>;

// Sums by group and level, (n_groups, n_levels), from cell(level, cluster), the sums by level and cluster.
template <class Cell>
std::vector<int64_t> sums_by_group(const ModeGroups &modes, size_t n_levels, Cell &&cell) {
  std::vector<int64_t> by_group(modes.n_groups * n_levels, 0);
  for (size_t v = 0; v < n_levels; ++v)
    for (size_t s = 0; s < modes.group.size(); ++s)
      by_group[modes.group[s] * n_levels + v] += cell(static_cast<int64_t>(v), modes.survivors[s]);
  return by_group;
}

// Adds to every level what it costs on the left and on the right: the losses of the groups on the other side.
void add_losses(const ModeGroups &modes, uint32_t mask, const std::vector<int64_t> &by_group, std::vector<int64_t> &left,
                std::vector<int64_t> &right) {
  for (int32_t g = 0; g < modes.n_groups; ++g)
    for (size_t v = 0; v < left.size(); ++v) (modes.is_left(mask, g) ? right : left)[v] += by_group[g * left.size() + v];
}

FoundMistakes fewest_mistakes(const ModeGroups &modes, const int64_t *sums, const int64_t *costs, int64_t k,
                              const std::vector<int64_t> &weight, const NodeLimits *limits, const int64_t *counts) {
  const size_t n_levels = weight.size();
  const std::vector<int64_t> by_group = sums_by_group(modes, n_levels, [&](int64_t v, int32_t c) { return sums[v * k + c]; });
  int64_t least = kNone;
  std::vector<uint32_t> tied;
  std::vector<int64_t> left(n_levels), right(n_levels);
  const auto sides_of = [&](uint32_t mask) {
    std::fill(left.begin(), left.end(), int64_t{0});
    std::fill(right.begin(), right.end(), int64_t{0});
    add_losses(modes, mask, by_group, left, right);
    return modes.sides(mask, left, right, weight);
  };
  const DepthPrices none;
  Partitions partitions(modes, by_group, {}, none, std::numeric_limits<double>::infinity());
  partitions.each([&](uint32_t mask, double mistakes) {  // sums of weights are exact in float64
    if (limits && !modes.are_allowed(mask, sides_of(mask), limits, counts)) return;
    if (static_cast<int64_t>(mistakes) < least) tied.clear();
    tied.push_back(mask);
    least = static_cast<int64_t>(mistakes);
    partitions.set_most(mistakes);
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

// For some rows the groups in order of cost: the set of groups cheaper than each group, and how much more the group costs than
// the most expensive of those.
template <class Cost>
struct GroupOrder {
  Cost cost[kMostGroups][kRowsAtOnce], more[kMostGroups][kRowsAtOnce];
  std::make_unsigned_t<Cost> before[kMostGroups][kRowsAtOnce];
};

// No branch depends on the costs, and all rows take the same steps, so that they are worked on in lanes.
template <class Cost>
CUTWISE_CLONES void find_order(GroupOrder<Cost> &order, size_t n_groups) {
  auto &[cost, more, before] = order;
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

// The least cost of a row among the centers of a side. pads (k,): 0 for these centers, more than any cost for all others.
template <class Cost>
CUTWISE_CLONES Cost least_padded(const Cost *cost, const Cost *pads, int64_t k) {
  Cost least = std::numeric_limits<Cost>::max();
  for (int64_t j = 0; j < k; ++j) least = std::min(least, std::max(cost[j], pads[j]));
  return least;
}

// Writes the sum of some lines of n numbers; n is a multiple of 8.
CUTWISE_CLONES void add_lines(double *to, const std::vector<const double *> &lines, size_t n) {
  for (size_t v = 0; v < n; v += 8) {
    double sum[8] = {};
    for (const double *line : lines)
      for (size_t i = 0; i < 8; ++i) sum[i] += line[v + i];
    std::copy_n(sum, 8, to + v);
  }
}

// Replaces the number of every set of groups by the sum over its subsets.
CUTWISE_CLONES void add_subsets(int64_t *sums, size_t n_groups) {
  for (size_t half = 1; half < size_t{1} << n_groups; half *= 2)
    for (size_t begin = half; begin < size_t{1} << n_groups; begin += 2 * half)
      for (size_t i = begin; i < begin + half; ++i) sums[i] += sums[i - half];
}

using ModesCut = std::tuple<bool, double, int64_t, std::vector<int32_t>>;
using FoundModes = std::optional<ModesCut>;

// The search for the partition of least induced cost and depth, in one category.
template <class State>
struct InducedModes {
  using Cost = typename State::Cost;

  const ModeGroups &modes;
  const DepthScore &depth;
  std::vector<int64_t> weight;  // of the rows of every level; run() fills it in where it is not needed before
  int64_t k = 0;
  int32_t column = 0;  // the column of the category, for kills_left and kills_right of `depth`
  const NodeLimits *limits = nullptr;
  const int64_t *counts = nullptr;    // by level, for the limits
  double known_score = 0.0;           // the score of a valid cut found before: worse cuts are not wanted
  const int64_t *distinct = nullptr;  // the number of distinct rows by level, where shares are given in place of rows

  struct Rows {
    const Matrix *matrix = nullptr;
    const int32_t *numbers = nullptr;
    int64_t n = 0;
    const Cost *excess = nullptr;
    const int64_t *weights = nullptr;     // null: 1 each
    const State *states = nullptr;        // null: the nearest centers are not known
    std::vector<Cost> *thirds = nullptr;  // for the first rows: cost of the third nearest center minus that of the second
    std::vector<int32_t> codes{};         // the level of every row; run() fills it in
  } rows{};

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
    double least;   // a lower bound on the induced cost and the depth, less the cost by the nearest centers
    uint32_t mask;  // the groups on the left

    friend bool operator<(const Candidate &a, const Candidate &b) {
      return std::tie(a.least, a.mask) < std::tie(b.least, b.mask);
    }
  };

  // What the rows of a level lose further when not only the nearest groups of a smaller set but all groups of `groups` are on
  // the other side. A row whose groups are a, b, c in order of cost has the shares {a}: cost of b - cost of a, and {a, b}: cost
  // of c - cost of b. The loss on a side is the sum of the shares whose groups are all on the other side.
  struct Share {
    int32_t level;
    uint32_t groups;
    int64_t loss;
  };
  std::vector<Share> shares{};
  int64_t n_read = 0;  // work of add_side_losses(), in rows
  // By the mask of the groups on the left: the induced cost of the partition minus the node's cost, the weight of the levels on
  // the left, and the weight of the levels that cost the same on both sides.
  std::vector<int64_t> lost{}, on_left{}, tied{};

  // Computes the shares of the rows, and adds them to those that are there already. adds_up: fills `lost`, `on_left` and
  // `tied`.
  void add_shares(bool adds_up = true) {
    constexpr int64_t kMostCells = 1 << 20;
    const auto q = static_cast<size_t>(modes.n_groups), n_levels = weight.size();
    const size_t at_once = std::min<size_t>(n_levels, kMostCells >> q), n_sets = size_t{1} << q;
    std::vector<int64_t> cells(at_once << q);  // by level and set of groups
    for (auto *of_mask : {&lost, &on_left, &tied}) of_mask->assign(adds_up ? n_sets / 2 : 0, 0);
    std::vector<Share> given;
    given.swap(shares);
    for (size_t begin = 0; begin < n_levels; begin += at_once) {
      std::fill(cells.begin(), cells.end(), int64_t{0});
      for (const Share &share : given)
        if (static_cast<size_t>(share.level) - begin < at_once)
          cells[(static_cast<size_t>(share.level) - begin) << q | share.groups] += share.loss;
      add_shares_of_rows(begin, at_once, cells);
      for (size_t cell = 0; cell < cells.size(); ++cell) {
        const auto groups = static_cast<uint32_t>(cell & (n_sets - 1));
        if (groups != 0 && cells[cell] != 0) shares.push_back({static_cast<int32_t>(begin + (cell >> q)), groups, cells[cell]});
      }
      if (!adds_up) continue;
      for (size_t v = begin; v < std::min(begin + at_once, n_levels); ++v)
        if (weight[v] != 0) add_up_level(v, cells.data() + ((v - begin) << q));
    }
  }

  // Adds the shares of the rows whose levels are the n from `begin` on to the cells of level and set of groups.
  void add_shares_of_rows(size_t begin, size_t n, std::vector<int64_t> &cells) const {
    const auto q = static_cast<size_t>(modes.n_groups);
    std::vector<std::vector<int32_t>> centers(q);
    std::vector<int32_t> group_of(k, -1);
    for (size_t s = 0; s < modes.survivors.size(); ++s) {
      centers[modes.group[s]].push_back(modes.survivors[s]);
      group_of[modes.survivors[s]] = modes.group[s];
    }
    const auto order = std::make_unique<GroupOrder<Cost>>();
    for (int64_t i = 0; i < rows.n;) {
      size_t level[kRowsAtOnce], some = 0;
      for (; i < rows.n && some < kRowsAtOnce; ++i) {
        level[some] = static_cast<size_t>(rows.codes[i]) - begin;
        if (level[some] >= n) continue;
        // The level is a mode and so always on the side of its group: a row that this group is nearest to loses nothing.
        const int32_t own_group = modes.group_of_level[rows.codes[i]];
        if (rows.states && own_group >= 0 && group_of[rows.states[rows.numbers[i]].nearest] == own_group) continue;
        const Cost *cost = rows.excess + static_cast<int64_t>(rows.numbers[i]) * k;
        Cost nearest = std::numeric_limits<Cost>::max();
        for (size_t g = 0; g < q; ++g) {
          Cost least = std::numeric_limits<Cost>::max();
          for (const int32_t c : centers[g]) least = std::min(least, cost[c]);
          order->cost[g][some] = least;
          nearest = std::min(nearest, least);
        }
        some += own_group < 0 || order->cost[own_group][some] > nearest;
      }
      find_order(*order, q);
      for (size_t g = 0; g < q; ++g)
        for (size_t j = 0; j < some; ++j) cells[level[j] << q | order->before[g][j]] += order->more[g][j];
    }
  }

  // Adds a level to `lost`, `on_left` and `tied`. of_set: its shares by set of groups, which become the losses when all groups
  // of the set are on the other side.
  void add_up_level(size_t level, int64_t *of_set) {
    const size_t n_sets = 2 * lost.size();
    of_set[0] = 0;
    add_subsets(of_set, static_cast<size_t>(modes.n_groups));
    const int32_t own_group = modes.group_of_level[level];
    for (size_t mask = 0; mask < lost.size(); ++mask) {
      const int64_t left = of_set[n_sets - 1 - mask], right = of_set[mask];
      const bool is_left = own_group < 0 ? left < right : modes.is_left(static_cast<uint32_t>(mask), own_group);
      lost[mask] += is_left ? left : right;
      on_left[mask] += is_left ? weight[level] : 0;
      tied[mask] += own_group < 0 && left == right ? weight[level] : 0;
    }
  }

  // Scores above this are not wanted.
  double limit() const { return std::min(best.is_valid ? best.score : std::numeric_limits<double>::infinity(), known_score); }

  // The same limit for Candidate::least.
  double most() const {
    if (depth.current == 0) return std::numeric_limits<double>::infinity();
    const auto current = static_cast<double>(depth.current);
    return (limit() - 1.0) * current + 1.0 + (std::abs(limit()) + 1.0) * current * 0x1p-40;
  }

  // Evaluates the partitions that may win by `lost`, the cheapest first.
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
    if (distinct) {  // rows of different levels are distinct, so the numbers add up
      size_t n_distinct[2] = {0, 0};
      for (size_t v = 0; v < side.size(); ++v) n_distinct[side[v] != 0] += static_cast<size_t>(distinct[v]);
      return n_distinct[1] >= n_left && n_distinct[0] >= n_right;
    }
    return rows.matrix->visit([&](auto values) {
      DistinctRows left(values, 64), right(values, 64);
      for (int64_t i = 0; i < rows.n && (left.size() < n_left || right.size() < n_right); ++i) {
        const bool is_left = side[rows.codes[i]] != 0;
        if (is_left && left.size() < n_left) left.add(rows.numbers[i]);
        if (!is_left && right.size() < n_right) right.add(rows.numbers[i]);
      }
      return left.size() >= n_left && right.size() >= n_right;
    });
  }

  // Adds the losses of every level on the left and on the right, exactly where that side is or may be the cheaper one. Returns
  // false as soon as the partition cannot win.
  //
  // A row loses at least the difference between its two nearest centers when the nearest is on the other side; it loses more
  // when the second nearest is there too. Such rows are read in two phases: first on the side that seems cheaper for their
  // level, then on the other side for the levels where it may cost as little.
  bool add_side_losses(uint32_t mask, const std::vector<int64_t> &by_group, Partitions &partitions, std::vector<int64_t> &left,
                       std::vector<int64_t> &right) {
    constexpr int64_t kRowsOfPiece = 4096;
    const auto n_levels = weight.size(), n_padded = partitions.n_levels();
    add_losses(modes, mask, by_group, left, right);
    std::vector<Cost> pads[2];  // for the right side, for the left
    for (auto &pad : pads) pad.assign(static_cast<size_t>(k), std::numeric_limits<Cost>::max());
    std::vector<uint8_t> is_left(k, 0);
    for (size_t s = 0; s < modes.survivors.size(); ++s) {
      is_left[modes.survivors[s]] = modes.is_left(mask, modes.group[s]);
      pads[is_left[modes.survivors[s]]][modes.survivors[s]] = 0;
    }
    // By level and side of the nearest center: whether such rows are read in this phase.
    std::vector<uint8_t> reads_rows(2 * n_levels);
    std::vector<uint8_t> cheaper(n_levels);
    for (size_t v = 0; v < n_levels; ++v) {
      const int32_t own_group = modes.group_of_level[v];
      cheaper[v] = own_group >= 0 ? modes.is_left(mask, own_group) : left[v] < right[v];
      reads_rows[2 * v + !cheaper[v]] = 1;
    }
    std::vector<int32_t> found(kRowsOfPiece);
    std::vector<double> on_side[2];
    for (auto &cost : on_side) cost.assign(n_padded, 0.0);
    const auto c = static_cast<int64_t>(modes.centers_left(mask));
    for (int phase = 0; phase < 2; ++phase) {
      for (int64_t begin = 0; begin < rows.n; begin += kRowsOfPiece) {
        int32_t n_found = 0;
        const int64_t end = std::min(rows.n, begin + kRowsOfPiece);
        for (int64_t i = begin; i < end; ++i) {
          const State &state = rows.states[rows.numbers[i]];
          const uint8_t side = is_left[state.nearest];
          found[n_found] = static_cast<int32_t>(i);
          n_found += (side == is_left[state.second]) & reads_rows[2 * rows.codes[i] + side];
        }
        for (int32_t f = 0; f < n_found; ++f) {
          const int32_t i = found[f], row = rows.numbers[i];
          const State &state = rows.states[row];
          const Cost *cost = rows.excess + static_cast<int64_t>(row) * k;
          const uint8_t side = is_left[state.nearest];
          (side ? right : left)[rows.codes[i]] += least_padded(cost, pads[!side].data(), k) - cost[state.nearest] - state.loss;
        }
        n_read += (end - begin) / 4 + n_found;
        std::copy(right.begin(), right.end(), on_side[0].begin());
        std::copy(left.begin(), left.end(), on_side[1].begin());
        for (const int32_t v : modes.mode_levels) on_side[!cheaper[v]][v] = std::numeric_limits<double>::infinity();
        if (!partitions.may_win(partitions.bound(on_side[1].data(), on_side[0].data(), c, c))) return false;
      }
      bool any = false;
      for (size_t v = 0; v < n_levels; ++v) {
        const bool may_turn = modes.group_of_level[v] < 0 && (cheaper[v] ? right[v] <= left[v] : left[v] <= right[v]);
        reads_rows[2 * v] = reads_rows[2 * v + 1] = 0;
        if (may_turn) reads_rows[2 * v + cheaper[v]] = 1, any = true;
      }
      if (!any) break;
    }
    return true;
  }

  // Offers one partition to `best`; its losses come from the rows, with by_group and partitions, or else from the shares.
  void evaluate(uint32_t mask, const std::vector<int64_t> *by_group = nullptr, Partitions *partitions = nullptr) {
    std::vector<int64_t> left(weight.size(), 0), right(weight.size(), 0);  // losses of every level on that side
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

  // by_group (n_groups, n_levels): least losses of the rows, for bounds on the partitions. With null prices there are no
  // bounds, and all partitions are evaluated by shares.
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
      rows.codes.resize(rows.n);
      for (int64_t i = 0; i < rows.n; ++i) rows.codes[i] = (*levels)(rows.numbers[i]);
      if (depth.penalty == 0.0)
        weight = levels->add_up(rows.numbers, rows.n, [&](int32_t row) { return rows.weights ? rows.weights[row] : 1; });
      if (limits)
        own_counts = levels->add_up(rows.numbers, rows.n, [&](int32_t row) { return limits->count_of(row); }),
        counts = own_counts.data();
    }
    if (!prices || !try_by_rows(std::move(found), by_group, *partitions)) {
      add_shares();
      try_by_shares();
    }
    return result();
  }

  // Evaluates the candidates from the rows, those of the lowest bounds first. Returns false where that takes more work than
  // add_shares(), which serves all partitions at once.
  bool try_by_rows(std::vector<Candidate> found, const std::vector<int64_t> &by_group, Partitions &partitions) {
    const auto n = static_cast<double>(rows.n), n_levels = static_cast<double>(weight.size());
    const double q = modes.n_groups, n_sets = std::ldexp(1.0, modes.n_groups);
    double left =  // half the work of add_shares(), in nanoseconds
        n * (static_cast<double>(k) + q * q / 4) / 2 + n_levels * n_sets * (q / 16 + 1);
    if (found.size() > kFewCandidates) left -= rule_out(found, partitions, left);
    std::sort(found.begin(), found.end());
    for (const Candidate &cut : found) {
      partitions.set_most(most());
      if (!partitions.may_win(cut.least)) break;
      if (left < 0.0) return false;
      n_read = 0;
      evaluate(cut.mask, &by_group, &partitions);
      left -= 8.0 * static_cast<double>(n_read);
    }
    return true;
  }

  // Drops candidates by better bounds: rows whose two nearest centers are both on the other side lose at least the difference
  // to the third nearest. Rows are read block by block, as long as there are candidates enough and the work is less than
  // most_work. Returns the work, or 0 where it ended at that limit.
  double rule_out(std::vector<Candidate> &found, Partitions &partitions, double most_work) {
    if (modes.survivors.size() < 3) return 0.0;
    const auto q = static_cast<size_t>(modes.n_groups), n = partitions.n_levels();
    // Losses by the groups a <= b of the two nearest centers, and by level.
    std::vector<double> more(q * q * n, 0.0), on_side[2];
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
    for (int64_t begin = 0, end = 2048; begin < rows.n && found.size() > kFewCandidates; begin = end, end *= 2) {
      work += 2.0 * static_cast<double>(std::min(end, rows.n) - begin) + static_cast<double>(found.size() * q * q * n) / 32;
      if (work > most_work) return 0.0;
      for (auto i = static_cast<int64_t>(rows.thirds->size()); i < std::min(end, rows.n); ++i) {
        const State &state = rows.states[rows.numbers[i]];
        const Cost *cost = rows.excess + static_cast<int64_t>(rows.numbers[i]) * k;
        pads[state.nearest] = pads[state.second] = kNever;
        rows.thirds->push_back(least_padded(cost, pads.data(), k) - cost[state.second]);
        pads[state.nearest] = pads[state.second] = 0;
      }
      for (int64_t i = begin; i < std::min(end, rows.n); ++i) {
        const State &state = rows.states[rows.numbers[i]];
        const auto ends = std::minmax(group_of[state.nearest], group_of[state.second]);
        more[(ends.first * q + ends.second) * n + rows.codes[i]] += static_cast<double>((*rows.thirds)[i]);
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

// For every category, whether some set of levels may lose at most `most`; the losses are the first numbers of the histogram.
auto may_separate(const std::vector<const Levels *> &levels, In3<int64_t> histogram, In1<int32_t> survivors, In2<int32_t> modes,
                  double most) {
  const auto k = static_cast<int64_t>(histogram.shape(1)), width = static_cast<int64_t>(histogram.shape(2));
  const std::vector<int32_t> clusters = survivors_of(survivors, k);
  require(has_shape(modes, levels.size(), k), "every category has modes");
  NewArray<bool, 1> found(levels.size());
  std::vector<int32_t> modes_of_survivors(clusters.size());
  const DepthPrices none;
  for (size_t j = 0; j < levels.size(); ++j) {
    for (size_t s = 0; s < modes_of_survivors.size(); ++s) modes_of_survivors[s] = modes(j, clusters[s]);
    const auto n_levels = static_cast<size_t>(levels[j]->size());
    const ModeGroups groups(clusters, modes_of_survivors.data(), std::vector<int64_t>(n_levels, 0));
    const std::vector<int64_t> sums = levels[j]->sums(histogram);
    const auto by_group = sums_by_group(groups, n_levels, [&](int64_t v, int32_t c) { return sums[(v * k + c) * width]; });
    // Weights, which are not known here, would decide which modes share a group.
    bool &may = found.data()[j] = groups.mode_levels.size() > kMostGroups;
    if (may) continue;
    Partitions partitions(groups, by_group, {}, none, most);
    partitions.each([&](uint32_t, double) {
      may = true;
      partitions.set_most(-std::numeric_limits<double>::infinity());
    });
  }
  return found.to_numpy();
}

// The best set of levels of all categories, and the index of its category.
template <class State>
std::optional<std::pair<size_t, ModesCut>> least_induced_modes(
    const Matrix &matrix, In1<int32_t> rows, const std::vector<const Levels *> &levels, In1<int32_t> columns,
    In2<typename State::Cost> excess, const Weights &weights, std::optional<In3<int64_t>> histogram, In1<int32_t> survivors,
    In2<int32_t> modes, In2<int64_t> nearest_costs, double penalty, In1<uint8_t> kills_left, In1<uint8_t> kills_right,
    std::optional<double> known_score, const NodeLimits *limits, std::optional<In2<typename State::Word>> states) {
  using Cost = typename State::Cost;
  const int64_t k = static_cast<int64_t>(excess.shape(1)), n = static_cast<int64_t>(rows.size());
  require(has_shape(states, matrix.n_rows(), State::width()), "states has one line per row");
  require(has_shape(excess, matrix.n_rows()), "costs have one line per row");
  require(has_shape(modes, levels.size(), k) && columns.size() == levels.size(), "every category has modes and a column");
  const int64_t *row_weights = checked(weights, matrix.n_rows()), width = histogram ? histogram->shape(2) : 1;
  const std::vector<int32_t> clusters = survivors_of(survivors, k);
  const auto *state = states ? reinterpret_cast<const State *>(states->data()) : nullptr;
  int64_t current = 0, points = 0;
  for (int32_t c : clusters) current += nearest_costs(c, 0) + nearest_costs(c, 1);
  for (int64_t i = 0; i < n; ++i) points += row_weights ? row_weights[rows(i)] : 1;
  const DepthScore depth{current,           points, static_cast<int64_t>(clusters.size()), penalty, kills_left.data(),
                         kills_right.data()};
  std::optional<DepthPrices> prices;
  std::optional<std::pair<size_t, ModesCut>> best;
  double known = known_score.value_or(std::numeric_limits<double>::infinity());
  std::vector<int32_t> modes_of_survivors(clusters.size());
  std::vector<Cost> thirds;
  const GilRelease release;
  for (size_t j = 0; j < levels.size(); ++j) {
    require(levels[j]->n_rows() == matrix.n_rows(), "levels have one entry per row");
    if (limits && !limits->allow_column(columns(j))) continue;
    for (size_t s = 0; s < modes_of_survivors.size(); ++s) modes_of_survivors[s] = modes(j, clusters[s]);
    const auto n_levels = static_cast<size_t>(levels[j]->size());
    std::vector<int64_t> sums, weight(n_levels, 0), by_group;
    if (histogram && state) sums = levels[j]->sums(*histogram);
    // Weights decide depth, and which modes share a group where there are too many; otherwise run() adds them up late.
    if (width == 2 && !sums.empty())
      for (size_t v = 0; v < n_levels; ++v)
        for (const int32_t c : clusters) weight[v] += sums[(static_cast<int64_t>(v) * k + c) * 2 + 1];
    else if (penalty != 0.0 || modes_of_survivors.size() > kMostGroups)
      weight = levels[j]->add_up(rows.data(), n, [&](int32_t row) { return row_weights ? row_weights[row] : 1; });
    const ModeGroups groups(clusters, modes_of_survivors.data(), weight);
    if (groups.n_groups < 2) continue;
    if (!histogram && state) {
      sums.assign(n_levels * k, 0);
      for (int64_t i = 0; i < n; ++i) sums[(*levels[j])(rows(i)) * k + state[rows(i)].nearest] += state[rows(i)].loss;
    }
    if (!sums.empty())
      by_group = sums_by_group(groups, n_levels, [&](int64_t v, int32_t c) { return sums[(v * k + c) * width]; });
    if (!sums.empty() && !prices)  // every row has a level
      prices.emplace(points == 0 ? 0.0 : penalty * static_cast<double>(current) / static_cast<double>(points), points,
                     depth.centers, static_cast<double>(std::accumulate(by_group.begin(), by_group.end(), int64_t{0})));
    InducedModes<State> search{groups, depth, std::move(weight), k, columns(j), limits, nullptr, known};
    search.rows = {&matrix, rows.data(), n, excess.data(), row_weights, state, &thirds};
    FoundModes found = search.run(levels[j], by_group, sums.empty() ? nullptr : &*prices);
    if (!found) continue;
    const auto rank = [](const ModesCut &cut) {
      return std::make_tuple(!std::get<0>(cut), std::get<1>(cut), std::get<2>(cut));
    };
    if (std::get<0>(*found)) known = std::min(known, std::get<1>(*found));
    if (!best || rank(*found) < rank(best->second)) best.emplace(j, std::move(*found));
  }
  return best;
}

FoundMistakes fewest_mode_mistakes(In2<int64_t> sums, In1<int64_t> weight, In1<int32_t> survivors, In1<int32_t> modes,
                                   std::optional<In2<int64_t>> costs, std::optional<In1<int64_t>> counts,
                                   const NodeLimits *limits) {
  const int64_t k = static_cast<int64_t>(sums.shape(1));
  require(!limits || (counts && counts->size() == sums.shape(0)), "with limits there is one count a level");
  require(weight.size() == sums.shape(0), "one weight a level");
  require(!costs || (costs->shape(0) == sums.shape(0) && costs->shape(1) == sums.shape(1)), "costs is like sums");
  const std::vector<int64_t> of_level = copied(weight);
  const ModeGroups groups(survivors, k, modes, of_level);
  const GilRelease release;
  return fewest_mistakes(groups, sums.data(), data_or_null(costs), k, of_level, limits, data_or_null(counts));
}

template <class State>
auto mode_shares(In1<int32_t> codes, In2<typename State::Cost> excess, In1<int64_t> weight, In1<int32_t> survivors,
                 In1<int32_t> modes) {
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
    found.rows = {nullptr, rows.data(), n, excess.data()};
    found.rows.codes.assign(codes.data(), codes.data() + n);
    found.add_shares(false);
    for (const auto &share : found.shares) {
      level.push_back(share.level);
      of_groups.push_back(share.groups);
      loss.push_back(share.loss);
    }
  });
  return std::make_tuple(to_numpy(std::move(level)), to_numpy(std::move(of_groups)), to_numpy(std::move(loss)));
}

FoundModes least_modes_by_shares(In1<int32_t> level, In1<uint64_t> of_groups, In1<int64_t> loss, In1<int64_t> weight,
                                 In1<int64_t> distinct, In1<int32_t> survivors, In1<int32_t> modes, int64_t k, int64_t current,
                                 double penalty, bool kills_left, bool kills_right, std::optional<double> known_score,
                                 std::optional<In1<int64_t>> counts, const NodeLimits *limits) {
  const std::vector<int64_t> of_level = copied(weight);
  require(of_groups.size() == level.size() && loss.size() == level.size(), "a share has a level, groups and a loss");
  require(distinct.size() == weight.size(), "one count of distinct rows a level");
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
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_modes(nb::module_ &m) {
  m.attr("MOST_MODE_GROUPS") = kMostGroups;
  m.def(
      "may_separate", &may_separate, "levels"_a, "histogram"_a, "survivors"_a, "modes"_a, "most"_a,
      R"(For every category, whether some set of levels may lose at most `most` by separating rows from the modes of their centers.

histogram (n_slots, k, width): losses, in the first of the width numbers. modes (n_categories, k): the mode of each center.)");
  m.def("fewest_mode_mistakes", &fewest_mode_mistakes, "sums"_a, "weight"_a, "survivors"_a, "modes"_a,
        "costs"_a.none() = nb::none(), "counts"_a.none() = nb::none(), "limits"_a.none() = nb::none(),
        R"(The set of levels, against all others, that separates the fewest rows from the modes of their centers.

sums (n_levels, k): weight of the node's rows by level and surviving cluster; weight (n_levels,): of all rows of the node. modes
(n_survivors,): the mode of each survivor. costs (n_levels, k) or None: summed costs of the node's rows. Among equal sets the one
wins whose sides cost least, each served by its best survivor. counts (n_levels,): for the limits. Returns (mistakes, cost of
the sides, levels of the left side, how many partitions have so few mistakes), or None when no allowed partition has modes on
both sides.)");
  for_types<SmallState, MiddleState, LargeState>(
      R"(The set of levels of one category, against its other levels, of least Price + penalty * DExp; centers are on their mode's side.

levels: one Levels per category. columns: one encoded column of each category, for limits and kills. modes (n_categories, k): the
mode of each center. Other arguments as in best_induced_cut. histogram None: it is added up from the states; without states
every partition is evaluated. known_score: the score of a valid cut; worse ones are not returned. Returns (index of the category,
the first one of equals; (whether each side has at least as many distinct rows as centers, score, induced cost, levels of the left
side)), or None.)",
      [&](auto of_type, const char *doc) {
        using State = decltype(of_type);
        m.def("least_induced_modes", &least_induced_modes<State>, "matrix"_a, "rows"_a, "levels"_a, "columns"_a,
              "excess"_a.noconvert(), "weights"_a.none(), "histogram"_a.none(), "survivors"_a, "modes"_a, "nearest_costs"_a,
              "penalty"_a, "kills_left"_a, "kills_right"_a, "known_score"_a.none() = nb::none(), "limits"_a.none() = nb::none(),
              "states"_a.noconvert().none() = nb::none(), doc);
      });
  for_types<SmallState, LargeState>(
      R"(The losses of a batch of rows by level and set of groups of centers; least_modes_by_shares takes those of all batches.

codes (n,): the level of every row. excess (n, k). weight (n_levels,): of the node's rows. Returns arrays (level, groups, loss): the
loss when the nearest groups of a row, those of the bit mask `groups`, are on the other side, beyond that of its smaller sets.)",
      [&](auto of_type, const char *doc) {
        using State = decltype(of_type);
        m.def("mode_shares", &mode_shares<State>, "codes"_a, "excess"_a.noconvert(), "weight"_a, "survivors"_a, "modes"_a, doc);
      });
  m.def("least_modes_by_shares", &least_modes_by_shares, "level"_a, "groups"_a, "loss"_a, "weight"_a, "distinct"_a,
        "survivors"_a, "modes"_a, "k"_a, "current"_a, "penalty"_a, "kills_left"_a, "kills_right"_a, "known_score"_a.none(),
        "counts"_a.none(), "limits"_a.none(),
        R"(The set of levels of least_induced_modes for one category, from the level, groups and loss of mode_shares.

weight, distinct (n_levels,): the weight and the number of distinct rows of every level. current: the cost of the node.)");
}
