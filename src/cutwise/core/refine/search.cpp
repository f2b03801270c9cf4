// The changes of a search, and their order; see README.md for the parts.
#include <unordered_map>

#include "base/distinct_rows.hpp"
#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "refine/cut_tree.hpp"

namespace cutwise {
namespace {

struct SearchSettings {
  int32_t n_deletions, n_insertions;
  double
      tolerance;  // a pair of changes is tried when it is estimated to raise the value by less, and given up when it still does
  int32_t n_leaves;
  int64_t most_work;  // cuts and leaves are moved no more after it
};

// A tree that a search accepted, after so much work.
struct Step {
  int64_t work;
  double value;
  TreeCuts cuts;
};

// Always the same numbers (SplitMix64).
class Random {
 public:
  uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  // Of an exponential distribution with mean 2, rounded down: e^(-1/2) is the chance to go on.
  int64_t rank() {
    int64_t rank = 0;
    while (next() % 1000000 < 606531) ++rank;
    return rank;
  }

 private:
  uint64_t state_ = 0;
};

class Search {
 public:
  Search(const SearchSettings &settings, Interrupt &interrupt) : settings_(settings), interrupt_(interrupt) {}

  int64_t work() const { return scratch_.work; }
  std::vector<Step> steps;

  void record(const CutTree &tree, double value) {
    steps.push_back({scratch_.work, value, tree.cuts()});
    interrupt_.found(value);
  }

  // Removes leaves without rows, and adds leaves where they gain most. False when no leaf can be split any more.
  bool complete(CutTree &tree) {
    tree.drop_empty_leaves();
    while (tree.n_leaves() < settings_.n_leaves) {
      const std::vector<Insertion> found = insertions(tree, 1);
      if (found.empty()) return false;
      tree.insert_leaf(found[0].above, found[0].column, found[0].bin, found[0].new_on_left);
    }
    return true;
  }

  // Chooses every cut again, from the root down and back up, until nothing changes; or only thresholds, in a few passes.
  //
  // Gives up, and returns false, once the value is above a limit after a pass.
  bool reoptimize(CutTree &tree, double limit = kInfinite, bool thresholds_only = false) {
    std::vector<int32_t> nodes = tree.nodes_below(tree.root());
    bool changed = true;
    for (int pass = 0; changed && (thresholds_only ? pass < 4 : has_work()); ++pass) {
      changed = false;
      for (int32_t node : nodes) {
        if (tree.is_leaf(node) || !tree.node(node).changed) continue;
        interrupt_.check();
        changed |= recut(tree, node, scratch_, thresholds_only);
      }
      if (limit < kInfinite && tree.value() > limit) return false;
      std::reverse(nodes.begin(), nodes.end());
    }
    return true;
  }

  // Moves leaves to other places as long as that gains.
  void swap(CutTree &tree) {
    double value = tree.value();
    while (has_work() && swap_once(tree, value)) record(tree, value);
  }

  // Restarts from the best tree with some leaves moved at random, until the work is used up.
  void iterate(CutTree &tree, int64_t work) {
    Random random;
    double value = tree.value();
    while (scratch_.work < work) {
      const int64_t before = scratch_.work;
      CutTree other = tree;
      if (!perturb(other, random)) break;
      reoptimize(other);
      double other_value = other.value();
      while (swap_once(other, other_value)) continue;
      if (other_value < value - tree.sample().threshold) {
        tree = std::move(other);
        value = other_value;
        record(tree, value);
      }
      if (scratch_.work == before) break;
    }
  }

 private:
  bool has_work() const { return scratch_.work < settings_.most_work; }

  template <class Change>
  static void keep_best(std::vector<Change> &changes, size_t n) {
    std::stable_sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) { return a.change < b.change; });
    if (changes.size() > n) changes.erase(changes.begin() + static_cast<int64_t>(n), changes.end());
  }

  // The best insertion above every node, the best first, at most n.
  std::vector<Insertion> insertions(const CutTree &tree, size_t n) {
    std::vector<Insertion> found;
    for (int32_t node : tree.nodes_below(tree.root())) {
      if (!has_room(tree, node)) continue;
      const Insertion best = insertion_above(tree, node);
      if (best.change < kInfinite) found.push_back(best);
    }
    keep_best(found, n);
    return found;
  }

