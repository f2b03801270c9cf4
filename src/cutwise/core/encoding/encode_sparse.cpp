// The encoding of CSR tables, which reads stored values only. Blocks of columns are gathered, so that the values of a column
// are contiguous while its bins are chosen and looked up. Zero has a bin of its own in columns that some row stores no value
// in.
#include "encoding/encoded.hpp"

#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "encoding/bins.hpp"

namespace cutwise {
namespace {

constexpr int64_t kMinStored = 96, kMaxStored = 4096;  // stored values in the sample of a column
// Every bin takes memory for sums over a node's rows, and time in every search, and there may be many thousand columns: so a
// bin should have many values. A column of few distinct values has exact bins nevertheless.
constexpr int64_t kValuesOfBin = 128, kValuesOfExact = 8, kMinExact = 4, kMostExact = 16;
// The stored values of a block of columns: a sixteenth of all, within these limits.
constexpr int64_t kFewestOfBlock = 1 << 16, kMostOfBlock = 1 << 20;
constexpr int64_t kColumnsAtOnce = 64;

// V: the type that stored values are compared in.
template <class V>
class SparseEncoder {
 public:
  explicit SparseEncoder(int n_jobs) : n_jobs_(n_jobs) {}

  template <class T>
  Encoded run(const Csr<T> &x) {
    indptr_ = x.indptr;
    indices_ = x.indices;
    n_rows_ = x.n_rows;
    n_cols_ = x.n_cols;
    out_.n_rows = n_rows_;
    out_.sparse = true;
    out_.columns.resize(n_cols_);
    count_by_column(x.data);
    out_.indptr = indptr_;
    out_.indices = indices_;
    out_.codes.resize(indptr_[n_rows_]);
    int64_t most_bins = 0;
    for (int64_t c = 0; c < n_cols_; ++c) most_bins += most_exact(begin_[c + 1] - begin_[c]);
    out_.low.reserve(most_bins);  // pages that are never written take no memory
    out_.high.reserve(most_bins);
    next_.assign(indptr_, indptr_ + n_rows_);
    const int64_t most = std::clamp(indptr_[n_rows_] / 16, kFewestOfBlock, kMostOfBlock);
    by_column_.reserve(std::min(indptr_[n_rows_], most));
    for (int64_t first = 0, last = 0; first < n_cols_; first = last) {
      for (last = first + 1; last < n_cols_ && begin_[last + 1] - begin_[first] <= most;) ++last;
      gather(x.data, first, last);
      find_bins_of(first, last);
    }
    by_column_ = {};
    number_columns();
    return std::move(out_);
  }

 private:
  // A stored value and its index in the arrays of the table.
  struct Stored {
    V value;
    int64_t position;
  };

  template <class T>
  void count_by_column(const T *data) {
    begin_.assign(n_cols_ + 1, 0);
    for (int64_t row = 0; row < n_rows_; ++row) {
      if (indptr_[row] > indptr_[row + 1]) throw std::invalid_argument("indptr of a CSR matrix never decreases");
      int64_t previous = -1;
      for (int64_t p = indptr_[row]; p < indptr_[row + 1]; ++p) {
        const int64_t c = indices_[p];
        require(c > previous && c < n_cols_, "column indices of a CSR row increase strictly, from 0 up to n_cols - 1");
        require(data[p] != T(0), "a CSR matrix stores no zeros; call eliminate_zeros() first");
        previous = c;
        ++begin_[c + 1];
      }
    }
    for (int64_t c = 0; c < n_cols_; ++c) begin_[c + 1] += begin_[c];
  }

  // Gathers the stored values of the columns first .. last - 1 in by_column_.
  template <class T>
  void gather(const T *data, int64_t first, int64_t last) {
    std::vector<int64_t> next(last - first);
    for (int64_t c = first; c < last; ++c) next[c - first] = begin_[c] - begin_[first];
    by_column_.resize(begin_[last] - begin_[first]);
    for (int64_t row = 0; row < n_rows_; ++row) {
      int64_t p = next_[row];
      for (; p < indptr_[row + 1] && indices_[p] < last; ++p)
        by_column_[next[indices_[p] - first]++] = {static_cast<V>(data[p]), p};
      next_[row] = p;
    }
  }

  // Finds the bins and codes of the gathered columns.
  void find_bins_of(int64_t first, int64_t last) {
    std::vector<Bins> chunks((last - first + kColumnsAtOnce - 1) / kColumnsAtOnce);
    parallel_for(n_jobs_, static_cast<int64_t>(chunks.size()), [&](int64_t i) {
      Tally tally;
      std::vector<V> values;
      const int64_t begin = first + i * kColumnsAtOnce;
      for (int64_t c = begin; c < std::min(last, begin + kColumnsAtOnce); ++c) {
        out_.columns[c].group = -1;
        const Stored *stored = by_column_.data() + begin_[c] - begin_[first];
        const Bins bins = take_column(out_.columns[c], stored, begin_[c + 1] - begin_[c], values, tally);
        chunks[i].low.insert(chunks[i].low.end(), bins.low.begin(), bins.low.end());
        chunks[i].high.insert(chunks[i].high.end(), bins.high.begin(), bins.high.end());
      }
    });
    for (const Bins &chunk : chunks) {
      out_.low.insert(out_.low.end(), chunk.low.begin(), chunk.low.end());
      out_.high.insert(out_.high.end(), chunk.high.begin(), chunk.high.end());
    }
  }

  void number_columns() {
    out_.slot_begin.reserve(n_cols_);
    int64_t n_slots = 0, n_values = 0;
    for (Column &column : out_.columns) {
      column.slot_begin = static_cast<int32_t>(n_slots);
      out_.slot_begin.push_back(column.slot_begin);
      column.value_begin = n_values;
      n_slots += column.n_slots();
      n_values += column.n_bins;
      require_few_slots(n_slots);
    }
    out_.n_slots = static_cast<int32_t>(n_slots);
  }

