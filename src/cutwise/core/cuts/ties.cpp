// Settles ties between cuts that part equally few rows from their centers.
//
// Of the cuts that tie, the one is wanted whose sides cost least when each is served by its best surviving center. Where
// rows and centers repeat a pattern nearly every cut ties, at every node of a tree that may be as deep as it has leaves:
// so what all rows cost is handed from node to node, only the smaller side of a cut is ever added up, and bounds leave out
// most cuts before that.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/simd.hpp"
#include "nodes/node.hpp"

namespace cutwise {
namespace {

constexpr size_t kFewFeatures = 4;  // adding up the rows of so few costs less than bounds on them

template <class Cost>
CUTWISE_CLONES void add_costs(const Cost *costs, int64_t m, int64_t *sums) {
  for (int64_t j = 0; j < m; ++j) sums[j] += costs[j];
}

template <class Cost>
CUTWISE_CLONES int64_t largest(const Cost *costs, int64_t k) {
  Cost most = 0;
  for (int64_t j = 0; j < k; ++j) most = costs[j] > most ? costs[j] : most;
  return most;
}

// What a cut costs, from the sums over the rows of one side: the least of its own centers, and of the others the least rest.
struct SideCosts {
  int64_t own, other;
  int64_t any;  // the least of all sums, whichever side the center is on
};

CUTWISE_CLONES SideCosts side_costs(const int64_t *sums, const int64_t *total, const double *at, int64_t m, double threshold,
                                    bool is_left) {
  SideCosts least{kNone, kNone, kNone};
  for (int64_t j = 0; j < m; ++j) {
    const bool own = (at[j] <= threshold) == is_left;
    const int64_t sum = sums[j], rest = total[j] - sum;
    const int64_t mine = own ? sum : kNone, others = own ? kNone : rest;
    least.own = mine < least.own ? mine : least.own;
    least.other = others < least.other ? others : least.other;
    least.any = sum < least.any ? sum : least.any;
  }
  return least;
}

template <class Cost>
struct TieSettler {
  const Encoded &encoded;
  const Matrix &matrix;
  const int32_t *rows;
  int64_t n;
  const Cost *costs;  // (n_rows, k), none negative
  int64_t k;
  const int64_t *totals;      // (k,): over the node's rows
  Cost *most_costs;           // (n_rows,): 1 more than the largest cost of the row; 0: not known yet
  const double *coordinates;  // (k, d)
  std::vector<int32_t> survivors;
  const int32_t *features;
  const double *thresholds;
  int64_t n_cuts;

  int64_t run() {
    m_ = static_cast<int64_t>(survivors.size());
    contiguous_ = survivors.back() - survivors.front() + 1 == m_;
    for (int32_t c : survivors) total_.push_back(totals[c]);
    least_total_ = *std::min_element(total_.begin(), total_.end());
    for (int64_t begin = 0, end; begin < n_cuts; begin = end) {
      for (end = begin; end < n_cuts && features[end] == features[begin];) ++end;
      tied_.push_back({features[begin], begin, end, 0, 0});
    }
    list_rows();
    for (const Tied &tied : tied_) settle(tied);
    return best_;
  }

  // The tied cuts of one column, and its rows in other than the default bin.
  struct Tied {
    int32_t feature;
    int64_t begin, end;           // cuts
    int64_t first_row, last_row;  // in listed_
  };
  struct Listed {
    int32_t bin, row;
  };

  const Column &column_of(const Tied &tied) const { return encoded.columns[tied.feature]; }