  // Looked for once as long as nothing changes below; how long rules get, however, is a matter of the whole tree.
  Insertion insertion_above(const CutTree &tree, int32_t node) {
    constexpr size_t kMostKnown = 1 << 16;
    interrupt_.check();
    if (tree.sample().size_price.any()) return best_insertion(tree, node, scratch_);
    if (known_.size() > kMostKnown) known_.clear();
    const auto [known, is_new] = known_.try_emplace(tree.node(node).version);
    if (is_new) known->second = best_insertion(tree, node, scratch_);
    return known->second;
  }

  // Whether no test above a node would make a leaf too deep.
  static bool has_room(const CutTree &tree, int32_t node) {
    const int32_t max_depth = tree.sample().max_depth;
    if (tree.n_leaves() <= max_depth) return true;
    const std::vector<int32_t> leaves = tree.leaves_below(node);
    return std::all_of(leaves.begin(), leaves.end(), [&](int32_t leaf) { return tree.rule(leaf).levels < max_depth; });
  }

  bool swap_once(CutTree &tree, double &value) {
    if (tree.n_leaves() < 3) return false;
    const double threshold = tree.sample().threshold;
    struct Deletion {
      double change;
      int32_t leaf;
    };
    std::vector<Deletion> deletions;
    for (int32_t leaf : tree.leaves_below(tree.root())) deletions.push_back({deletion_change(tree, leaf, scratch_), leaf});
    keep_best(deletions, settings_.n_deletions);
    struct Pair {
      double estimate;
      size_t deletion;
      Insertion insertion;
    };
    std::vector<Pair> pairs;
    std::vector<CutTree> shorter;
    for (size_t i = 0; i < deletions.size(); ++i) {
      shorter.push_back(tree);
      shorter.back().remove_leaf(deletions[i].leaf);
      const size_t n_pairs = pairs.size();
      for (const Insertion &insertion : insertions(shorter.back(), settings_.n_insertions)) {
        const double estimate = deletions[i].change + insertion.change;
        // A change of nothing is the same tree again.
        if (estimate < settings_.tolerance && std::fabs(estimate) > threshold)
          pairs.push_back({estimate, shorter.size() - 1, insertion});
      }
      if (pairs.size() == n_pairs) shorter.pop_back();
    }
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair &a, const Pair &b) { return a.estimate < b.estimate; });
    double tried = -kInfinite;
    for (const Pair &pair : pairs) {
      if (!has_work()) break;
      if (pair.estimate - tried < threshold) continue;  // the same tree by another way
      tried = pair.estimate;
      CutTree other = shorter[pair.deletion];
      other.insert_leaf(pair.insertion.above, pair.insertion.column, pair.insertion.bin, pair.insertion.new_on_left);
      // Thresholds alone tell almost always whether a pair gains, at a tenth of the time; rules get shorter by other columns.
      if (!tree.sample().size_price.any()) {
        reoptimize(other, kInfinite, true);
        if (!(other.value() < value - threshold)) continue;
      }
      if (!reoptimize(other, value + settings_.tolerance)) continue;
      const double other_value = other.value();
      if (!(other_value < value - threshold)) continue;
      tree = std::move(other);
      value = other_value;
      return true;
    }
    return false;
  }

  bool perturb(CutTree &tree, Random &random) {
    const int64_t n = std::min<int64_t>(1 + random.below(3), tree.n_leaves() - 2);
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<int32_t> leaves = tree.leaves_below(tree.root());
      tree.remove_leaf(leaves[random.below(static_cast<int64_t>(leaves.size()))]);
    }
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<Insertion> found = insertions(tree, 12);
      if (found.empty()) return false;
      const Insertion &at = found[std::min<size_t>(random.rank(), found.size() - 1)];
      tree.insert_leaf(at.above, at.column, at.bin, at.new_on_left);
    }
    return n > 0;
  }

  const SearchSettings settings_;
  Interrupt &interrupt_;
  Scratch scratch_;
  std::unordered_map<int64_t, Insertion> known_;  // by the version of the node
};

TreeCuts read_cuts(const TreeArrays &arrays, const Sample &sample) {
  TreeCuts cuts = read_tree_cuts(arrays, sample.n_cols);
  for (size_t node = 0; node < cuts.column.size(); ++node)
    require(cuts.column[node] < 0 || (cuts.threshold[node] >= -1.0 && cuts.threshold[node] < 256.0),
            "a threshold is the number of a bin, or -1");
  return cuts;
}

