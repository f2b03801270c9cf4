// The encoding of dense tables. Bins and bundles are chosen on a sample of the rows, then every row is read once, in tiles.
// Values without a code are noted and recoded afterwards. The pass is repeated after the bins of a column with too many of
// them were chosen again, or columns left a bundle that cannot hold them.
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "encoding/bins.hpp"
#include "encoding/bundled_columns.hpp"
#include "encoding/codes.hpp"
#include "encoding/encoded.hpp"
#include "encoding/finder.hpp"

namespace cutwise {

namespace {

constexpr int64_t kMinSampled = 4096, kMaxSampled = 8192;
constexpr int64_t kValuesToChooseBin = 10;
constexpr int64_t kSampleBytes = 2 << 20;  // size of the sample of the columns that are sampled together
constexpr int64_t kTileBytes = 128 << 10;  // two tiles fit in the second-level cache
constexpr int64_t kMaxTileRows = 1024;
constexpr int64_t kBlockColumns = 256;  // the finders and the bins' ends of so many columns stay in the second-level cache
constexpr int64_t kPieceRows = 16384;
constexpr int64_t kMinUnseen = 1024;                // so many unseen values per column are allowed, or one row in 64
constexpr int kMaxBundledCodes = 64;                // codes of one bundled column
constexpr double kMaxDefault = 9007199254740992.0;  // 2^53: smaller integers are equal exactly where their float64 are

int64_t sample_size(int64_t n_rows) {
  return n_rows <= kMinSampled ? n_rows : std::clamp(n_rows / 16, kMinSampled, kMaxSampled);
}

// What one thread collects. These are minima, maxima, lists that are sorted later, and counts, so the order of merging is free.
template <class V>
struct Pass {
  std::vector<V> ends;  // the least and the largest value of every coarse bin
  std::vector<UnseenValue> unseen;
  std::vector<int64_t> n_unseen;  // by column
  std::vector<bool> in_conflict;  // by column, with an earlier one of its bundle
};

template <class T>
class DenseEncoder {
 public:
  using V = Compared<T>;

  DenseEncoder(const Dense<T> &x, const Contents *contents, int n_jobs)
      : x_(x),
        contents_(contents),
        n_jobs_(n_jobs),
        n_sampled_(sample_size(x.n_rows)),
        max_unseen_(std::max(kMinUnseen, x.n_rows / 64)),
        bins_(x.n_cols),
        finders_(x.n_cols),
        candidates_(x.n_cols) {}

  Encoded run() {
    plan_bins();
    do {
      plan_groups();
      encode_rows();
    } while (plan_anew() || !finish());
    return std::move(out_);
  }

 private:
  void plan_bins() {
    std::vector<int64_t> rows(n_sampled_);
    for (int64_t i = 0; i < n_sampled_; ++i) rows[i] = sampled_row(i, n_sampled_, x_.n_rows);
    const int64_t at_once = std::max<int64_t>(16, kSampleBytes / (n_sampled_ * static_cast<int64_t>(sizeof(T))));
    for (int64_t first = 0; first < x_.n_cols; first += at_once) plan_bins(rows, first, std::min(x_.n_cols, first + at_once));
  }

  void plan_bins(const std::vector<int64_t> &rows, int64_t first, int64_t last) {
    constexpr int64_t ahead = 16;  // rows ahead that are prefetched, as sampled rows are scattered in memory
    const int64_t width = last - first;
    const int64_t stride = width | 1;  // odd: with a power of two, the values of a column would share few cache lines
    std::vector<T> sample(n_sampled_ * stride);
    const T *from = x_.data + first * x_.col_stride;
    for (int64_t i = 0; i < n_sampled_; ++i) {
      if (x_.col_stride == 1 && i + ahead < n_sampled_)
        prefetch(from + rows[i + ahead] * x_.row_stride, width * static_cast<int64_t>(sizeof(T)));
      for (int64_t j = 0; j < width; ++j) sample[i * stride + j] = from[rows[i] * x_.row_stride + j * x_.col_stride];
    }
    const int64_t n_few = kValuesToChooseBin * Finder<T>::most_coarse(x_.n_rows);
    parallel_for(n_jobs_, width, [&](int64_t j) {
      const int64_t c = first + j;
      std::vector<V> values(n_sampled_);
      for (int64_t i = 0; i < n_sampled_; ++i) values[i] = static_cast<V>(sample[i * stride + j]);
      int64_t n_known = n_sampled_;
      if (has_missing(c))
        n_known = std::remove_if(values.begin(), values.end(), [](V v) { return std::isnan(v); }) - values.begin();
      Tally tally;
      // If a few of the values already have too many distinct ones for exact bins, these few are enough to choose coarse bins
      // from.
      if (2 * n_few <= n_known) {
        std::vector<V> few(n_few);
        for (int64_t i = 0; i < n_few; ++i) few[i] = values[i * n_known / n_few];
        tally_values(few.data(), n_few, tally);
      }
      if (tally.size() <= kMaxBins) tally_values(values.data(), n_known, tally);
      if (expects_unseen(tally)) add_unseen(c, tally);
      if (has_missing(c)) {
        if (tally.size() > 0 && std::isinf(tally.value.back())) tally.value.pop_back(), tally.count.pop_back();
        tally.value.push_back(std::numeric_limits<V>::infinity());
        tally.count.push_back(static_cast<int32_t>(std::max<int64_t>(1, n_sampled_ - n_known)));
      }
      finders_[c] = Finder<T>(tally, x_.n_rows, bins_[c]);
      if (contents_ == nullptr || contents_[c] == Contents::values) add_candidate(c, values.data(), tally);
    });
  }

