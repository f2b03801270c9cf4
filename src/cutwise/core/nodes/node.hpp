// What a search for a node's cut takes: the table, the node's rows, the coordinates of the reference centers in every column,
// and limits on the cuts. Also the search inside coarse bins, which the criteria share.
#pragma once

#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();  // the cost, or the number of mistakes, where there is no cut

// The numbers of a node's surviving clusters (those whose centers reach the node), checked.
inline std::vector<int32_t> survivors_of(const In1<int32_t> &survivors, int64_t k) {
  std::vector<int32_t> clusters(survivors.data(), survivors.data() + survivors.size());
  require(!clusters.empty(), "a node has a surviving cluster");
  for (int32_t c : clusters) require(c >= 0 && c < k, "survivors are clusters, 0 to k - 1");
  return clusters;
}

inline void require_same_table(const Encoded &encoded, const Matrix &matrix) {
  require(matrix.n_rows() == encoded.n_rows && matrix.n_cols() == encoded.n_cols(),
          "the matrix and its codes have the same rows and columns");
}

// One node of a table: its codes, its raw values and the numbers of its rows.
struct NodeRows {
  const Encoded &encoded;
  const Matrix &matrix;
  const int32_t *rows = nullptr;
  int64_t n = 0;

  // For searches over bins without rows.
  NodeRows(const Encoded &codes, const Matrix &values) : encoded(codes), matrix(values) { require_same_table(codes, values); }
  NodeRows(const Encoded &codes, const Matrix &values, const In1<int32_t> &numbers) : NodeRows(codes, values) {
    rows = numbers.data();
    n = static_cast<int64_t>(numbers.size());
  }
};

// Brings the rows that go left to the front, keeps the order of the rows on both sides, and returns how many go left.
template <class GoesLeft>
int64_t split_rows(int32_t *rows, int64_t n, GoesLeft &&goes_left) {
  // Uninitialized, so that pages which are never written take no memory.
  const std::unique_ptr<int32_t[]> right(new int32_t[n]);
  int64_t n_left = 0, n_right = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t row = rows[i];
    const bool is_left = goes_left(row);
    // Written to both sides, while only one count advances: this avoids a branch that would be mispredicted.
    rows[n_left] = row;
    right[n_right] = row;
    n_left += is_left;
    n_right += !is_left;
  }
  std::copy(right.get(), right.get() + n_right, rows + n_left);
  return n_left;
}

// The surviving centers of a node in increasing order of their coordinate in one column; equal ones by cluster number.
struct CenterLine {
  std::vector<double> coordinate;
  std::vector<int32_t> cluster;
  size_t size() const { return cluster.size(); }
};

// The surviving clusters of a node.
struct Survivors {
  const double *coordinates;  // of all centers, (k, d), row-major
  int32_t n_cols;
  std::vector<int32_t> clusters;  // increasing

  struct End {
    int32_t cluster;
    double coordinate;
  };
  // The surviving centers with the smallest and the largest coordinate in a column.
  std::pair<End, End> ends_along(int32_t feature) const {
    const double *column = coordinates + feature;
    End first{clusters.front(), column[static_cast<int64_t>(clusters.front()) * n_cols]}, last = first;
    for (int32_t c : clusters) {
      const double coordinate = column[static_cast<int64_t>(c) * n_cols];
      if (coordinate < first.coordinate) first = {c, coordinate};
      if (coordinate > last.coordinate) last = {c, coordinate};
    }
    return {first, last};
  }

  bool are_equal_along(int32_t feature) const {
    const auto [first, last] = ends_along(feature);
    return first.coordinate == last.coordinate;
  }

  CenterLine along(int32_t feature) const {
    thread_local std::vector<std::pair<double, int32_t>> sorted;  // reused, since tables of texts have many thousand columns
    sorted.clear();
    for (int32_t c : clusters) sorted.emplace_back(coordinates[static_cast<int64_t>(c) * n_cols + feature], c);
    std::sort(sorted.begin(), sorted.end());
    CenterLine line;
    line.coordinate.reserve(sorted.size());
    line.cluster.reserve(sorted.size());
    for (const auto &[coordinate, c] : sorted) {
      line.coordinate.push_back(coordinate);
      line.cluster.push_back(c);
    }
    return line;
  }
};