using StepTaken = std::tuple<int64_t, double, std::tuple<Owned<int32_t, 1>, Owned<double, 1>, Owned<int32_t, 1>>>;
using Result = std::tuple<int64_t, std::vector<StepTaken>>;

StepTaken to_python(Step step) {
  auto &[column, threshold, right] = step.cuts;
  return {step.work, step.value, {to_numpy(std::move(column)), to_numpy(std::move(threshold)), to_numpy(std::move(right))}};
}

// Holds references to the caller's arrays while a search reads them.
class TreeSearch {
 public:
  TreeSearch(In2<uint8_t> codes, In1<int32_t> n_bins, In2<double> rows, const std::string &leaf_cost, double threshold,
             double least_weight, int32_t max_depth, const SizePrice::Numbers &size_price)
      : codes_(std::move(codes)), rows_(std::move(rows)) {
    sample_.n_rows = static_cast<int64_t>(codes_.shape(0));
    sample_.n_cols = static_cast<int32_t>(codes_.shape(1));
    sample_.codes = codes_.data();
    sample_.rows = rows_.data();
    require(rows_.shape(0) == codes_.shape(0), "there are as many rows as codes");
    require(n_bins.size() == codes_.shape(1), "there is one number of bins a column");
    require(rows_.shape(1) > 0 && rows_.shape(1) % kLanes == 0, "a row has a multiple of four numbers");
    require(leaf_cost == "squares" || leaf_cost == "counts" || leaf_cost == "least",
            "the cost of a leaf is \"squares\", \"counts\" or \"least\"");
    const LeafCostKind kind = leaf_cost == "squares"  ? LeafCostKind::squares
                              : leaf_cost == "counts" ? LeafCostKind::counts
                                                      : LeafCostKind::least;
    sample_.cost = {kind, static_cast<int32_t>(rows_.shape(1))};
    sample_.threshold = threshold;
    sample_.size_price = SizePrice::of(size_price);
    sample_.cost.least = std::max(least_weight, sample_.cost.least);
    sample_.max_depth = max_depth;
    sample_.bin_begin.push_back(0);
    for (int32_t c = 0; c < sample_.n_cols; ++c) {
      require(n_bins(c) >= 1 && n_bins(c) <= 256, "a column has 1 to 256 bins");
      sample_.bin_begin.push_back(sample_.bin_begin.back() + n_bins(c));
    }
    for (int64_t i = 0; i < sample_.n_rows; ++i)
      for (int32_t c = 0; c < sample_.n_cols; ++c)
        require(sample_.code(i, c) < sample_.n_bins(c), "codes are below the number of bins of their column");
  }

  std::vector<Result> run(const std::vector<TreeArrays> &starts, int32_t n_leaves, bool swaps, double tolerance, int n_jobs,
                          int32_t n_deletions, int32_t n_insertions, int64_t work, const nb::object &progress,
                          int64_t most_work) const {
    std::vector<TreeCuts> cuts;
    for (const TreeArrays &start : starts) cuts.push_back(read_cuts(start, sample_));
    const SearchSettings settings{n_deletions, n_insertions, tolerance, n_leaves, most_work};
    std::vector<std::vector<Step>> steps(starts.size());
    std::vector<int64_t> done(starts.size(), 0);
    without_gil([&] {
      Interrupt interrupt(&progress);
      interrupt.run([&] {
        parallel_for(n_jobs, static_cast<int64_t>(starts.size()), [&](int64_t i) {
          Search search(settings, interrupt);
          CutTree tree(sample_, cuts[i]);
          if (search.complete(tree)) {
            search.record(tree, tree.value());
            if (swaps) {
              tree.mark_done();
              search.swap(tree);
            } else {
              search.reoptimize(tree);
              search.record(tree, tree.value());
            }
            if (work > 0) search.iterate(tree, work);
          }
          steps[i] = std::move(search.steps);
          done[i] = search.work();
        });
      });
    });
    std::vector<Result> results;
    for (size_t i = 0; i < starts.size(); ++i) {
      std::vector<StepTaken> path;
      for (Step &step : steps[i]) path.push_back(to_python(std::move(step)));
      results.emplace_back(done[i], std::move(path));
    }
    return results;
  }