  bool has_missing(int64_t c) const { return contents_ != nullptr && contents_[c] == Contents::values_and_missing; }
  // A missing value is infinity.
  static T known(T value) { return std::isnan(static_cast<V>(value)) ? std::numeric_limits<T>::infinity() : value; }

  // Whether the sample lets expect many unseen values: the share of values seen once estimates the share of values not seen at
  // all (Good and Turing).
  bool expects_unseen(const Tally &tally) const {
    if (n_sampled_ == x_.n_rows || tally.size() > kMaxBins) return false;
    const double n_once = static_cast<double>(std::count(tally.count.begin(), tally.count.end(), 1));
    return n_once / static_cast<double>(n_sampled_) * static_cast<double>(x_.n_rows) > 0.5 * static_cast<double>(max_unseen_);
  }

  // Adds the column's other values, until there are too many for exact bins.
  void add_unseen(int64_t c, Tally &tally) const {
    for (int64_t i = 0; i < x_.n_rows && tally.size() <= kMaxBins; ++i)
      tally.add_unless_known(static_cast<double>(known(*x_.address(i, c))) + 0.0);
  }

  // The default values to try are zero, as in one-hot columns, where no two have a one in the same row, and then the most
  // frequent value.
  void add_candidate(int64_t c, const V *values, const Tally &tally) {
    const auto &value = tally.value;
    if (tally.size() > kMaxBundledCodes) return;
    const size_t zero = std::lower_bound(value.begin(), value.end(), 0.0) - value.begin();
    const size_t mode = std::max_element(tally.count.begin(), tally.count.end()) - tally.count.begin();
    BundleCandidate candidate{static_cast<int32_t>(c), static_cast<int32_t>(value.size()) - 1, {}};
    auto add_default = [&](size_t bin) {
      if (std::abs(value[bin]) >= kMaxDefault) return;
      Default option{static_cast<int32_t>(bin), std::vector<uint64_t>((n_sampled_ + 63) / 64, 0)};
      const V default_value = static_cast<V>(value[bin]);
      for (int64_t i = 0; i < n_sampled_; ++i)
        option.others[i / 64] |= static_cast<uint64_t>(values[i] != default_value) << (i % 64);
      candidate.defaults.push_back(std::move(option));
    };
    const bool has_zero = zero < value.size() && value[zero] == 0.0;
    if (has_zero) add_default(zero);
    if (!has_zero || mode != zero) add_default(mode);
    if (!candidate.defaults.empty()) candidates_[c].push_back(std::move(candidate));
  }

  void plan_groups() {
    std::vector<BundleCandidate> candidates;
    for (const auto &of_column : candidates_) candidates.insert(candidates.end(), of_column.begin(), of_column.end());
    const Layout layout = lay_out(static_cast<int32_t>(x_.n_cols), candidates, n_sampled_ == x_.n_rows);
    out_ = Encoded();
    out_.n_rows = x_.n_rows;
    out_.n_groups = layout.n_groups;
    out_.columns.resize(x_.n_cols);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      out_.columns[c].group = layout.group[c];
      out_.columns[c].default_bin = layout.default_bin[c];
    }
    number_slots(bins_, out_);

