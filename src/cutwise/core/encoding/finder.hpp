// Finds the bin of a value without branches that depend on the data.
//
// The range of a column is divided into cells, and a table has the bin of every cell. Whole numbers have a cell each; other
// values have cells of equal width or, where a few outliers would leave all other values in one cell, of equal steps in the
// bits of the float, which are equal ratios. An exact column needs a cell for every value, and a value that differs from that
// of its bin is unseen. The bins of a coarse column are runs of cells. Where cells are not fine enough, a binary search finds
// the bin.
#pragma once

#include "base/simd.hpp"
#include "encoding/bins.hpp"

namespace cutwise {

// The kinds of cells. The cell of a value must never decrease when the value increases, also with rounding; that alone makes
// the bins exact. Values outside the range are in the first or the last cell.

struct ByteCells {
  int size() const { return 256; }
  int operator()(uint8_t v) const { return v; }
};

template <class V>
struct EqualCells {
  V first, last;  // values
  V per_value;

  int size() const { return static_cast<int>((last - first) * per_value) + 1; }
  int operator()(V v) const {
    // The bounds are variables, since compilers make a branch of a comparison with a constant.
    V inside = v > first ? v : first;
    inside = inside < last ? inside : last;
    return static_cast<int>((inside - first) * per_value);
  }
};

template <class V>
struct BitCells {
  using Bits = std::conditional_t<sizeof(V) == 4, int32_t, int64_t>;
  Bits first, last;
  int shift;

  static Bits ordered(V v) {
    const auto bits = bit_cast<Bits>(v + V(0));  // -0.0 becomes 0.0
    return bits < 0 ? std::numeric_limits<Bits>::min() - bits : bits;
  }
  int size() const { return static_cast<int>((last >> shift) - (first >> shift)) + 1; }
  int operator()(V v) const {
    const Bits at = std::clamp(ordered(v), first, last);
    return static_cast<int>((at >> shift) - (first >> shift));
  }
};

// One more cell for infinity, which stands for missing values and shares its bin with no other value.
template <class Cells>
struct CellsAndInfinity {
  Cells known;

  int size() const { return known.size() + 1; }
  template <class V>
  int operator()(V v) const {
    return known(v) + static_cast<int>(v == std::numeric_limits<V>::infinity());
  }
};

template <class T>
class Finder {
 public:
  using V = Compared<T>;

  Finder() = default;

  // Also chooses the bins, from the tally of a column or of a sample of it. n_rows: how many values will be looked up.
  Finder(const Tally &tally, int64_t n_rows, Bins &bins) {
    exact_ = tally.size() <= kMaxBins;
    max_bins_ = exact_ ? kMaxBins : most_coarse(n_rows);
    has_infinity_ = std::isinf(tally.value.back());
    if (!use_cells(tally, n_rows, bins)) {
      bins = choose_bins(tally, max_bins_, last_alone(tally.size()));
      use_search(bins);
    }
    value_.assign(bins.high.begin(), bins.high.end());
  }

  // The most bins of a coarse column.
  static int most_coarse(int64_t n_rows) {
    return static_cast<int>(std::clamp<int64_t>(n_rows / kValuesOfBin, kMinBins, kMaxBins));
  }

  bool exact() const { return exact_; }

  // Writes the bins of n values to `codes`; stride, code_stride: the steps between neighboring values and codes. For a coarse
  // column it updates ends[2 * b] and ends[2 * b + 1], the least and the largest value in bin b. For an exact column it returns
  // true when some values may not have a bin, which is_known() then finds out.
  bool find(const T *values, int64_t stride, int64_t n, V *ends, uint8_t *codes, int64_t code_stride) const {
    return std::visit(
        [&](const auto &cells) {
          using Cells = std::decay_t<decltype(cells)>;
          if constexpr (!std::is_same_v<Cells, std::vector<V>>) {
            const uint8_t *table = table_.data();
            return write([table, at = cells](T v, int64_t) { return static_cast<int>(table[at(static_cast<CellValue>(v))]); },
                         values, stride, n, ends, codes, code_stride);
          } else {
            bool any = false;
            V some[kCountedTogether];
            CountOf<V> bins[kCountedTogether];
            for (int64_t first = 0; first < n; first += kCountedTogether) {
              const int64_t here = std::min(kCountedTogether, n - first);
              const T *from = values + first * stride;
              for (int64_t i = 0; i < here; ++i) some[i] = static_cast<V>(from[i * stride]);
              count_below(cells.data(), static_cast<int64_t>(cells.size()), some, here, bins);
              any |= write([&](V, int64_t i) { return static_cast<int>(bins[i]); }, some, 1, here, ends,
                           codes + first * code_stride, code_stride);
            }
            return any;
          }
        },
        cells_);
  }