  // For tests, and for whoever wants to see what a search sees.
  double value(const TreeArrays &cuts) const { return CutTree(sample_, read_cuts(cuts, sample_)).value(); }

  std::tuple<double, int32_t, int32_t> best_recut(const TreeArrays &cuts, int32_t node) const {
    const CutTree tree(sample_, read_cuts(cuts, sample_));
    require(node >= 0 && node < static_cast<int32_t>(std::get<0>(cuts).size()) && !tree.is_leaf(node),
            "a cut is of an inner node");
    Scratch scratch;
    const Recut best = cutwise::best_recut(tree, node, scratch);
    return {best.value - tree.value_below(node), best.column, best.bin};
  }

  std::tuple<double, int32_t, int32_t, bool> best_insertion(const TreeArrays &cuts, int32_t node) const {
    const CutTree tree(sample_, read_cuts(cuts, sample_));
    require(node >= 0 && node < static_cast<int32_t>(std::get<0>(cuts).size()), "a leaf is inserted above a node");
    Scratch scratch;
    const Insertion best = cutwise::best_insertion(tree, node, scratch);
    return {best.change, best.column, best.bin, best.new_on_left};
  }

  double deletion_change(const TreeArrays &cuts, int32_t leaf) const {
    const CutTree tree(sample_, read_cuts(cuts, sample_));
    require(leaf > 0 && leaf < static_cast<int32_t>(std::get<0>(cuts).size()) && tree.is_leaf(leaf), "a leaf is deleted");
    Scratch scratch;
    return cutwise::deletion_change(tree, leaf, scratch);
  }

 private:
  In2<uint8_t> codes_;
  In2<double> rows_;
  Sample sample_;
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_tree_search(nb::module_ &m) {
  nb::class_<TreeSearch>(m, "TreeSearch", R"(Searches for better trees on rows in few bins.

rows (n, w) are whole numbers, w a multiple of four: the weight, then what leaf_cost needs ("squares": coordinates, "counts":
a weight in the entry of the row's label, "least": what it costs by each center). Trees are (column, threshold, right) in preorder: a row goes left, to the next node, when
its code is at most threshold; column is -1 at leaves. Changes by less than threshold do not count. Leaves weigh at least
least_weight and are no deeper than max_depth. size_price: what a condition in the rule of weight 1 costs, and a level of
depth; and how many conditions and levels are free.)")
      .def(nb::init<In2<uint8_t>, In1<int32_t>, In2<double>, const std::string &, double, double, int32_t,
                    const SizePrice::Numbers &>(),
           "codes"_a, "n_bins"_a, "rows"_a, "leaf_cost"_a, "threshold"_a, "least_weight"_a = 0.0,
           "max_depth"_a = std::numeric_limits<int32_t>::max(), "size_price"_a = SizePrice::Numbers())
      .def("run", &TreeSearch::run, "starts"_a, "n_leaves"_a, "swaps"_a, "tolerance"_a, "n_jobs"_a, "n_deletions"_a = 5,
           "n_insertions"_a = 3, "work"_a = 0, "progress"_a = nb::none(), "most_work"_a = std::numeric_limits<int64_t>::max(),
           R"(Improve trees: for each the work done, and every better tree with the work and its value then.

Leaves without rows give way to others, and every cut is chosen anew. With swaps, trees come with their best cuts, and leaves
are moved elsewhere; with work, all this again and again from the best tree with some leaves moved at random. A start ends after
most_work. No step for a tree that cannot have n_leaves.
Calls progress with the lowest value so far, twice a second.)")
      .def("value", &TreeSearch::value, "cuts"_a, "What the tree's leaves cost, infinite where one has no rows.")
      .def("best_recut", &TreeSearch::best_recut, "cuts"_a, "node"_a,
           "The best cut of an inner node: what it changes the value by, its column and bin.")
      .def("best_insertion", &TreeSearch::best_insertion, "cuts"_a, "node"_a,
           "The best new leaf above a node: what it changes the value by, column, bin, and whether the leaf is on the left.")
      .def("deletion_change", &TreeSearch::deletion_change, "cuts"_a, "leaf"_a,
           "What the value changes by when the leaf's sibling takes its parent's place.");
}