  // Columns of a bundle and sparse columns share a pass over the rows: most of their rows are in the default bin.
  void list_rows() {
    struct Entry {
      int32_t tied, bin, row;
    };
    std::vector<Entry> entries;
    std::vector<int32_t> with_default;
    for (size_t t = 0; t < tied_.size(); ++t)
      if (column_of(tied_[t]).default_bin >= 0) with_default.push_back(static_cast<int32_t>(t));
    if (with_default.empty()) return;
    if (encoded.sparse) {
      std::vector<int32_t> begins;
      for (int32_t t : with_default) begins.push_back(column_of(tied_[t]).slot_begin);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t p = encoded.indptr[rows[i]]; p < encoded.indptr[rows[i] + 1]; ++p) {
          const int32_t slot = encoded.slots[p];
          const int64_t at = std::upper_bound(begins.begin(), begins.end(), slot) - begins.begin() - 1;
          if (at < 0) continue;
          const Column &column = column_of(tied_[with_default[at]]);
          if (slot < column.slot_begin + column.n_slots()) entries.push_back({with_default[at], column.bin_of(slot), rows[i]});
        }
    } else {
      // Columns of a group need not be neighbors.
      std::stable_sort(with_default.begin(), with_default.end(),
                       [&](int32_t a, int32_t b) { return column_of(tied_[a]).group < column_of(tied_[b]).group; });
      for (size_t next = 0; next < with_default.size();) {
        const int32_t group = column_of(tied_[with_default[next]]).group;
        struct {
          int32_t tied = -1, bin = -1;
        } of_code[256];
        for (; next < with_default.size() && column_of(tied_[with_default[next]]).group == group; ++next) {
          const Column &column = column_of(tied_[with_default[next]]);
          for (int32_t slot = column.slot_begin; slot < column.slot_begin + column.n_slots(); ++slot) {
            of_code[slot - encoded.group_begin[group]].tied = with_default[next];
            of_code[slot - encoded.group_begin[group]].bin = column.bin_of(slot);
          }
        }
        const uint8_t *codes = encoded.codes.data() + group;
        for (int64_t i = 0; i < n; ++i) {
          const auto &found = of_code[codes[static_cast<int64_t>(rows[i]) * encoded.n_groups]];
          if (found.tied >= 0) entries.push_back({found.tied, found.bin, rows[i]});
        }
      }
    }
    for (const Entry &entry : entries) ++tied_[entry.tied].last_row;
    int64_t next = 0;
    for (Tied &tied : tied_) {
      tied.first_row = next;
      next += tied.last_row;
      tied.last_row = tied.first_row;
    }
    listed_.resize(entries.size());
    for (const Entry &entry : entries) listed_[tied_[entry.tied].last_row++] = {entry.bin, entry.row};
  }

  // The rows between two neighboring tied cuts, of all segments but the one that is never added up: the fullest, or the one
  // that holds the default bin.
  struct Segments {
    std::vector<int64_t> begin;  // in rows
    std::vector<int32_t> rows;
    int64_t rest;

    int64_t size(int64_t s) const { return begin[s + 1] - begin[s]; }
  };

  Segments segments_of(const Tied &tied) const {
    const Column &column = column_of(tied);
    const double *low = encoded.low.data() + column.value_begin, *high = encoded.high.data() + column.value_begin;
    const double *first = thresholds + tied.begin, *last = thresholds + tied.end;
    const int64_t n_segments = tied.end - tied.begin + 1;
    auto segment = [&](double value) { return static_cast<int32_t>(std::lower_bound(first, last, value) - first); };
    // -1: a cut goes through the bin.
    std::vector<int32_t> of_bin(column.n_bins);
    for (int32_t bin = 0; bin < column.n_bins; ++bin)
      of_bin[bin] = segment(low[bin]) == segment(high[bin]) ? segment(low[bin]) : -1;

    std::vector<int32_t> placed, which;
    std::vector<int64_t> count(n_segments, 0);
    auto place = [&](int32_t bin, int32_t row, auto values) {
      const int32_t s = of_bin[bin] >= 0 ? of_bin[bin] : segment(values(row, tied.feature));
      placed.push_back(s);
      ++count[s];
    };
    Segments segments;
    bool is_listed = column.default_bin >= 0;
    if (is_listed) {
      segments.rest = of_bin[column.default_bin];
      matrix.visit([&](auto values) {
        for (int64_t i = tied.first_row; i < tied.last_row; ++i) place(listed_[i].bin, listed_[i].row, values);
      });
      const int64_t most = *std::max_element(count.begin(), count.end());
      count[segments.rest] += n - static_cast<int64_t>(placed.size());
      is_listed = count[segments.rest] >= most;
    }
    if (!is_listed) {
      placed.clear();
      std::fill(count.begin(), count.end(), 0);
      const BinReader bin_of(encoded, column);
      matrix.visit([&](auto values) {
        for (int64_t i = 0; i < n; ++i) place(bin_of(rows[i]), rows[i], values);
      });
      segments.rest = fullest(count);
    }
    count[segments.rest] = 0;
    segments.begin.assign(n_segments + 1, 0);
    for (int64_t s = 0; s < n_segments; ++s) segments.begin[s + 1] = segments.begin[s] + count[s];
    segments.rows.resize(segments.begin.back());
    std::vector<int64_t> next(segments.begin.begin(), segments.begin.end() - 1);
    for (size_t i = 0; i < placed.size(); ++i)
      if (placed[i] != segments.rest)
        segments.rows[next[placed[i]]++] = is_listed ? listed_[tied.first_row + static_cast<int64_t>(i)].row : rows[i];
    return segments;
  }