  bool is_known(V value, uint8_t bin) const { return value_[bin] == value; }

 private:
  using CellValue = std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, V>;

  // A coarse bin takes memory for sums over the rows of a node, so it should have a good number of values.
  static constexpr int64_t kValuesOfBin = 64, kMinBins = 32;
  static constexpr int64_t kMinRows = 4096;  // fewer rows do not repay a table
  static constexpr int kMaxCells = 8192;     // so that the tables of some columns fit in the first-level cache
  static constexpr int kMinCells = 1024;
  static constexpr double kMaxWhole = 1 << 24;  // whole numbers up to here are exact in float32

  using Bits = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;

  template <class Find, class Value>
  bool write(Find &&find_bin, const Value *values, int64_t stride, int64_t n, V *ends, uint8_t *codes,
             int64_t code_stride) const {
    if (exact_) {
      const V *value = value_.data();
      Bits different = 0;
      for (int64_t i = 0; i < n; ++i) {
        const Value v = values[i * stride];
        const int b = find_bin(v, i);
        different |= bit_cast<Bits>(value[b]) ^ bit_cast<Bits>(static_cast<V>(v));  // true for -0.0 too, though it is known
        codes[i * code_stride] = static_cast<uint8_t>(b);
      }
      return different != 0;
    }
    for (int64_t i = 0; i < n; ++i) {
      const Value v = values[i * stride];
      const int b = find_bin(v, i);
      const V compared = static_cast<V>(v);
      if (compared < ends[2 * b]) ends[2 * b] = compared;
      if (compared > ends[2 * b + 1]) ends[2 * b + 1] = compared;
      codes[i * code_stride] = static_cast<uint8_t>(b);
    }
    return false;
  }

  void use_search(const Bins &bins) {
    std::vector<V> search(bins.high.begin(), bins.high.end() - 1);
    for (size_t b = 0; b < search.size() && !exact_; ++b) {
      const V middle = search[b] + (static_cast<V>(bins.low[b + 1]) - search[b]) / 2;
      if (middle < static_cast<V>(bins.low[b + 1])) search[b] = middle;
    }
    if (has_infinity_ && !search.empty()) search.back() = std::numeric_limits<V>::max();
    cells_ = std::move(search);
  }