  Bins take_column(Column &column, const Stored *stored, int64_t n, std::vector<V> &values, Tally &tally) {
    const int64_t n_sampled = n <= kMinStored ? n : std::clamp(n / 8, kMinStored, kMaxStored);
    values.resize(n_sampled);
    for (int64_t i = 0; i < n_sampled; ++i) values[i] = stored[sampled_row(i, n_sampled, n)].value;
    tally_values(values.data(), n_sampled, tally);
    Bins bins;
    if (!find_bins(column, stored, n, tally, bins)) {
      add_unseen(stored, n, tally);
      find_bins(column, stored, n, tally, bins);
    }
    return bins;
  }

  // The most exact bins of a column with n stored values; coarse columns have no more bins than that either.
  static int64_t most_exact(int64_t n) {
    const int64_t few = std::clamp(n / kValuesOfExact, kMinExact, kMostExact);
    return std::clamp<int64_t>(n / kValuesOfBin, few, kMaxBins);
  }

  // Chooses bins from a tally and writes the code of every value. Returns false when the tally lacks a value that needs an
  // exact bin, or all values of one sign.
  bool find_bins(Column &column, const Stored *stored, int64_t n, const Tally &tally, Bins &bins) {
    int64_t zero = -1;
    const bool is_exact = tally.size() + (n < n_rows_ ? 1 : 0) <= most_exact(n);
    if (n < n_rows_) zero = std::lower_bound(tally.value.begin(), tally.value.end(), 0.0) - tally.value.begin();
    const int64_t fewest = zero > 0 && zero < tally.size() ? 3 : 2;  // zero, and one for each sign that occurs
    const int max_bins = static_cast<int>(is_exact ? most_exact(n) : std::clamp(n / kValuesOfBin, fewest, int64_t{kMaxBins}));
    if (n < n_rows_) {
      Tally with_zero = tally;
      with_zero.add_new(0.0, zero);
      with_zero.count[zero] = 0;
      bins = choose_bins(with_zero, max_bins, zero);
    } else {
      bins = choose_bins(tally, max_bins);
    }
    column.n_bins = bins.size();
    column.exact = bins.exact;
    column.slot_begin = 0;
    column.default_bin = -1;
    if (zero >= 0)
      column.default_bin = static_cast<int32_t>(std::lower_bound(bins.high.begin(), bins.high.end(), 0.0) - bins.high.begin());
    V ends[kMaxBins];
    std::transform(bins.high.begin(), bins.high.end() - 1, ends, [](double high) { return static_cast<V>(high); });
    // Every negative value has a bin below that of zero.
    if (column.default_bin > 0) ends[column.default_bin - 1] = -std::numeric_limits<V>::denorm_min();
    struct {
      V low, high;
      uint8_t code;
    } bin[kMaxBins];
    for (int32_t b = 0; b < column.n_bins; ++b)
      bin[b] = {static_cast<V>(bins.low[b]), static_cast<V>(bins.high[b]), static_cast<uint8_t>(column.slot_of(b))};
    bool missed = false;
    for (int64_t first = 0; first < n; first += kCountedTogether) {
      const Stored *at = stored + first;
      const int64_t here = std::min(kCountedTogether, n - first);
      V value[kCountedTogether];
      CountOf<V> found[kCountedTogether];
      for (int64_t i = 0; i < here; ++i) value[i] = at[i].value;
      count_below(ends, column.n_bins - 1, value, here, found);
      for (int64_t i = 0; i < here; ++i) {
        auto &in = bin[found[i]];
        missed |= found[i] == column.default_bin;  // no stored value is zero
        missed |= column.exact && value[i] != in.high;
        in.low = value[i] < in.low ? value[i] : in.low;
        in.high = value[i] > in.high ? value[i] : in.high;
        out_.codes[at[i].position] = in.code;
      }
    }
    for (int32_t b = 0; b < column.n_bins; ++b) {
      bins.low[b] = static_cast<double>(bin[b].low);
      bins.high[b] = static_cast<double>(bin[b].high);
    }
    return !missed;
  }

  // Adds values that the sample lacks until there are too many for exact bins, and the least and the largest value.
  static void add_unseen(const Stored *stored, int64_t n, Tally &tally) {
    V lowest = stored[0].value, highest = lowest;
    for (int64_t i = 0; i < n; ++i) {
      lowest = std::min(lowest, stored[i].value);
      highest = std::max(highest, stored[i].value);
      if (tally.size() <= kMaxBins) tally.add_unless_known(static_cast<double>(stored[i].value));
    }
    tally.add_unless_known(static_cast<double>(lowest));
    tally.add_unless_known(static_cast<double>(highest));
  }

  const int64_t *indptr_ = nullptr;
  const int32_t *indices_ = nullptr;
  int64_t n_rows_ = 0, n_cols_ = 0;
  const int n_jobs_;
  std::vector<int64_t> begin_;  // by column: how many values all columns before it store
  std::vector<int64_t> next_;   // by row: the first stored value that was not gathered yet
  std::vector<Stored, Uninitialized<Stored>> by_column_;
  Encoded out_;
};

}  // namespace

Encoded encode_sparse(const Matrix &matrix, int n_jobs) {
  return matrix.visit([&](const auto &x) -> Encoded {
    using Table = std::decay_t<decltype(x)>;
    if constexpr (Table::is_csr) return SparseEncoder<Compared<typename Table::value_type>>(n_jobs).run(x);
    else throw std::invalid_argument("a CSR matrix is needed");
  });
}

}  // namespace cutwise