  // Of equally full segments the one in the middle, so that cuts are reached from both ends.
  static int64_t fullest(const std::vector<int64_t> &count) {
    const int64_t n = static_cast<int64_t>(count.size());
    int64_t found = n / 2;
    for (int64_t s = 0; s < n; ++s) {
      if (count[s] < count[found]) continue;
      const bool is_nearer = std::abs(2 * s - n) < std::abs(2 * found - n);
      if (count[s] > count[found] || is_nearer) found = s;
    }
    return found;
  }

  int64_t most_cost(int32_t row) {
    Cost &known = most_costs[row];
    if (known == 0) known = static_cast<Cost>(largest(costs + static_cast<int64_t>(row) * k, k) + 1);
    return known - 1;
  }

  void add_row(int32_t row, std::vector<int64_t> &sums) const {
    const Cost *of_row = costs + static_cast<int64_t>(row) * k;
    if (contiguous_) {
      add_costs(of_row + survivors.front(), m_, sums.data());
      return;
    }
    for (int64_t j = 0; j < m_; ++j) sums[j] += of_row[survivors[j]];
  }

  // Whether cuts of score `bound` or more, none of them before `lowest`, can be left out.
  bool is_beaten(int64_t bound, int64_t lowest) const {
    return best_ >= 0 && (bound > best_score_ || (bound == best_score_ && best_ < lowest));
  }

  // The rest costs at least what all rows cost less what the others do at most.
  bool none_can_win(const Tied &tied, const Segments &segments) {
    int64_t left = 0, right = 0;
    for (int64_t s = 0; s < segments.rest; ++s)
      for (int64_t i = segments.begin[s]; i < segments.begin[s + 1]; ++i) left += most_cost(segments.rows[i]);
    for (int64_t i = segments.begin[segments.rest + 1]; i < segments.begin.back(); ++i) right += most_cost(segments.rows[i]);
    return is_beaten(least_total_ - std::max(left, right), tied.begin);
  }

