// ExGreedy's and ExShallow's search: the cut of least induced cost, which is the cost when every row is served by the best
// surviving center on its side.
//
// Laber and Murtinho (2021); Laber, Murtinho, Oliveira (2023), Algorithm 1. Finding the best center of a side takes long, so it
// is done only for those *spans* (all cuts of a column between two neighboring centers) that a lower bound does not rule out.
// The bound: a row that is separated from its nearest center costs at least as much as by its second nearest.
#include <map>

#include "base/arrays.hpp"
#include "base/parallel.hpp"
#include "cuts/depth.hpp"
#include "nodes/separation.hpp"

namespace cutwise {
namespace {

// The score of a cut with the numbers that it is made of; or lower bounds on them, for a set of cuts.
struct Key {
  double score = std::numeric_limits<double>::infinity();
  int64_t induced = std::numeric_limits<int64_t>::max(), depth = 0;
  Cut cut;  // of a set of cuts the lowest

  // The order of bounds.
  friend bool operator<(const Key &a, const Key &b) {
    if (a.score != b.score) return a.score < b.score;
    if (a.induced != b.induced) return a.induced < b.induced;
    return a.cut < b.cut;
  }
};

// The order of cuts: by score, then by induced cost where both scores are infinite, then by feature and threshold.
bool is_before(const DepthScore &depth, const Key &a, const Key &b) {
  if (const int order = depth.compare(a.score, a.induced, a.depth, b.score, b.induced, b.depth)) return order < 0;
  if (std::isinf(a.score) && a.induced != b.induced) return a.induced < b.induced;
  return a.cut < b.cut;
}

// All cuts of a column between two neighboring centers: begin <= threshold < end.
struct Span {
  int32_t feature;
  size_t n_left = 0;  // centers on the left; 0 for a whole column whose spans are still to be found
  double begin = 0.0, end = 0.0;
  Key bound{};
  ValidRange valid{};  // which of its thresholds are valid; the bound is over all of them

  friend bool operator<(const Span &a, const Span &b) { return b.bound < a.bound; }  // lowest bound on top of a heap
};

constexpr size_t kMostSpansAtOnce = 8192;  // spans that share a pass over the rows of a sparse table
template <class State>
struct InducedSearch {
  using Cost = typename State::Cost;
  using Index = typename State::Index;

  SeparationNode<Index, Cost> node;
  const Cost *excess = nullptr;  // (n_rows, k)
  PerRow<Index> second{};        // second nearest surviving cluster
  DepthScore depth{};
  int64_t base = 0, current = 0;  // costs of the node: the part that no cut changes, and the whole

  // How much more a row costs by the best center of the left (right) side than by its nearest center.
  struct Sides {
    int64_t left, right;
  };

  Key best{};
  bool is_valid = false;                  // whether each side of the best cut has as many distinct rows as centers
  const ValidCuts *valid_cuts = nullptr;  // null: every cut that separates centers is valid

  // A bound on cuts that cost at least `by` more than `bound` says.
  Key raised(Key bound, int64_t by) const {
    bound.score += static_cast<double>(by) / static_cast<double>(current);
    bound.induced += by;
    return bound;
  }

  // Whether cuts of this bound may be better than `than`. Without a depth term, the induced cost and the position of the cut
  // decide exactly, so that the first of many equal cuts rules out the others.
  bool may_win(const Key &bound, const Key &than) const {
    if (depth.penalty == 0.0) return bound.induced != than.induced ? bound.induced < than.induced : bound.cut < than.cut;
    return bound < than || DepthScore::is_near(bound.score, than.score);
  }

  // The costs of rows on both sides of a span's cuts, which all separate the centers in the same way.
  struct SpanCosts {
    const InducedSearch &search;
    std::vector<int32_t> clusters[2];  // on the right, on the left
    std::vector<uint8_t> is_left;

    SpanCosts(const InducedSearch &s, const Span &span) : search(s), is_left(s.node.k, 0) {
      const Survivors &all = s.node.survivors;
      for (const int32_t c : all.clusters) {
        is_left[c] = all.coordinates[static_cast<int64_t>(c) * all.n_cols + span.feature] <= span.begin;
        clusters[is_left[c]].push_back(c);
      }
    }