// The bin of any row in one column. Dense: one byte is read and looked up in a table.
class BinReader {
 public:
  BinReader(const Encoded &encoded, const Column &column) : encoded_(encoded), column_(column) {
    if (encoded.sparse) return;
    codes_ = encoded.codes.data() + column.group;
    std::fill(bin_of_, bin_of_ + 256, std::max(column.default_bin, 0));
    int32_t *bins = bin_of_ + column.slot_begin - encoded.group_begin[column.group];
    for (int32_t slot = 0; slot < column.n_slots(); ++slot) bins[slot] = column.bin_of(column.slot_begin + slot);
  }

  CUTWISE_INLINE int32_t operator()(int64_t row) const {
    if (encoded_.sparse) return encoded_.bin(row, column_);
    return bin_of_[codes_[row * encoded_.n_groups]];
  }

 private:
  const Encoded &encoded_;
  const Column &column_;
  const uint8_t *codes_ = nullptr;
  int32_t bin_of_[256] = {};
};

// A row and its raw value in one column. Lists of these are sorted by value. Searches pass rows of equal value together, so
// their order among each other does not matter.
struct RowValue {
  double value;
  int32_t row;
};

// All rows of the node, sorted by their value in one column.
std::vector<RowValue> sorted_rows(const NodeRows &node, int32_t feature);

// Some bins of one column and, for each of them, the node's rows in it, sorted by raw value.
struct SortedBins {
  int32_t feature;
  std::vector<int32_t> bins;                  // increasing
  std::vector<std::vector<RowValue>> rows{};  // by position in `bins`

  std::vector<RowValue> in_order() const {
    std::vector<RowValue> all;
    for (const auto &list : rows) all.insert(all.end(), list.begin(), list.end());
    return all;
  }
};

// Fills `rows` of each entry. For a sparse table this takes one pass over the stored values of the node's rows.
void sort_bins(const NodeRows &node, SortedBins *sorted, size_t n_sorted);

// For some columns of a sparse table all bins, with the values that the node's rows store.
std::vector<SortedBins> sorted_stored_rows(const NodeRows &node, const std::vector<int32_t> &features);

// A bin of several values inside which the best cut may lie, with a lower bound on the score of the cuts inside.
struct CandidateBin {
  int32_t bin;
  int64_t bound;
  bool is_first = false;   // whether it is the first bin of its column that has rows of the node
  double secondary = 0.0;  // a bound on what decides between cuts whose value is the bound
};

// The candidate bins of all columns. A map, since a table may have many thousand columns of which bounds leave few.
struct CandidateBins {
  std::map<int32_t, std::vector<CandidateBin>> of_column;

  void add(int32_t feature, std::vector<CandidateBin> bins) {
    if (bins.empty()) return;
    const std::lock_guard<std::mutex> lock(adding_);
    of_column[feature] = std::move(bins);
  }

 private:
  std::mutex adding_;
};

// Calls work(sorted bins) for the candidate bins for which may_win(column, bin) holds, fewer as work() finds better cuts.
// Columns of the lowest bounds come first, since the cuts found there may rule out the others. Where there are bins without
// rows, the candidates are requested instead.
template <class MayWin, class Work>
void search_inside_bins(const NodeRows &node, const CandidateBins &candidates, int n_jobs, MayWin &&may_win, Work &&work) {
  const Encoded &encoded = node.encoded;
  std::vector<std::tuple<int64_t, double, int32_t>> order;
  for (const auto &[f, bins] : candidates.of_column) {
    std::pair<int64_t, double> lowest{kNone, 0.0};
    for (const CandidateBin &bin : bins) {
      if (!may_win(f, bin)) continue;
      lowest = std::min(lowest, {bin.bound, bin.secondary});
      if (encoded.is_bins_only())
        encoded.requested->add(encoded.columns[f].value_begin + bin.bin, static_cast<double>(bin.bound));
    }
    if (lowest.first < kNone) order.emplace_back(lowest.first, lowest.second, f);
  }
  if (encoded.is_bins_only()) return;
  std::sort(order.begin(), order.end());
  const auto within = [&](int64_t i) {
    const int32_t feature = std::get<2>(order[i]);
    SortedBins sorted{feature, {}};
    for (const CandidateBin &bin : candidates.of_column.at(feature))
      if (may_win(feature, bin)) sorted.bins.push_back(bin.bin);
    return sorted;
  };
  const auto n_columns = static_cast<int64_t>(order.size());
  if (!encoded.sparse) {
    parallel_for(n_jobs, n_columns, [&](int64_t i) {
      SortedBins sorted = within(i);
      if (sorted.bins.empty()) return;
      sort_bins(node, &sorted, 1);
      work(sorted);
    });
    return;
  }
  // Columns share a pass over the rows. The first passes take few columns, since the cuts found there may rule out the others.
  std::vector<SortedBins> sorted;
  for (int64_t begin = 0, size = 16; begin < n_columns; begin += size, size = std::min<int64_t>(16 * size, 1024)) {
    sorted.clear();
    for (int64_t i = begin; i < std::min(n_columns, begin + size); ++i) {
      sorted.push_back(within(i));
      if (sorted.back().bins.empty()) sorted.pop_back();
    }
    if (sorted.empty()) continue;
    sort_bins(node, sorted.data(), sorted.size());
    parallel_for(n_jobs, static_cast<int64_t>(sorted.size()), [&](int64_t i) { work(sorted[i]); });
  }
}