    unbundled_.clear();
    bundled_ = BundledColumns<T>();
    for (int32_t c = 0; c < out_.n_cols(); ++c) {
      const Column &column = out_.columns[c];
      if (column.default_bin < 0) {
        unbundled_.push_back(c);
        continue;
      }
      bundled_.add(c, column.group, bins_[c].high[column.default_bin]);
      for (int32_t b = 0; b < column.n_bins; ++b)
        if (b != column.default_bin) bundled_.add_code(bins_[c].high[b], code_of(out_, column, b));
    }
    bundled_.plan_rows(x_.col_stride);
  }

  void encode_rows() {
    out_.codes.resize(x_.n_rows * out_.n_groups);
    int64_t n_ends = 0;
    ends_begin_.assign(x_.n_cols, 0);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      ends_begin_[c] = n_ends;
      if (!bins_[c].exact) n_ends += 2 * bins_[c].size();
    }
    const int64_t n_pieces = (x_.n_rows + kPieceRows - 1) / kPieceRows;
    passes_.assign(std::max<int64_t>(1, std::min<int64_t>(n_jobs_, n_pieces)), {});
    const auto n_passes = static_cast<int64_t>(passes_.size());
    parallel_for(n_jobs_, n_passes, [&](int64_t i) {
      Pass<V> &pass = passes_[i];
      pass.ends.reserve(n_ends);
      for (const Bins &bins : bins_)
        for (int b = 0; !bins.exact && b < bins.size(); ++b)
          pass.ends.insert(pass.ends.end(), {static_cast<V>(bins.low[b]), static_cast<V>(bins.high[b])});
      pass.n_unseen.assign(x_.n_cols, 0);
      pass.in_conflict.assign(x_.n_cols, false);
      for (int64_t piece = n_pieces * i / n_passes; piece < n_pieces * (i + 1) / n_passes; ++piece)
        encode_piece(piece * kPieceRows, std::min(x_.n_rows, (piece + 1) * kPieceRows), pass);
    });
  }

  void encode_piece(int64_t first, int64_t last, Pass<V> &pass) {
    if (!bundled_.empty())
      std::memset(out_.codes.data() + first * out_.n_groups, 0, static_cast<size_t>((last - first) * out_.n_groups));
    auto begin = unbundled_.cbegin();
    for (int64_t column = 0; column < x_.n_cols; column += kBlockColumns) {
      const auto end = std::lower_bound(begin, unbundled_.cend(), column + kBlockColumns);
      encode_block(first, last, begin, end, column + kBlockColumns >= x_.n_cols && !bundled_.empty(), pass);
      begin = end;
    }
  }

  using Columns = std::vector<int32_t>::const_iterator;

  // Encodes some columns of a piece, and with_bundles all bundled columns.
  void encode_block(int64_t first, int64_t last, Columns begin, Columns end, bool with_bundles, Pass<V> &pass) {
    const int64_t n_groups = out_.n_groups, width = std::min(x_.n_cols, kBlockColumns);
    const bool by_column = std::abs(x_.row_stride) < std::abs(x_.col_stride);
    const int64_t row_bytes = by_column ? std::min(n_groups, width) : width * static_cast<int64_t>(sizeof(T));
    const int64_t tile_rows = std::clamp<int64_t>(kTileBytes / row_bytes, 16, kMaxTileRows);
    T filled[kMaxTileRows];
    for (; first < last; first += tile_rows) {
      const int64_t n = std::min(tile_rows, last - first);
      const T *tile = x_.data + first * x_.row_stride;
      uint8_t *codes = out_.codes.data() + first * n_groups;
      // While a column is encoded, its share of the rows of the next tile is prefetched.
      const int64_t n_next = x_.col_stride == 1 ? std::min(n, last - first - n) : 0, n_columns = end - begin;
      const T *next = tile + n * x_.row_stride + (begin == end ? 0 : *begin);
      for (auto c = begin; c != end; ++c) {
        for (int64_t i = (c - begin) * n_next / n_columns; i < (c - begin + 1) * n_next / n_columns; ++i)
          prefetch(next + i * x_.row_stride, width * static_cast<int64_t>(sizeof(T)));
        const T *values = tile + *c * x_.col_stride;
        int64_t stride = x_.row_stride;
        if (has_missing(*c)) {
          for (int64_t i = 0; i < n; ++i) filled[i] = known(values[i * stride]);
          values = filled;
          stride = 1;
        }
        uint8_t *of_group = codes + out_.columns[*c].group;
        if (finders_[*c].find(values, stride, n, pass.ends.data() + ends_begin_[*c], of_group, n_groups))
          note_unseen(*c, first, values, stride, n, of_group, pass);
      }
      if (with_bundles)
        bundled_.encode(x_, first, tile, n, n_groups, codes, [&](int32_t column, int64_t row, V value, bool conflict) {
          if (conflict) pass.in_conflict[column] = true;
          else note(column, row, value, pass);
        });
    }
  }