    // How much more a row costs on a side than by its nearest center. Where neither of its two nearest centers is there,
    // `extra` is raised by how much more it costs than by the second nearest: the bound of the span does not include that.
    int64_t of(int32_t row, bool left, int64_t &extra) const {
      const Index nearest = search.node.cluster[row];
      if (static_cast<bool>(is_left[nearest]) == left) return 0;
      const int64_t loss = search.node.loss_of(row);
      if (static_cast<bool>(is_left[search.second[row]]) == left) return loss;
      const Cost *cost = search.excess + row * search.node.k;
      Cost least = std::numeric_limits<Cost>::max();
      for (const int32_t c : clusters[left]) {  // a mask in place of a branch, as costs are in no order
        const Cost here = cost[c];
        least ^= (least ^ here) & -static_cast<Cost>(here < least);
      }
      const int64_t more = least - cost[nearest];
      extra += more - loss;
      return more;
    }
    int64_t of(int32_t row, bool left) const {
      int64_t extra = 0;
      return of(row, left, extra);
    }

    Sides both(int32_t row) const { return {of(row, true), of(row, false)}; }
  };

  // Appends the spans of a column with their bounds; those without a cut that may be valid are left out.
  void find_spans(int32_t feature, std::vector<Span> &spans) const {
    const Column &column = node.encoded.columns[feature];
    const CenterLine line = node.survivors.along(feature);
    if (line.coordinate.front() == line.coordinate.back() || !node.allows_column(feature)) return;
    std::vector<int32_t> span_of(line.size(), -1);
    spans.reserve(line.size() - 1);
    for (size_t n_left = 1; n_left < line.size(); ++n_left) {
      if (line.coordinate[n_left] == line.coordinate[n_left - 1]) continue;
      if (node.limits && !node.limits->allow_centers(n_left, line.size() - n_left)) continue;
      span_of[n_left] = static_cast<int32_t>(spans.size());
      spans.push_back({feature, n_left, line.coordinate[n_left - 1], line.coordinate[n_left]});
    }
    auto add = [&](size_t n_left, int64_t loss, int64_t left_low, int64_t left_high) {
      if (n_left == 0 || n_left >= line.size() || span_of[n_left] < 0) return;
      Span &span = spans[span_of[n_left]];
      if (!may_be_valid(span, left_low, left_high)) return;
      const int64_t induced = current + loss;
      // The least score and the least induced cost may be those of different cuts: they are still bounds on every cut.
      Key &bound = span.bound;
      bound.cut = {feature, span.begin};
      bound.induced = std::min(bound.induced, induced);
      if (depth.quick_bound(induced, left_low, left_high, count_of(span), feature) < bound.score)
        bound.score = std::min(bound.score, depth.score(induced, depth.depth_of(left_low, left_high, count_of(span), feature)));
    };
    if (node.prefers_rows(column)) {
      const std::vector<RowValue> sorted = sorted_rows(node, feature);
      Sweep sweep(node, line);
      walk_rows(sweep, sorted, std::numeric_limits<double>::infinity(),
                [&](double, const auto &at) { add(at.n_left(), at.loss(), at.count(), at.count()); });
    } else {
      walk_bins(
          node, feature, line, [](int32_t) { return false; },
          [&](double, const auto &at, bool) { add(at.n_left(), at.loss(), at.count(), at.count()); },
          [&](int32_t, const std::vector<int64_t> &bounds, const auto &at) {
            for (size_t i = 0; i < bounds.size(); ++i)
              add(at.n_left() + i, bounds[i], at.count() - at.count_in_bin(), at.count());
          });
    }
    const auto has_no_cut = [](const Span &span) { return span.bound.cut.feature < 0; };
    spans.erase(std::remove_if(spans.begin(), spans.end(), has_no_cut), spans.end());
  }

  int64_t count_of(const Span &span) const { return static_cast<int64_t>(span.n_left); }

  // A valid cut has at least as many rows as centers on each side, and every row has a weight of at least 1.
  bool may_be_valid(const Span &span, int64_t left_low, int64_t left_high) const {
    if (!valid_cuts || depth.points == 0) return true;
    return left_high >= count_of(span) && depth.points - left_low >= depth.centers - count_of(span);
  }

