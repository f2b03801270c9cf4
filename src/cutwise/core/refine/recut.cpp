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

// What comes to a leaf from the other side: all rows of some of its leaves, by their place, but for those that go elsewhere,
// and single rows.
struct Arrivals {
  std::vector<size_t> leaves;
  std::vector<int32_t> removed, added;

  bool any() const { return !leaves.empty() || !removed.empty() || !added.empty(); }
};

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

// The leaves below a node, by their place, and what is known of each.
struct Sides {
  std::vector<int32_t> leaves;  // of the left side, then of the right one, in tree order
  size_t n_left = 0;
  std::vector<Arrivals> arrivals;
  std::vector<double> total;           // (n_leaves, width): of the right leaves when all rows go right
  std::vector<size_t> with_table;      // places of leaves
  std::vector<const double *> own;     // the leaf's own table of all columns, or none
  std::vector<const double *> tables;  // of a block of columns, with what arrives
  SingleRows single;
  std::optional<RulesWithTest> rules;  // where rules have a price

  Sides(const CutTree &tree, int32_t node) : leaves(tree.leaves_below(tree.node(node).left)), n_left(leaves.size()) {
    const std::vector<int32_t> right = tree.leaves_below(tree.node(node).right);
    leaves.insert(leaves.end(), right.begin(), right.end());
    arrivals.resize(leaves.size());
    own.resize(leaves.size());
    tables.resize(leaves.size());
    if (tree.sample().size_price.any()) rules.emplace(tree, node, leaves, true);
  }
};

// Finds where the rows of the leaves from `first` to `last` arrive when they are sent to the other side.
void find_arrivals(const CutTree &tree, Sides &sides, size_t first, size_t last, int32_t other_side, bool may_join) {
  const int64_t n_cols = tree.sample().n_cols, n_bins = tree.sample().n_bins();
  std::vector<int32_t> place(*std::max_element(sides.leaves.begin(), sides.leaves.end()) + 1), goes_to, count;
  for (size_t l = 0; l < sides.leaves.size(); ++l) place[sides.leaves[l]] = static_cast<int32_t>(l);
  const Router route(tree, other_side);
  for (; first < last; ++first) {
    const int32_t n = tree.n_rows(sides.leaves[first]), *row = tree.rows(sides.leaves[first]);
    goes_to.resize(n);
    count.assign(sides.leaves.size(), 0);
    for (int32_t i = 0; i < n; ++i) ++count[goes_to[i] = place[route(row[i])]];
    const int32_t most = static_cast<int32_t>(std::max_element(count.begin(), count.end()) - count.begin());
    const bool as_one = may_join && n_bins + 2 * (n - count[most]) * n_cols < n * n_cols;
    if (as_one) sides.arrivals[most].leaves.push_back(first);
    for (int32_t i = 0; i < n; ++i) {
      if (as_one && goes_to[i] == most) continue;
      sides.arrivals[goes_to[i]].added.push_back(row[i]);
      if (as_one) sides.arrivals[most].removed.push_back(row[i]);
    }
  }
}

// Adds up the right leaves as they are when all rows go right.
void add_totals(const CutTree &tree, Sides &sides) {
  const Sample &sample = tree.sample();
  const int32_t width = sample.width();
  sides.total.assign(sides.leaves.size() * width, 0.0);
  for (size_t l = sides.n_left; l < sides.leaves.size(); ++l) {
    double *total = sides.total.data() + l * width;
    add_row(total, tree.sums(sides.leaves[l]), width);
    for (size_t from : sides.arrivals[l].leaves) add_row(total, tree.sums(sides.leaves[from]), width);
    for (int32_t row : sides.arrivals[l].added) add_row(total, sample.row(row), width);
    for (int32_t row : sides.arrivals[l].removed) subtract_row(total, sample.row(row), width);
  }
}

// Decides which leaves get tables; the rows of the others are moved one by one.
void choose_tables(const CutTree &tree, Sides &sides, int32_t node, bool own_column, Scratch &scratch) {
  for (size_t l = 0; l < sides.leaves.size(); ++l) {
    const Arrivals &arrivals = sides.arrivals[l];
    if (!own_column) sides.own[l] = tree.table(sides.leaves[l], scratch.work);
    const int32_t n = tree.n_rows(sides.leaves[l]), *row = tree.rows(sides.leaves[l]);
    const bool has_many =
        own_column && n + arrivals.added.size() >= static_cast<size_t>(tree.sample().n_bins(tree.node(node).column));
    if (sides.own[l] != nullptr || !arrivals.leaves.empty() || has_many) {
      sides.with_table.push_back(l);
      continue;
    }
    for (int32_t i = 0; i < n; ++i) sides.single.rows.push_back({row[i], static_cast<int32_t>(l)});
    for (int32_t added : arrivals.added) sides.single.rows.push_back({added, static_cast<int32_t>(l)});
  }
}