  bool use_cells(const Tally &tally, int64_t n_rows, Bins &bins) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      return fill_cells(ByteCells{}, tally, bins);
    } else {
      const int64_t n_known = tally.size() - (has_infinity_ ? 1 : 0);
      if (n_known == 0) return false;
      const double first = tally.value.front(), last = tally.value[n_known - 1];
      const bool near = first >= -kMaxWhole && last <= kMaxWhole &&
                        last - first < static_cast<double>(std::min<int64_t>(kMaxCells, 256 + n_rows));
      const auto is_whole = [](double v) { return v == std::floor(v); };
      if (near && std::all_of(tally.value.begin(), tally.value.end(), is_whole))
        return try_cells(EqualCells<V>{static_cast<V>(first), static_cast<V>(last), V(1)}, tally, bins);
      if (n_rows < kMinRows || n_known < 2) return false;
      // The first and the last bin of a coarse column may be very wide, so the cells divide the range of the other bins.
      const int64_t left_out = exact_ ? 0 : n_counted(tally) / max_bins_;
      int64_t low_at = 0, high_at = n_known - 1;
      for (int64_t n = tally.count[low_at]; n <= left_out; n += tally.count[low_at]) ++low_at;
      for (int64_t n = tally.count[high_at]; n <= left_out; n += tally.count[high_at]) --high_at;
      const V from = static_cast<V>(tally.value[low_at]), to = static_cast<V>(tally.value[high_at]);
      return use_equal_cells(from, to, tally, bins) || use_bit_cells(from, to, tally, bins);
    }
  }

  bool use_equal_cells(V from, V to, const Tally &tally, Bins &bins) {
    for (int n_cells = kMinCells; n_cells <= kMaxCells; n_cells *= 2) {
      const V per_value = static_cast<V>(n_cells - 1) / (to - from);
      if (!std::isfinite(per_value) || !(per_value > 0)) return false;
      if (try_cells(EqualCells<V>{from, to, per_value}, tally, bins)) return true;
    }
    return false;
  }

  bool use_bit_cells(V from, V to, const Tally &tally, Bins &bins) {
    const auto low = BitCells<V>::ordered(from), high = BitCells<V>::ordered(to);
    for (int shift = 8 * static_cast<int>(sizeof(V)) - 2; shift >= 0; --shift) {
      const auto n_cells = (high >> shift) - (low >> shift);
      if (n_cells >= kMaxCells) return false;
      if (n_cells >= kMinCells && try_cells(BitCells<V>{low, high, shift}, tally, bins)) return true;
    }
    return false;
  }

  static int64_t n_counted(const Tally &tally) { return std::accumulate(tally.count.begin(), tally.count.end(), int64_t{0}); }

  // Uses the cells if every value of an exact column has its own, or if no cell of a coarse column has so many values that a
  // bin made of whole cells would be much fuller than the others.
  template <class Cells>
  bool try_cells(const Cells &cells, const Tally &tally, Bins &bins) {
    return has_infinity_ ? fill_cells(CellsAndInfinity<Cells>{cells}, tally, bins) : fill_cells(cells, tally, bins);
  }

  template <class Cells>
  bool fill_cells(const Cells &cells, const Tally &tally, Bins &bins) {
    std::vector<int32_t> count;
    std::vector<int64_t> last_value;  // of every cell that has values
    std::vector<int> cell;
    const int64_t most = 2 * n_counted(tally) / max_bins_;
    for (int64_t i = 0; i < tally.size(); ++i) {
      const int at = cells(static_cast<CellValue>(tally.value[i]));
      if (!cell.empty() && cell.back() == at) {
        if (exact_) return false;
        count.back() += tally.count[i];
        last_value.back() = i;
        if (count.back() > most) return false;
        continue;
      }
      cell.push_back(at);
      count.push_back(tally.count[i]);
      last_value.push_back(i);
    }
    Bins of_cells;
    of_cells.exact = exact_;
    std::vector<int64_t> ends = divide(count, max_bins_, last_alone(static_cast<int64_t>(count.size())));
    if (!exact_) move_to_gaps(cell, ends);
    table_.assign(cells.size(), static_cast<uint8_t>(ends.size() - 1));
    int next = 0;
    int64_t first = 0;
    for (const int64_t last : ends) {
      const uint8_t b = static_cast<uint8_t>(of_cells.size());
      const int after = last == ends.back() ? cell[last] + 1 : (cell[last] + cell[last + 1] + 1) / 2;
      for (; next < after; ++next) table_[next] = b;
      of_cells.low.push_back(tally.value[first]);
      of_cells.high.push_back(tally.value[last_value[last]]);
      first = last_value[last] + 1;
    }
    bins = std::move(of_cells);
    cells_ = cells;
    return true;
  }

  // The last of n entries where that is infinity, -1 otherwise.
  int64_t last_alone(int64_t n) const { return has_infinity_ ? n - 1 : -1; }

  using AllCells = std::conditional_t<
      std::is_same_v<T, uint8_t>, std::variant<std::vector<V>, ByteCells>,
      std::variant<std::vector<V>, EqualCells<V>, BitCells<V>, CellsAndInfinity<EqualCells<V>>, CellsAndInfinity<BitCells<V>>>>;

  bool exact_ = true, has_infinity_ = false;
  int max_bins_ = kMaxBins;
  std::vector<V> value_;        // exact: the value of every bin
  std::vector<uint8_t> table_;  // the bin of every cell
  AllCells cells_;
};

}  // namespace cutwise