  // Whether cuts of a span with so many rows on the left may be better than `mine`, by a bound that is faster than the score.
  bool may_beat(const Key &mine, int64_t induced, int64_t left_low, int64_t left_high, const Span &span) const {
    const double bound = depth.quick_bound(induced, left_low, left_high, count_of(span), span.feature);
    return bound <= mine.score || DepthScore::is_near(bound, mine.score);
  }

  void offer(const Span &span, double threshold, int64_t induced, int64_t left, Key &mine) const {
    if (!span.valid.holds(threshold) || !may_be_valid(span, left, left) || !may_beat(mine, induced, left, left, span)) return;
    const int64_t deep = depth.depth_of(left, left, count_of(span), span.feature);
    const Key key{depth.score(induced, deep), induced, deep, {span.feature, threshold}};
    if (mine.cut.feature < 0 || is_before(depth, key, mine)) mine = key;
  }

  // A row, or rows of one value. cost: how much the induced cost changes when it moves from the right side to the left.
  struct Passed {
    double value;
    int64_t cost, count;
  };

  std::vector<Passed> passed_rows(const SpanCosts &sides, const std::vector<RowValue> &sorted) const {
    std::vector<Passed> passed;
    passed.reserve(sorted.size());
    for (const RowValue &row : sorted) {
      const Sides cost = sides.both(row.row);
      passed.push_back({row.value, cost.left - cost.right, node.count_of(row.row)});
    }
    return passed;
  }

  // Offers every cut of the span at the values of sorted rows. sum, count: the induced cost, and the weight on the left, of the
  // cut before the first of them. from_begin: whether the cut at the begin of the span is among theirs.
  void sweep_rows(const Span &span, const std::vector<Passed> &sorted, int64_t sum, int64_t count, bool from_begin,
                  Key &mine) const {
    size_t i = 0;
    auto pass = [&] {
      sum += sorted[i].cost;
      count += sorted[i++].count;
    };
    while (i < sorted.size() && sorted[i].value <= span.begin) pass();
    if (from_begin) offer(span, span.begin, sum, count, mine);
    while (i < sorted.size() && sorted[i].value < span.end) {
      const double value = sorted[i].value;
      while (i < sorted.size() && sorted[i].value == value) pass();
      offer(span, value, sum, count, mine);
    }
  }

  // The sums of both() over all rows of the node.
  Sides all_rows(const SpanCosts &sides) const {
    Sides all{0, 0};
    for (int64_t i = 0; i < node.n; ++i) {
      const Sides cost = sides.both(node.rows[i]);
      all.left += cost.left;
      all.right += cost.right;
    }
    return all;
  }

  // Sums over the rows that store a value in the column of a span, for a sparse table.
  struct StoredSums {
    int32_t feature, sides;  // sides: index of the SpanCosts, which spans share that separate the centers in the same way
    double begin, end;
    int64_t cost = 0, count = 0, n_rows = 0;  // all rows that store a value
    int64_t left_cost = 0, left_count = 0;    // the rows left of all cuts of the span
    std::vector<Passed> inside{};             // the rows between its cuts

    void add(const Passed &row) {
      cost += row.cost;
      count += row.count;
      ++n_rows;
      add_to_side(row);
    }
    void add_to_side(const Passed &rows) {
      if (rows.value <= begin) {
        left_cost += rows.cost;
        left_count += rows.count;
      } else if (rows.value < end) {
        inside.push_back(rows);
      }
    }
  };