// Finds the tables of the columns from `first` to `last`: a leaf's own one where nothing arrives, or else a new one.
void fill_tables(const CutTree &tree, Sides &sides, int32_t first, int32_t last, Scratch &scratch) {
  const Sample &sample = tree.sample();
  const int64_t begin = static_cast<int64_t>(sample.bin_begin[first]) * sample.width();
  const int64_t stride = static_cast<int64_t>(sample.bin_begin[last]) * sample.width() - begin;
  scratch.tables.resize(std::max<size_t>(scratch.tables.size(), sides.with_table.size() * stride));
  double *table = scratch.tables.data();
  for (size_t l : sides.with_table) {
    const Arrivals &arrivals = sides.arrivals[l];
    const double *own = sides.own[l] == nullptr ? nullptr : sides.own[l] + begin;
    sides.tables[l] = own;
    if (own != nullptr && !arrivals.any()) continue;
    sides.tables[l] = table;
    if (own != nullptr) {
      std::copy(own, own + stride, table);
    } else {
      std::fill(table, table + stride, 0.0);
      add_to_table(sample, tree.rows(sides.leaves[l]), tree.n_rows(sides.leaves[l]), table, first, last);
    }
    for (size_t from : arrivals.leaves) add_numbers(table, sides.own[from] + begin, stride);
    add_to_table(sample, arrivals.added.data(), static_cast<int64_t>(arrivals.added.size()), table, first, last);
    take_from_table(sample, arrivals.removed.data(), static_cast<int64_t>(arrivals.removed.size()), table, first, last);
    table += stride;
  }
}

// Adds up a column's tables bin after bin, and keeps the best value. The leaves' tables begin with the bins of column `first`.
CUTWISE_CLONES void sweep(const Sample &sample, const Sides &sides, int32_t first, int32_t column, Scratch &scratch,
                          Recut &best) {
  const SingleRows &single = sides.single;
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
      const double *moved = sides.tables[l] + (begin + bin) * width;
      if (moved[0] == 0.0) continue;
      any = true;
      if (l < sides.n_left) add_row(sums + l * width, moved, width);
      else subtract_row(sums + l * width, moved, width);
      cost[l] = sample.cost.of(sums + l * width);
    }
    if (!any) continue;  // the same sides as one bin before
    double value = 0.0;
    for (size_t l = 0; l < n_leaves; ++l) value += cost[l];
    if (sides.rules && value < kInfinite) {
      Size size = sides.rules->elsewhere;
      for (size_t l = 0; l < n_leaves; ++l) size.add(sums[l * width], sides.rules->rule(l, column, l < sides.n_left));
      value += sample.size_price.cost(size);
    }
    if (value < best.value) best = {value, column, bin};
  }
}

}  // namespace

Recut best_recut(const CutTree &tree, int32_t node, Scratch &scratch, bool own_column) {
  const Sample &sample = tree.sample();
  Sides sides(tree, node);
  const size_t n_leaves = sides.leaves.size();
  find_arrivals(tree, sides, 0, sides.n_left, tree.node(node).right, !own_column);
  find_arrivals(tree, sides, sides.n_left, n_leaves, tree.node(node).left, !own_column);
  add_totals(tree, sides);
  choose_tables(tree, sides, node, own_column, scratch);
  scratch.sums.resize(n_leaves * sample.width());
  scratch.cost.resize(n_leaves);
  Recut best{kInfinite, -1, -1};
  const auto bytes_a_bin = static_cast<int64_t>(sides.with_table.size() * sample.width() * sizeof(double));
  const int32_t end = own_column ? tree.node(node).column + 1 : sample.n_cols;
  for (int32_t first = own_column ? end - 1 : 0, last; first < end; first = last) {
    for (last = first + 1; last < end; ++last)
      if ((sample.bin_begin[last + 1] - sample.bin_begin[first]) * bytes_a_bin > kBlockBytes) break;
    fill_tables(tree, sides, first, last, scratch);
    for (int32_t column = first; column < last; ++column) {
      if (!sides.single.rows.empty()) sides.single.sort(sample, column);
      sweep(sample, sides, first, column, scratch, best);
    }
  }
  int64_t n_added = 0;
  for (const Arrivals &each : sides.arrivals) n_added += static_cast<int64_t>(each.added.size() + each.removed.size());
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