// A cut x[feature] <= threshold. The order is the one that settles ties: lowest feature first, then lowest threshold.
struct Cut {
  int32_t feature = -1;
  double threshold = std::numeric_limits<double>::quiet_NaN();

  friend bool operator<(const Cut &a, const Cut &b) {
    return a.feature != b.feature ? a.feature < b.feature : a.threshold < b.threshold;
  }
};

// Limits rule out cuts but change no score, so a lower bound over all cuts holds for the allowed ones as well.

// Thresholds with first <= threshold < end.
struct ValidRange {
  double first = -std::numeric_limits<double>::infinity(), end = std::numeric_limits<double>::infinity();

  bool holds(double threshold) const { return first <= threshold && threshold < end; }
  bool is_empty() const { return !(first < end); }
  // Whether some threshold t in it has low <= t < high.
  bool reaches(double low, double high) const { return first < high && low < end; }
  ValidRange within(const ValidRange &other) const { return {std::max(first, other.first), std::min(end, other.end)}; }
};

// The user's limits on the cuts of a node: which columns may be cut, and how much each side needs.
class NodeLimits {
 public:
  NodeLimits(std::optional<In1<uint8_t>> columns, Weights counts, int64_t least, int64_t most_centers)
      : columns_(std::move(columns)), counts_(std::move(counts)), least_(least), most_centers_(most_centers) {}

  bool allow_column(int32_t feature) const { return !columns_ || columns_->data()[feature] != 0; }
  bool allow_centers(size_t n_left, size_t n_right) const {
    return static_cast<int64_t>(std::max(n_left, n_right)) <= most_centers_;
  }
  // The least total count of a side with n_centers centers. Where a cut separates no centers, each side counts as having one.
  int64_t least_of(size_t n_centers) const { return least_ * static_cast<int64_t>(n_centers); }
  int64_t count_of(int32_t row) const { return counts_ ? counts_->data()[row] : 1; }
  bool allow_sides(size_t n_left, size_t n_right, int64_t count_left, int64_t count_right) const {
    return allow_centers(n_left, n_right) && count_left >= least_of(n_left) && count_right >= least_of(n_right);
  }

 private:
  std::optional<In1<uint8_t>> columns_;  // by column: 1 where it may be cut; none: all may
  Weights counts_;                       // by row, or by bin where there are bins without rows; none: 1 each
  int64_t least_, most_centers_;
};

// The thresholds of one column that the limits allow, for every number of centers on the left.
class AllowedCuts {
 public:
  // limits: null allows every cut. n_centers: the number of centers in the node.
  AllowedCuts(const NodeLimits *limits, const NodeRows &node, int32_t feature, size_t n_centers)
      : limits_(limits), node_(node), feature_(feature), n_centers_(n_centers) {}

  bool holds(double threshold, size_t n_left) { return limits_ == nullptr || range(n_left).holds(threshold); }
  // Whether some threshold t with low <= t < high is allowed.
  bool reaches(double low, double high, size_t n_left) { return limits_ == nullptr || range(n_left).reaches(low, high); }
  ValidRange range(size_t n_left);

 private:
  void count_bins();
  // The value at which the counts of the rows, added up from one end of the column, reach `wanted`.
  double value_reaching(int64_t wanted, bool from_left);

  const NodeLimits *limits_;
  const NodeRows &node_;
  int32_t feature_;
  size_t n_centers_;
  std::vector<int64_t> bin_counts_;                   // total count of the rows by bin; empty until it is needed
  std::vector<std::pair<size_t, ValidRange>> known_;  // ranges computed so far, by number of centers on the left
};

}  // namespace cutwise