  template <class T>
  void add_stored(const Csr<T> &values, const std::vector<SpanCosts> &sides, std::vector<StoredSums> &spans) const {
    std::vector<int32_t> first(node.encoded.n_cols(), -1);
    for (size_t j = spans.size(); j-- > 0;) first[spans[j].feature] = static_cast<int32_t>(j);
    std::vector<int64_t> cost(sides.size()), known_of(sides.size(), -1);  // known_of: the row that `cost` was computed for
    for (int64_t i = 0; i < node.n; ++i) {
      const int32_t row = node.rows[i];
      const int64_t count = node.count_of(row);
      for (int64_t p = values.indptr[row]; p < values.indptr[row + 1]; ++p) {
        const int32_t f = values.indices[p];
        if (first[f] < 0) continue;
        for (auto j = static_cast<size_t>(first[f]); j < spans.size() && spans[j].feature == f; ++j) {
          const int32_t s = spans[j].sides;
          if (known_of[s] != i) {
            const Sides both = sides[s].both(row);
            cost[s] = both.left - both.right;
            known_of[s] = i;
          }
          spans[j].add({static_cast<double>(values.data[p]), cost[s], count});
        }
      }
    }
  }

  // Evaluates spans of a sparse table, sorted by column, in one pass over the stored values; the zeros of a column follow from
  // the sums over all rows.
  void evaluate_stored(Span *spans, size_t n, Key &mine) const {
    std::map<std::vector<uint8_t>, int32_t> known;
    std::vector<SpanCosts> sides;
    std::vector<Sides> all;  // of all rows
    std::vector<StoredSums> sums;
    sums.reserve(n);
    for (size_t j = 0; j < n; ++j) {
      SpanCosts costs(*this, spans[j]);
      const auto [at, is_new] = known.emplace(costs.is_left, static_cast<int32_t>(sides.size()));
      if (is_new) {
        all.push_back(all_rows(costs));
        sides.push_back(std::move(costs));
      }
      sums.push_back({spans[j].feature, at->second, spans[j].begin, spans[j].end});
    }
    node.matrix.visit([&](const auto &values) {
      if constexpr (std::decay_t<decltype(values)>::is_csr) add_stored(values, sides, sums);
    });
    for (size_t j = 0; j < n; ++j) {
      StoredSums &stored = sums[j];
      const auto [left, right] = all[stored.sides];
      if (stored.n_rows < node.n) stored.add_to_side({0.0, left - right - stored.cost, depth.points - stored.count});
      sort_by_value(stored.inside);
      const int64_t sum = current + right + stored.left_cost;
      evaluate_valid(spans[j], [&](Key &key) { sweep_rows(spans[j], stored.inside, sum, stored.left_count, true, key); }, mine);
    }
  }

  // Costs of the rows of a bin: all on the left, all on the right, and each on its cheaper side.
  struct Bin {
    int64_t left = 0, right = 0, least = 0, count = 0;
  };

  // The range of bins (without the last) that are neither left of all cuts of a span nor right of all.
  std::pair<int32_t, int32_t> bins_between(const Span &span) const {
    const Column &column = node.encoded.columns[span.feature];
    const double *low = node.encoded.low.data() + column.value_begin;
    const double *high = node.encoded.high.data() + column.value_begin;
    int32_t first = 0, last = column.n_bins;
    while (first < column.n_bins && high[first] <= span.begin) ++first;
    while (last > first && low[last - 1] >= span.end) --last;
    return {first, last};
  }

  // A bin of several values inside which the best cut may lie. sum, count, from_begin: as sweep_rows() takes them.
  struct BinCandidate {
    int32_t bin;
    int64_t sum, count;
    Key bound;
    bool from_begin;
  };

  // Offers the cuts of a span between its bins, of which `first` is the first, and returns the bins inside which a better one
  // may lie. sum, count: the induced cost, and the weight on the left, of the cut before the first bin.
  std::vector<BinCandidate> offer_around(const Span &span, int32_t first, const std::vector<Bin> &bins, int64_t sum,
                                         int64_t count, Key &mine) const {
    const Column &column = node.encoded.columns[span.feature];
    const double *low = node.encoded.low.data() + column.value_begin;
    const double *high = node.encoded.high.data() + column.value_begin;
    const bool begin_inside = !bins.empty() && low[first] <= span.begin;
    if (!begin_inside) offer(span, span.begin, sum, count, mine);
    std::vector<BinCandidate> candidates;
    for (size_t j = 0; j < bins.size(); ++j) {
      const Bin &bin = bins[j];
      const int32_t b = first + static_cast<int32_t>(j);
      const bool from_begin = j == 0 && begin_inside;
      const int64_t induced = sum - bin.right + bin.least;
      if (low[b] < high[b] && bin.count > 0 && span.valid.reaches(low[b], high[b])) {
        if (may_beat(mine, induced, count, count + bin.count, span)) {
          const int64_t deep = depth.depth_of(count, count + bin.count, count_of(span), span.feature);
          const Cut least{span.feature, std::max(low[b], span.begin)};
          candidates.push_back({b, sum, count, {depth.score(induced, deep), induced, deep, least}, from_begin});
        }
      } else if (bin.count == 0 && from_begin) {
        offer(span, span.begin, sum, count, mine);
      }
      sum += bin.left - bin.right;
      count += bin.count;
      if (high[b] < span.end) offer(span, high[b], sum, count, mine);
    }
    return candidates;
  }