  // From both ends inward, so that what has been passed costs ever more: once that is more than the best cut, the cuts
  // between need not be looked at.
  void settle(const Tied &tied) {
    const Segments segments = segments_of(tied);
    if (tied_.size() > kFewFeatures && none_can_win(tied, segments)) return;
    std::vector<double> at(m_);
    for (int64_t j = 0; j < m_; ++j) at[j] = coordinates[static_cast<int64_t>(survivors[j]) * encoded.n_cols() + tied.feature];
    struct End {
      std::vector<int64_t> sums;
      int64_t next;  // segment
      int64_t least = 0;
    } left{std::vector<int64_t>(m_, 0), 0}, right{std::vector<int64_t>(m_, 0), tied.end - tied.begin};
    while (left.next < segments.rest || right.next > segments.rest) {
      if (is_beaten(left.least + right.least, tied.begin + left.next)) return;
      const bool left_left = left.next<segments.rest, right_left = right.next> segments.rest;
      const bool from_left =
          left_left &&
          (!right_left || segments.size(left.next) < segments.size(right.next) ||
           (segments.size(left.next) == segments.size(right.next) && left.next <= tied.end - tied.begin - right.next));
      End &side = from_left ? left : right;
      for (int64_t i = segments.begin[side.next]; i < segments.begin[side.next + 1]; ++i) add_row(segments.rows[i], side.sums);
      const int64_t cut = tied.begin + (from_left ? side.next : side.next - 1);
      const SideCosts least = side_costs(side.sums.data(), total_.data(), at.data(), m_, thresholds[cut], from_left);
      side.least = least.any;
      side.next += from_left ? 1 : -1;
      if (least.own == kNone || least.other == kNone) continue;
      const int64_t score = least.own + least.other;
      if (best_ < 0 || score < best_score_ || (score == best_score_ && cut < best_)) {
        best_score_ = score;
        best_ = cut;
      }
    }
  }

  int64_t m_ = 0;
  bool contiguous_ = false;
  std::vector<int64_t> total_{};
  int64_t least_total_ = 0;
  std::vector<Tied> tied_{};
  std::vector<Listed> listed_{};
  int64_t best_ = -1, best_score_ = kNone;
};

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_ties(nb::module_ &m) {
  auto for_costs = [&](auto zero, const char *doc) {
    using Cost = decltype(zero);
    m.def(
        "cheapest_tied_cut",
        [](const Encoded &encoded, const Matrix &matrix, In1<int32_t> rows, In2<Cost> costs, In1<int64_t> totals,
           Out1<Cost> most_costs, In2<double> coordinates, In1<int32_t> survivors, In1<int32_t> features,
           In1<double> thresholds) {
          require(static_cast<int64_t>(costs.shape(0)) == encoded.n_rows && most_costs.shape(0) == costs.shape(0),
                  "costs has one line per encoded row");
          require(totals.size() == costs.shape(1) && coordinates.shape(0) == costs.shape(1),
                  "totals has one entry per cluster");
          require(features.size() == thresholds.size(), "features and thresholds have one length");
          require(static_cast<int64_t>(coordinates.shape(1)) == encoded.n_cols(), "coordinates has one entry per column");
          require_same_table(encoded, matrix);
          for (size_t i = 0; i < features.size(); ++i)
            require(features(i) >= 0 && features(i) < encoded.n_cols() && (i == 0 || features(i - 1) <= features(i)),
                    "features are columns of the table, in increasing order");
          std::vector<int32_t> clusters = survivors_of(survivors, static_cast<int64_t>(costs.shape(1)));
          nb::gil_scoped_release release;
          TieSettler<Cost> settler{encoded,
                                   matrix,
                                   rows.data(),
                                   static_cast<int64_t>(rows.size()),
                                   costs.data(),
                                   static_cast<int64_t>(costs.shape(1)),
                                   totals.data(),
                                   most_costs.data(),
                                   coordinates.data(),
                                   std::move(clusters),
                                   features.data(),
                                   thresholds.data(),
                                   static_cast<int64_t>(features.size())};
          return settler.run();
        },
        nb::arg("encoded"), nb::arg("matrix"), nb::arg("rows"), nb::arg("costs").noconvert(), nb::arg("totals"),
        nb::arg("most_costs").noconvert(), nb::arg("coordinates"), nb::arg("survivors"), nb::arg("features"),
        nb::arg("thresholds"), doc);
  };
  for_costs(int32_t{}, R"(Of several cuts the first one whose sides cost least, each side served by its best surviving center.

costs (n_rows, k), none negative; totals (k,): their sums over the node's rows. most_costs (n_rows,), the dtype of costs:
zeros at first; the largest cost of a row, and 1, once it was needed; kept from node to node. features, thresholds: the cuts,
by column, then by threshold. Other arguments as in fewest_mistakes.)");
  for_costs(int64_t{}, "");
}
