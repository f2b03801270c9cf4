// The best cut of a node, with unchanged subtrees below it.
//
// Every row of the node has two leaves: the one it reaches when sent left, and the one when sent right. A sweep over a column
// begins with all rows on the right and moves bin after bin to the left; what a bin moves to each leaf is its table. Of a
// leaf these are the leaf's own table and that of the other side's rows that would come to it. Most rows of a leaf come to
// the same one: then that gets the leaf's own table, and only the others are added row by row. Leaves with few rows have no
// table: their rows are moved one by one.
#include "refine/cut_tree.hpp"

namespace cutwise {
namespace {

constexpr int64_t kBlockBytes = 1 << 18;  // tables of a block of columns; they should stay in the second cache

struct Sides {
  std::vector<int32_t> leaves;  // of the left side, then of the right one, in tree order
  size_t n_left = 0;
  std::vector<size_t> with_table;  // places of leaves
  std::vector<double> total;       // (n_leaves, width): of the right leaves when all rows go right
};

// What comes to a leaf from the other side: all rows of some of its leaves, by their place, but for those that go elsewhere,
// and single rows.
struct Arrivals {
  std::vector<size_t> leaves;
  std::vector<int32_t> removed, added;

  bool any() const { return !leaves.empty() || !removed.empty() || !added.empty(); }
};

void find_arrivals(const CutTree &tree, const Sides &sides, const std::vector<int32_t> &place, size_t first, size_t last,
                   int32_t other_side, bool may_join, std::vector<Arrivals> &arrivals) {
  const int64_t n_cols = tree.sample().n_cols, n_bins = tree.sample().n_bins();
  std::vector<int32_t> goes_to, count;
  const Router route(tree, other_side);
  for (; first < last; ++first) {
    const int32_t n = tree.n_rows(sides.leaves[first]), *row = tree.rows(sides.leaves[first]);
    goes_to.resize(n);
    count.assign(sides.leaves.size(), 0);
    for (int32_t i = 0; i < n; ++i) ++count[goes_to[i] = place[route(row[i])]];
    const int32_t most = static_cast<int32_t>(std::max_element(count.begin(), count.end()) - count.begin());
    const bool as_one = may_join && n_bins + 2 * (n - count[most]) * n_cols < n * n_cols;
    if (as_one) arrivals[most].leaves.push_back(first);
    for (int32_t i = 0; i < n; ++i) {
      if (as_one && goes_to[i] == most) continue;
      arrivals[goes_to[i]].added.push_back(row[i]);
      if (as_one) arrivals[most].removed.push_back(row[i]);
    }
  }
}

// The rows of the leaves without tables, in the order of a column's bins, and among equals of the leaves.
struct SingleRows {
  struct Row {
    int32_t row, leaf;
  };
  std::vector<Row> rows, by_bin;
  std::vector<int64_t> begin;  // of each bin, and the end