  void evaluate(const Span &span, Key &mine) const {
    const Column &column = node.encoded.columns[span.feature];
    const SpanCosts sides(*this, span);
    const auto [first, last] = bins_between(span);
    std::vector<Bin> middle(last - first);
    int64_t sum = current, count = 0;
    int64_t extra = 0;  // what the rows so far cost beyond the bound of the span, which ends the pass once that is too much
    const BinReader bin_of(node.encoded, column);
    const double room = mine.cut.feature < 0 ? std::numeric_limits<double>::infinity()
                                             : (mine.score - span.bound.score) * static_cast<double>(current);
    for (int64_t i = 0; i < node.n; ++i) {
      const int32_t row = node.rows[i], bin = bin_of(row);
      if (bin < first || bin >= last) {
        sum += sides.of(row, bin < first, extra);
        if (bin < first) count += node.count_of(row);
        if (static_cast<double>(extra) > room && !may_win(raised(span.bound, extra), mine)) return;
      } else {
        const Sides cost = sides.both(row);
        Bin &here = middle[bin - first];
        here.left += cost.left;
        here.right += cost.right;
        here.least += std::min(cost.left, cost.right);
        here.count += node.count_of(row);
      }
    }
    for (const Bin &bin : middle) sum += bin.right;
    std::vector<BinCandidate> candidates = offer_around(span, first, middle, sum, count, mine);
    const auto loses = [&](const BinCandidate &bin) { return !may_win(bin.bound, mine); };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), loses), candidates.end());
    if (candidates.empty()) return;
    SortedBins sorted{span.feature, {}};
    for (const BinCandidate &bin : candidates) sorted.bins.push_back(bin.bin);
    sort_bins(node, &sorted, 1);
    for (size_t j = 0; j < candidates.size(); ++j)
      sweep_rows(span, passed_rows(sides, sorted.rows[j]), candidates[j].sum, candidates[j].count, candidates[j].from_begin,
                 mine);
  }

  // Offers the best valid cut of a span to `mine`. evaluate(key) offers the best cut within span.valid. Finding the valid
  // thresholds takes long, so it is done only where the best cut would win; if that cut is not valid, evaluate() runs again.
  template <class Evaluate>
  void evaluate_valid(Span &span, Evaluate &&evaluate, Key &mine) const {
    if (node.limits) span.valid = node.allowed_cuts(span.feature).range(span.n_left);
    if (span.valid.is_empty()) return;
    const Key known = mine;
    evaluate(mine);
    if (!valid_cuts || !is_before(depth, mine, known)) return;
    const size_t n_right = node.survivors.clusters.size() - span.n_left;
    const ValidRange valid = valid_cuts->between(span.feature, span.begin, span.end, span.n_left, n_right);
    if (valid.holds(mine.cut.threshold)) return;
    span.valid = span.valid.within(valid);
    mine = known;
    evaluate(mine);
  }

  // The best valid cut between bins, where there are no rows. sums (n_bins, 2 k + 1): see add_to_tallies. valid (2, d, k): the
  // first valid threshold, and the end of them, by column and number of centers on the left.
  void run_around(const int64_t *sums, const double *valid) {
    const int64_t d = node.encoded.n_cols(), width = 2 * node.k + 1;
    *node.encoded.requested = {};
    std::vector<std::pair<int64_t, Key>> candidates;
    for (int32_t f = 0; f < d; ++f) {
      const Column &column = node.encoded.columns[f];
      const CenterLine line = node.survivors.along(f);
      if (!node.allows_column(f)) continue;
      AllowedCuts allowed = node.allowed_cuts(f);
      for (size_t n_left = 1; n_left < line.size(); ++n_left) {
        if (line.coordinate[n_left] == line.coordinate[n_left - 1]) continue;
        const int64_t s = static_cast<int64_t>(n_left);
        Span span{f, n_left, line.coordinate[n_left - 1], line.coordinate[n_left]};
        span.valid = allowed.range(n_left).within({valid[f * node.k + s], valid[(d + f) * node.k + s]});
        if (span.valid.is_empty()) continue;
        const auto [first, last] = bins_between(span);
        std::vector<Bin> middle;
        int64_t sum = base, count = 0;
        for (int32_t b = 0; b < column.n_bins; ++b) {
          const int64_t *cell = sums + (column.slot_begin + b) * width;
          const int64_t left = cell[2 + s], right = cell[1 + node.k + s];
          sum += b < first ? left : right;
          if (b < first) count += cell[1];
          else if (b < last) middle.push_back({left, right, cell[2], cell[1]});
        }
        for (const BinCandidate &bin : offer_around(span, first, middle, sum, count, best))
          candidates.emplace_back(column.value_begin + bin.bin, bin.bound);
      }
    }
    for (const auto &[bin, bound] : candidates)
      if (may_win(bound, best)) node.encoded.requested->add(bin, bound.score);
  }

  // Finds the best valid cut or, where there is none, the best one that separates centers.
  void run(int n_jobs) {
    const ValidCuts cuts(node);
    if (cuts.has_distinct(node.survivors.clusters.size())) {
      valid_cuts = &cuts;
      search(n_jobs);
      valid_cuts = nullptr;
      is_valid = best.cut.feature >= 0;
    }
    if (best.cut.feature < 0) search(n_jobs);
  }

  using Heap = std::deque<Span>;  // not a vector, which takes up to three times its size when it grows

  // A bound of every column, as a span without centers on the left; its own spans are found when it is the lowest.
  Heap column_bounds(int n_jobs) const {
    const int32_t d = node.encoded.n_cols();
    Heap heap(d, Span{-1});
    parallel_for(n_jobs, d, [&](int64_t f) {
      const auto feature = static_cast<int32_t>(f);
      if (is_sparse() && depth.penalty == 0.0) {  // this bound, which needs no sorted centers, rules out most columns
        if (node.survivors.are_equal_along(feature) || !node.allows_column(feature)) return;
        const int64_t induced = current + least_loss_bound(node, feature);
        heap[f] = {
            feature, 0, 0.0, 0.0, {depth.price(induced), induced, 0, {feature, -std::numeric_limits<double>::infinity()}}};
        return;
      }
      thread_local std::vector<Span> found;  // reused, as there may be many thousand columns
      found.clear();
      find_spans(feature, found);
      heap[f].feature = found.empty() ? -1 : feature;
      for (const Span &span : found) heap[f].bound = std::min(heap[f].bound, span.bound);
    });
    heap.erase(std::remove_if(heap.begin(), heap.end(), [](const Span &column) { return column.feature < 0; }), heap.end());
    std::make_heap(heap.begin(), heap.end());
    return heap;
  }

  bool is_sparse() const { return node.encoded.sparse && node.histogram; }
  bool may_be_best(const Key &bound) const { return best.cut.feature < 0 || may_win(bound, best); }
  bool may_go_on(const Heap &heap) const { return !heap.empty() && may_be_best(heap.front().bound); }

  // Takes up to `size` spans of the lowest bounds.
  std::vector<Span> take_lowest(Heap &heap, size_t size) const {
    std::vector<Span> lowest, found;
    while (lowest.size() < size && may_go_on(heap)) {
      std::pop_heap(heap.begin(), heap.end());
      const Span next = heap.back();
      heap.pop_back();
      if (next.n_left > 0) {
        lowest.push_back(next);
        continue;
      }
      found.clear();
      find_spans(next.feature, found);
      for (const Span &span : found) {
        if (!may_be_best(span.bound)) continue;
        heap.push_back(span);
        std::push_heap(heap.begin(), heap.end());
      }
    }
    return lowest;
  }

  void search(int n_jobs) {
    Heap heap = column_bounds(n_jobs);
    // The spans of sparse columns share a pass over the rows. The first passes take few, as their cuts may rule out the others.
    size_t size = is_sparse() ? 4 : static_cast<size_t>(std::max(1, n_jobs));
    for (; may_go_on(heap); size = is_sparse() ? std::min(4 * size, kMostSpansAtOnce) : size) {
      std::vector<Span> batch = take_lowest(heap, size);
      const size_t n = batch.size(), n_pieces = is_sparse() ? std::min<size_t>(n, std::max(1, n_jobs)) : n;
      if (is_sparse())
        std::sort(batch.begin(), batch.end(), [](const Span &a, const Span &b) { return a.feature < b.feature; });
      std::vector<Key> keys(n_pieces, best);
      parallel_for(n_jobs, static_cast<int64_t>(n_pieces), [&](int64_t i) {
        Span *spans = batch.data() + n * i / n_pieces;
        if (is_sparse()) evaluate_stored(spans, batch.data() + n * (i + 1) / n_pieces - spans, keys[i]);
        else evaluate_valid(*spans, [&](Key &key) { evaluate(*spans, key); }, keys[i]);
      });
      for (const Key &key : keys)
        if (key.cut.feature >= 0 && (best.cut.feature < 0 || is_before(depth, key, best))) best = key;
    }
  }
};