  void note(int32_t column, int64_t row, V value, Pass<V> &pass) const {
    if (++pass.n_unseen[column] <= max_unseen_)
      pass.unseen.push_back({column, static_cast<int32_t>(row), static_cast<double>(value)});
  }

  void note_unseen(int32_t c, int64_t first, const T *values, int64_t stride, int64_t n, const uint8_t *codes,
                   Pass<V> &pass) const {
    for (int64_t i = 0; i < n; ++i) {
      const V v = static_cast<V>(values[i * stride]);
      if (!finders_[c].is_known(v, codes[i * out_.n_groups])) note(c, first + i, v, pass);
    }
  }

  // Chooses the bins of columns with too many unseen values again, from all of their values; these columns and those in
  // conflict leave their bundles. Returns whether there are any.
  bool plan_anew() {
    bool again = false;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      int64_t n_unseen = 0;
      bool in_conflict = false;
      for (const Pass<V> &pass : passes_) {
        n_unseen += pass.n_unseen[c];
        in_conflict |= pass.in_conflict[c];
      }
      if (n_unseen <= max_unseen_ && !in_conflict) continue;
      again = true;
      candidates_[c].clear();
      if (n_unseen <= max_unseen_) continue;
      Tally tally;
      tally.value = bins_[c].high;
      tally.count.assign(tally.value.size(), 1);
      add_unseen(c, tally);
      finders_[c] = Finder<T>(tally, x_.n_rows, bins_[c]);
    }
    return again;
  }

  // Returns false when columns have to leave their bundles first.
  bool finish() {
    std::vector<UnseenValue> unseen;
    for (const Pass<V> &pass : passes_) {
      unseen.insert(unseen.end(), pass.unseen.begin(), pass.unseen.end());
      for (int64_t c = 0; c < x_.n_cols; ++c) {
        const V *ends = pass.ends.data() + ends_begin_[c];
        for (int b = 0; !bins_[c].exact && b < bins_[c].size(); ++b) {
          bins_[c].low[b] = std::min(bins_[c].low[b], static_cast<double>(ends[2 * b]) + 0.0);
          bins_[c].high[b] = std::max(bins_[c].high[b], static_cast<double>(ends[2 * b + 1]) + 0.0);
        }
      }
    }
    const std::vector<int32_t> leaving = recode(std::move(unseen), bins_, out_, n_jobs_);
    for (const int32_t c : leaving) candidates_[c].clear();
    if (!leaving.empty()) return false;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      out_.columns[c].value_begin = static_cast<int64_t>(out_.low.size());
      out_.low.insert(out_.low.end(), bins_[c].low.begin(), bins_[c].low.end());
      out_.high.insert(out_.high.end(), bins_[c].high.begin(), bins_[c].high.end());
    }
    return true;
  }

  const Dense<T> x_;
  const Contents *contents_;  // by column; null: values
  const int n_jobs_;
  const int64_t n_sampled_, max_unseen_;
  std::vector<Bins> bins_;
  std::vector<Finder<T>> finders_;
  std::vector<std::vector<BundleCandidate>> candidates_;  // by column: one entry where it may be bundled
  std::vector<int32_t> unbundled_;
  BundledColumns<T> bundled_;
  std::vector<int64_t> ends_begin_;
  std::vector<Pass<V>> passes_;
  Encoded out_;
};

template <class T>
Encoded encoded_from(const Dense<T> &x, const Contents *contents, int n_jobs) {
  return DenseEncoder<T>(x, contents, n_jobs).run();
}
template <class Table>
Encoded encoded_from(const Table &, const Contents *, int) {
  throw std::invalid_argument("a dense matrix is needed");
}

}  // namespace

Encoded encode_dense(const Matrix &matrix, const Contents *contents, int n_jobs) {
  return matrix.visit([&](const auto &x) { return encoded_from(x, contents, n_jobs); });
}

}  // namespace cutwise
