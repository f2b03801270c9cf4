// CSR tables: only stored values are touched. They are brought together by column once to choose the bins, zero being a bin
// of its own wherever a row leaves the column out; then every row's values become slots.
#include "encode_sparse.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "bins.hpp"
#include "compared.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"

namespace cutwise {
namespace {

constexpr int64_t kSampled = 8192;
constexpr int64_t kSortedWhole = 65536;  // stored values of a column: sorting them costs no more than finding their bins
constexpr int64_t kColumnsAtOnce = 1024;
constexpr int64_t kRowsAtOnce = 4096;
constexpr int64_t kAhead = 16;  // memory is asked for so many values before its use: columns of a row lie far apart

template <class T>
class SparseEncoder {
 public:
  using V = Compared<T>;

  SparseEncoder(const Csr<T> &x, int n_jobs) : x_(x), n_jobs_(n_jobs) {}

  Encoded run() {
    out_.n_rows = x_.n_rows;
    out_.sparse = true;
    out_.indptr.assign(x_.indptr, x_.indptr + x_.n_rows + 1);
    out_.columns.resize(x_.n_cols);
    collect_by_column();
    choose_all_bins();
    values_ = {};
    write_slots();
    return std::move(out_);
  }

 private:
  void collect_by_column() {
    if (x_.indptr[0] != 0) throw std::invalid_argument("indptr of a CSR matrix begins with 0");
    begin_.assign(x_.n_cols + 1, 0);
    for (int64_t row = 0; row < x_.n_rows; ++row) {
      if (x_.indptr[row] > x_.indptr[row + 1]) throw std::invalid_argument("indptr of a CSR matrix never decreases");
      int64_t previous = -1;
      for (int64_t p = x_.indptr[row]; p < x_.indptr[row + 1]; ++p) {
        const int64_t c = x_.indices[p];
        if (c <= previous || c >= x_.n_cols)
          throw std::invalid_argument("column indices of a CSR row increase strictly, from 0 up to n_cols - 1");
        if (x_.data[p] == T(0)) throw std::invalid_argument("a CSR matrix stores no zeros; call eliminate_zeros() first");
        previous = c;
        ++begin_[c + 1];
      }
    }
    for (int64_t c = 0; c < x_.n_cols; ++c) begin_[c + 1] += begin_[c];
    std::vector<int64_t> next(begin_.begin(), begin_.end() - 1);
    const int64_t n_stored = x_.indptr[x_.n_rows];
    values_.resize(n_stored);
    for (int64_t p = 0; p < n_stored; ++p) {
      if (p + kAhead < n_stored) prefetch(&next[x_.indices[p + kAhead]], 1);
      values_[next[x_.indices[p]]++] = static_cast<V>(x_.data[p]);
    }
  }

  void choose_all_bins() {
    struct Chunk {
      std::vector<double> low, high;
    };
    const int64_t n_chunks = (x_.n_cols + kColumnsAtOnce - 1) / kColumnsAtOnce;
    std::vector<Chunk> chunks(n_chunks);
    parallel_for(n_jobs_, n_chunks, [&](int64_t i) {
      Tally tally;
      for (int64_t c = i * kColumnsAtOnce; c < std::min(x_.n_cols, (i + 1) * kColumnsAtOnce); ++c) {
        const bool has_zero = begin_[c + 1] - begin_[c] < x_.n_rows;
        if (begin_[c + 1] - begin_[c] < kMaxBins) {
          take_short_column(out_.columns[c], values_.data() + begin_[c], begin_[c + 1] - begin_[c], has_zero, chunks[i].low);
          chunks[i].high.insert(chunks[i].high.end(), chunks[i].low.end() - out_.columns[c].n_bins, chunks[i].low.end());
          continue;
        }
        const Bins bins = bins_of_column(values_.data() + begin_[c], begin_[c + 1] - begin_[c], has_zero, tally);
        Column &column = out_.columns[c];
        column.group = -1;
        column.n_bins = bins.size();
        column.exact = bins.exact;
        column.default_bin = -1;
        if (has_zero)
          column.default_bin = static_cast<int32_t>(std::lower_bound(bins.high.begin(), bins.high.end(), 0.0) -
                                                    bins.high.begin());
        chunks[i].low.insert(chunks[i].low.end(), bins.low.begin(), bins.low.end());
        chunks[i].high.insert(chunks[i].high.end(), bins.high.begin(), bins.high.end());
      }
    });
    int64_t n_slots = 0, n_values = 0;
    for (Column &column : out_.columns) {
      column.slot_begin = static_cast<int32_t>(n_slots);
      column.value_begin = n_values;
      n_slots += column.n_slots();
      n_values += column.n_bins;
      if (n_slots > std::numeric_limits<int32_t>::max())
        throw std::invalid_argument("the table has more than 2**31 - 1 bins; encode fewer columns");
    }
    out_.n_slots = static_cast<int32_t>(n_slots);
    out_.low.reserve(n_values);
    out_.high.reserve(n_values);
    for (Chunk &chunk : chunks) {
      out_.low.insert(out_.low.end(), chunk.low.begin(), chunk.low.end());
      out_.high.insert(out_.high.end(), chunk.high.begin(), chunk.high.end());
      chunk = {};
    }
  }