  void sort(const Sample &sample, int32_t column) {
    begin.assign(sample.n_bins(column) + 1, 0);
    for (const Row &each : rows) ++begin[sample.code(each.row, column)];
    int64_t n = 0;
    for (int64_t &at : begin) n += std::exchange(at, n);
    by_bin.resize(rows.size());
    for (const Row &each : rows) by_bin[begin[sample.code(each.row, column)]++] = each;
    std::rotate(begin.begin(), begin.end() - 1, begin.end());
    begin[0] = 0;
  }
};

// Adds up a column's tables bin after bin, and keeps the best value. The leaves' tables begin with the bins of column `first`.
CUTWISE_CLONES void sweep(const Sample &sample, const Sides &sides, const RulesWithTest *rules,
                          const std::vector<const double *> &tables, const SingleRows &single, int32_t first, int32_t column,
                          Scratch &scratch, Recut &best) {
  const int32_t width = sample.width(), n_bins = sample.n_bins(column);
  const size_t n_leaves = sides.leaves.size();
  const int64_t begin = sample.bin_begin[column] - sample.bin_begin[first];
  double *sums = scratch.sums.data(), *cost = scratch.cost.data();
  std::copy(sides.total.begin(), sides.total.end(), sums);
  for (size_t l = 0; l < n_leaves; ++l) cost[l] = sample.cost.of(sums + l * width);
  for (int32_t bin = 0; bin + 1 < n_bins; ++bin) {
    bool any = !single.rows.empty() && single.begin[bin] < single.begin[bin + 1];
    for (int64_t i = any ? single.begin[bin] : 0, end = any ? single.begin[bin + 1] : 0; i < end; ++i) {
      const auto [row, leaf] = single.by_bin[i];
      const size_t l = static_cast<size_t>(leaf);
      if (l < sides.n_left) add_row(sums + l * width, sample.row(row), width);
      else subtract_row(sums + l * width, sample.row(row), width);
      if (i + 1 == end || single.by_bin[i + 1].leaf != leaf) cost[l] = sample.cost.of(sums + l * width);
    }
    for (size_t l : sides.with_table) {
      const double *moved = tables[l] + (begin + bin) * width;
      if (moved[0] == 0.0) continue;
      any = true;
      if (l < sides.n_left) add_row(sums + l * width, moved, width);
      else subtract_row(sums + l * width, moved, width);
      cost[l] = sample.cost.of(sums + l * width);
    }
    if (!any) continue;  // the same sides as one bin before
    double value = 0.0;
    for (size_t l = 0; l < n_leaves; ++l) value += cost[l];
    if (rules != nullptr && value < kInfinite) {
      Size size = rules->elsewhere;
      for (size_t l = 0; l < n_leaves; ++l) size.add(sums[l * width], rules->rule(l, column, l < sides.n_left));
      value += sample.size_price.cost(size);
    }
    if (value < best.value) best = {value, column, bin};
  }
}

}  // namespace

Recut best_recut(const CutTree &tree, int32_t node, Scratch &scratch, bool own_column) {
  const Sample &sample = tree.sample();
  const int32_t width = sample.width();
  const int32_t left = tree.node(node).left, right = tree.node(node).right;
  Sides sides;
  sides.leaves = tree.leaves_below(left);
  sides.n_left = sides.leaves.size();
  const std::vector<int32_t> right_leaves = tree.leaves_below(right);
  sides.leaves.insert(sides.leaves.end(), right_leaves.begin(), right_leaves.end());
  const size_t n_leaves = sides.leaves.size();
  std::vector<int32_t> place(n_leaves ? *std::max_element(sides.leaves.begin(), sides.leaves.end()) + 1 : 0);
  for (size_t l = 0; l < n_leaves; ++l) place[sides.leaves[l]] = static_cast<int32_t>(l);
  std::vector<Arrivals> arrivals(n_leaves);
  find_arrivals(tree, sides, place, 0, sides.n_left, right, !own_column, arrivals);
  find_arrivals(tree, sides, place, sides.n_left, n_leaves, left, !own_column, arrivals);

  int64_t n_added = 0;
  sides.total.assign(n_leaves * width, 0.0);
  for (size_t l = 0; l < n_leaves; ++l) {
    n_added += static_cast<int64_t>(arrivals[l].added.size() + arrivals[l].removed.size());
    if (l < sides.n_left) continue;
    double *total = sides.total.data() + l * width;
    add_row(total, tree.sums(sides.leaves[l]), width);
    for (size_t from : arrivals[l].leaves) add_row(total, tree.sums(sides.leaves[from]), width);
    for (int32_t row : arrivals[l].added) add_row(total, sample.row(row), width);
    for (int32_t row : arrivals[l].removed) subtract_row(total, sample.row(row), width);
  }

  std::optional<RulesWithTest> rules;
  if (sample.size_price.any()) rules.emplace(tree, node, sides.leaves, true);
  std::vector<const double *> own(n_leaves), tables(n_leaves);
  SingleRows single;
  for (size_t l = 0; l < n_leaves; ++l) {
    if (!own_column) own[l] = tree.table(sides.leaves[l], scratch.work);
    const int32_t n = tree.n_rows(sides.leaves[l]), *row = tree.rows(sides.leaves[l]);
    const bool has_many =
        own_column && n + arrivals[l].added.size() >= static_cast<size_t>(sample.n_bins(tree.node(node).column));
    if (own[l] != nullptr || !arrivals[l].leaves.empty() || has_many) {
      sides.with_table.push_back(l);
      continue;
    }
    for (int32_t i = 0; i < n; ++i) single.rows.push_back({row[i], static_cast<int32_t>(l)});
    for (int32_t added : arrivals[l].added) single.rows.push_back({added, static_cast<int32_t>(l)});
  }
  scratch.sums.resize(n_leaves * width);
  scratch.cost.resize(n_leaves);
  Recut best{kInfinite, -1, -1};
  const int32_t end = own_column ? tree.node(node).column + 1 : sample.n_cols;
  for (int32_t first = own_column ? end - 1 : 0, last; first < end; first = last) {
    const int32_t begin = sample.bin_begin[first];
    const int64_t bytes_a_bin = static_cast<int64_t>(sides.with_table.size() * width * sizeof(double));
    for (last = first + 1; last < end; ++last)
      if ((sample.bin_begin[last + 1] - begin) * bytes_a_bin > kBlockBytes) break;
    const int64_t stride = static_cast<int64_t>(sample.bin_begin[last] - begin) * width;
    scratch.tables.resize(std::max<size_t>(scratch.tables.size(), sides.with_table.size() * stride));
    double *table = scratch.tables.data();
    for (size_t l : sides.with_table) {
      const double *own_table = own[l] == nullptr ? nullptr : own[l] + static_cast<int64_t>(begin) * width;
      tables[l] = own_table;
      if (own_table != nullptr && !arrivals[l].any()) continue;
      tables[l] = table;
      if (own_table != nullptr) {
        std::copy(own_table, own_table + stride, table);
      } else {
        std::fill(table, table + stride, 0.0);
        add_to_table(sample, tree.rows(sides.leaves[l]), tree.n_rows(sides.leaves[l]), table, first, last);
      }
      for (size_t from : arrivals[l].leaves) add_numbers(table, own[from] + static_cast<int64_t>(begin) * width, stride);
      const std::vector<int32_t> &added = arrivals[l].added, &removed = arrivals[l].removed;
      add_to_table(sample, added.data(), static_cast<int64_t>(added.size()), table, first, last);
      take_from_table(sample, removed.data(), static_cast<int64_t>(removed.size()), table, first, last);
      table += stride;
    }
    for (int32_t column = first; column < last; ++column) {
      if (!single.rows.empty()) single.sort(sample, column);
      sweep(sample, sides, rules ? &*rules : nullptr, tables, single, first, column, scratch, best);
    }
  }
  scratch.work +=
      own_column ? n_added + tree.n_rows(node) : n_added * sample.n_cols + static_cast<int64_t>(n_leaves) * sample.n_bins();
  return best;
}

bool recut(CutTree &tree, int32_t node, Scratch &scratch, bool own_column) {
  const Recut best = best_recut(tree, node, scratch, own_column);
  const bool gains = best.value < tree.value_below(node) - tree.sample().threshold;
  if (gains) tree.change_cut(node, best.column, best.bin);
  if (!own_column) tree.mark_done(node);
  return gains;
}

}  // namespace cutwise