// Score, induced cost, feature, threshold, whether each side has at least as many distinct rows as centers.
using FoundInduced = std::optional<std::tuple<double, int64_t, int32_t, double, bool>>;

template <class State>
FoundInduced best_induced_cut(const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<typename State::Cost> excess,
                              In2<typename State::Word> states, const Weights &weights, std::optional<In3<int64_t>> histogram,
                              In2<int64_t> totals, In2<int64_t> nearest_costs, In2<double> coordinates, In1<int32_t> survivors,
                              double penalty, In1<uint8_t> kills_left, In1<uint8_t> kills_right, const NodeLimits *limits,
                              int n_jobs) {
  const int64_t k = excess.shape(1);
  require(has_shape(excess, encoded.n_rows) && has_shape(states, encoded.n_rows, State::width()),
          "costs and states have one line per encoded row");
  const auto *state = reinterpret_cast<const State *>(states.data());
  require(has_shape(nearest_costs, k, 2), "nearest_costs is of shape (k, 2)");
  require(has_shape(coordinates, k, encoded.n_cols()), "coordinates is of shape (k, d)");
  require(survivors.size() >= 2, "a node is cut when it has two surviving clusters");
  require(has_shape(totals, k, 1) || has_shape(totals, k, 2), "totals is of shape (k, 1 or 2)");
  require(has_shape(histogram, encoded.n_slots, k, totals.shape(1)),
          "histogram has one line per slot, and as many cells as totals");
  require(has_shape(kills_left, encoded.n_cols()) && has_shape(kills_right, encoded.n_cols()),
          "kills_left and kills_right have one entry per column");
  InducedSearch<State> search{{NodeRows(encoded, matrix, rows), data_or_null(histogram), totals.data(),
                               static_cast<int>(totals.shape(1)), coordinates, survivors, limits}};
  search.node.cluster = State::nearest_of(state);
  search.node.loss = State::loss_of(state);
  search.node.count = {checked(weights, encoded.n_rows)};
  search.excess = excess.data();
  search.second = State::second_of(state);
  {
    const GilRelease release;
    int64_t counted = 0;
    for (size_t j = 0; j < survivors.size(); ++j) {
      const int64_t c = survivors(j);
      search.base += nearest_costs.data()[2 * c];
      search.current += nearest_costs.data()[2 * c] + nearest_costs.data()[2 * c + 1];
      if (totals.shape(1) == 2) counted += totals.data()[c * 2 + 1];
    }
    search.depth = {search.current, counted,           static_cast<int64_t>(survivors.size()),
                    penalty,        kills_left.data(), kills_right.data()};
    search.run(n_jobs);
  }
  if (search.best.cut.feature < 0) return std::nullopt;
  return std::make_tuple(search.best.score, search.best.induced, search.best.cut.feature, search.best.cut.threshold,
                         search.is_valid);
}