  // Most columns of most sparse tables: few enough values for exact bins, however they are, appended to `ends`.
  static void take_short_column(Column &column, V *values, int64_t n, bool has_zero, std::vector<double> &ends) {
    std::sort(values, values + n);
    const V *last = std::unique(values, values + n);
    const V *zero = std::lower_bound(static_cast<const V *>(values), last, V(0));
    column.group = -1;
    column.exact = true;
    column.default_bin = has_zero ? static_cast<int32_t>(zero - values) : -1;
    column.n_bins = static_cast<int32_t>(last - values) + (has_zero ? 1 : 0);
    ends.insert(ends.end(), static_cast<const V *>(values), zero);
    if (has_zero) ends.push_back(0.0);
    ends.insert(ends.end(), zero, last);
  }

  // Reorders the values.
  static Bins bins_of_column(V *values, int64_t n, bool has_zero, Tally &tally) {
    std::vector<V> sample;
    const bool all = n <= kSortedWhole;
    if (all) {
      tally_values(values, n, tally);
    } else {
      sample.resize(kSampled);
      for (int64_t i = 0; i < kSampled; ++i) sample[i] = values[sampled_row(i, kSampled, n)];
      // With the ends of the negative and of the whole range among the ends of bins, no stored value can fall into the bin
      // of zero nor above the last.
      V highest = values[0], negative = -std::numeric_limits<V>::infinity();
      for (int64_t i = 0; i < n; ++i) {
        highest = std::max(highest, values[i]);
        if (values[i] < 0) negative = std::max(negative, values[i]);
      }
      sample.push_back(highest);
      if (negative < 0 && negative > -std::numeric_limits<V>::infinity()) sample.push_back(negative);
      tally_values(sample.data(), static_cast<int64_t>(sample.size()), tally);
    }
    if (!all && static_cast<int>(tally.value.size()) < kMaxBins) add_unseen(values, n, tally);
    int64_t zero = -1;
    if (has_zero) {
      zero = std::lower_bound(tally.value.begin(), tally.value.end(), 0.0) - tally.value.begin();
      tally.value.insert(tally.value.begin() + zero, 0.0);
      tally.count.insert(tally.count.begin() + zero, 0);
    }
    Bins bins = choose_bins(tally, kMaxBins, zero);
    if (!bins.exact && !all) {
      for (int64_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(values[i]);
        double &low = bins.low[std::lower_bound(bins.high.begin(), bins.high.end() - 1, v) - bins.high.begin()];
        low = std::min(low, v);
      }
    }
    return bins;
  }

  // Adds the values that the sample missed, until there are too many for exact bins.
  static void add_unseen(const V *values, int64_t n, Tally &tally) {
    for (int64_t i = 0; i < n && static_cast<int>(tally.value.size()) <= kMaxBins; ++i) {
      const double v = static_cast<double>(values[i]);
      const auto at = std::lower_bound(tally.value.begin(), tally.value.end(), v);
      if (at != tally.value.end() && *at == v) continue;
      tally.add_new(v, at - tally.value.begin());
    }
  }

  // The number of ends below a value, without branches on the data; a value above all is in the last bin.
  static int32_t bin_of(const double *high, int32_t n_bins, T value) {
    const double v = static_cast<double>(value);
    const double *first = high;
    for (int32_t n = n_bins; n > 1;) {
      const int32_t half = n / 2;
      first += first[half - 1] < v ? half : 0;
      n -= half;
    }
    return static_cast<int32_t>(first - high);
  }

  void write_slots() {
    out_.slots.resize(x_.indptr[x_.n_rows]);
    const int64_t n_pieces = (x_.n_rows + kRowsAtOnce - 1) / kRowsAtOnce;
    parallel_for(n_jobs_, n_pieces, [&](int64_t piece) {
      const int64_t last_row = std::min(x_.n_rows, (piece + 1) * kRowsAtOnce);
      const int64_t end = x_.indptr[last_row];
      for (int64_t p = x_.indptr[piece * kRowsAtOnce]; p < end; ++p) {
        if (p + 2 * kAhead < end) prefetch(&out_.columns[x_.indices[p + 2 * kAhead]], sizeof(Column));
        if (p + kAhead < end) prefetch(&out_.high[out_.columns[x_.indices[p + kAhead]].value_begin], 1);
        const Column &column = out_.columns[x_.indices[p]];
        out_.slots[p] = column.slot_of(bin_of(out_.high.data() + column.value_begin, column.n_bins, x_.data[p]));
      }
    });
  }

  const Csr<T> x_;
  const int n_jobs_;
  std::vector<int64_t> begin_;  // of every column in values_
  std::vector<V> values_;
  Encoded out_;
};

struct EncodeTyped {
  int n_jobs;

  template <class T>
  Encoded operator()(const Csr<T> &x) const {
    return SparseEncoder<T>(x, n_jobs).run();
  }
  template <class T>
  Encoded operator()(const Dense<T> &) const {
    throw std::invalid_argument("a CSR matrix is needed");
  }
};

}  // namespace

Encoded encode_sparse(const Matrix &matrix, int n_jobs) { return matrix.visit(EncodeTyped{n_jobs}); }

}  // namespace cutwise