std::optional<std::tuple<double, int64_t, int32_t, double>> best_cut_of_sides(
    const Encoded &bins, const Matrix &matrix, In2<int64_t> sums, int64_t base, In2<double> coordinates, In1<int32_t> survivors,
    double penalty, In1<uint8_t> kills_left, In1<uint8_t> kills_right, In3<double> valid, const NodeLimits *limits) {
  const int64_t k = coordinates.shape(0), d = bins.n_cols(), width = 2 * k + 1;
  require(bins.requested && has_shape(sums, bins.n_slots, width), "sums has a line for each bin");
  require(d > 0 && has_shape(coordinates, k, d) && has_shape(kills_left, d) && has_shape(kills_right, d) &&
              has_shape(valid, 2, d, k),
          "there is one of everything for each column");
  InducedSearch<LargeState> search{{NodeRows(bins, matrix), nullptr, nullptr, 1, coordinates, survivors, limits}};
  search.base = search.current = base;
  int64_t points = 0;
  for (int64_t b = 0; b < bins.columns[0].n_bins; ++b) {
    points += sums.data()[b * width + 1];
    search.current += sums.data()[b * width + 2];
  }
  search.depth = {search.current,    points, static_cast<int64_t>(survivors.size()), penalty, kills_left.data(),
                  kills_right.data()};
  search.run_around(sums.data(), valid.data());
  if (search.best.cut.feature < 0) return std::nullopt;
  return std::make_tuple(search.best.score, search.best.induced, search.best.cut.feature, search.best.cut.threshold);
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_induced(nb::module_ &m) {
  for_types<SmallState, MiddleState, LargeState>(
      R"(The cut of least Price + penalty * DExp with a surviving center on each side (Laber, Murtinho, Oliveira 2023, Algorithms 1-3).

excess (n_rows, k): costs above the row's base. states: the records of update_two_nearest with the two cheapest surviving
clusters of every row, and its loss when it is separated from the first; (n_rows, 4) int16 or, from 2**15 clusters on,
(n_rows, 3) int32 for int32 costs, (n_rows, 2) int64 for int64 costs. histogram (n_slots, k, 1 or 2) or None: losses, and
weights when penalty is not 0, by slot and nearest cluster; totals (k, 1 or 2): the same by nearest cluster. nearest_costs
(k, 2): base, and excess by the nearest cluster, summed over the rows by nearest cluster. coordinates (k, d). kills_left,
kills_right (d,): 1 where a cut of the column makes an ancestor's condition redundant on that side.

Returns (score, induced cost, feature, threshold, whether each side has at least as many distinct rows as centers), or None when
no cut separates the centers.)",
      [&](auto of_type, const char *doc) {
        using State = decltype(of_type);
        m.def("best_induced_cut", &best_induced_cut<State>, "encoded"_a, "matrix"_a, "rows"_a, "excess"_a.noconvert(),
              "states"_a.noconvert(), "weights"_a.none(), "histogram"_a.none(), "totals"_a, "nearest_costs"_a, "coordinates"_a,
              "survivors"_a, "penalty"_a, "kills_left"_a, "kills_right"_a, "limits"_a.none() = nb::none(), "n_jobs"_a = 1, doc);
      });
  m.def(
      "best_cut_of_sides", &best_cut_of_sides, "bins"_a, "matrix"_a, "sums"_a, "base"_a, "coordinates"_a, "survivors"_a,
      "penalty"_a, "kills_left"_a, "kills_right"_a, "valid"_a, "limits"_a.none(),
      R"(The best cut between bins without rows, by the score of best_induced_cut; bins inside which a better one may lie are requested.

sums (n_bins, 2 k + 1): as add_to_tallies gives them with an order. base: the cost of all rows that no cut changes. valid
(2, d, k): the first valid threshold, and the end of them, by column and number of centers on the left. Returns (score, induced
cost, feature, threshold), or None when no valid cut separates the centers.)");
}
