// Dense tables: bins and bundles are planned on a sample of the rows, then every row is read once, in tiles. Columns with
// values that the plan has no code for are planned anew with these, and read again; all are where that changes a bundle.
#include <map>

#include "base/distinct_rows.hpp"
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
constexpr int64_t kValuesToChooseBin = 16;
constexpr int64_t kSampleBytes = 2 << 20;  // of the columns sampled together, so that a row is visited once
constexpr int64_t kTileBytes = 128 << 10;  // with the next one: a share of the second cache
constexpr int64_t kMaxTileRows = 1024;
constexpr int64_t kBlockColumns = 256;  // what finds their bins and the bins' ends stay in the second cache
constexpr int64_t kPieceRows = 16384;
constexpr int kMaxBundledCodes = 64;                // codes of one bundled column
constexpr double kMaxDefault = 9007199254740992.0;  // below 2^53 integers and their float64 are equal alike

int64_t sample_size(int64_t n_rows) {
  return n_rows <= kMinSampled ? n_rows : std::clamp(n_rows / 16, kMinSampled, kMaxSampled);
}

// What the plan has no code for in a column: values of none of its bins, or one off the default in a row whose code another
// column of the bundle holds. Of values too many for exact bins some are kept, the same ones in whatever order they come.
struct Unseen {
  std::map<uint64_t, double> values;  // by hash
  bool is_conflict = false;

  void add(double value) {
    value += 0.0;  // -0.0 becomes 0.0
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    values.emplace(mixed(bits), value);
    if (values.size() > kMaxBins + 1) values.erase(std::prev(values.end()));
  }
};

// One thread's findings. Minima, maxima and unions: merging them in any order gives the same.
template <class V>
struct Pass {
  std::vector<V> ends;               // smallest and largest value of every coarse bin
  std::map<int32_t, Unseen> unseen;  // by column
};

template <class T>
class DenseEncoder {
 public:
  using V = Compared<T>;

  DenseEncoder(const Dense<T> &x, bool bundle, const Contents *contents, int n_jobs)
      : x_(x),
        bundle_(bundle),
        contents_(contents),
        n_jobs_(n_jobs),
        n_sampled_(sample_size(x.n_rows)),
        bins_(x.n_cols),
        finders_(x.n_cols),
        candidates_(x.n_cols) {}

  Encoded run() {
    plan_bins();
    plan_groups();
    do encode_rows();
    while (plan_anew());
    return finish();
  }

 private:
  void plan_bins() {
    std::vector<int64_t> rows(n_sampled_);
    for (int64_t i = 0; i < n_sampled_; ++i) rows[i] = sampled_row(i, n_sampled_, x_.n_rows);
    const int64_t at_once = std::max<int64_t>(16, kSampleBytes / (n_sampled_ * static_cast<int64_t>(sizeof(T))));
    for (int64_t first = 0; first < x_.n_cols; first += at_once) plan_bins(rows, first, std::min(x_.n_cols, first + at_once));
  }

  void plan_bins(const std::vector<int64_t> &rows, int64_t first, int64_t last) {
    // The rows lie far apart in memory: each is asked for well before its turn.
    constexpr int64_t ahead = 16;
    const int64_t width = last - first;
    const int64_t apart = width | 1;  // columns of rows a power of two apart would share a few lines of the cache
    std::vector<T> sample(n_sampled_ * apart);
    const T *from = x_.data + first * x_.col_stride;
    for (int64_t i = 0; i < n_sampled_; ++i) {
      if (x_.col_stride == 1 && i + ahead < n_sampled_)
        prefetch(from + rows[i + ahead] * x_.row_stride, width * static_cast<int64_t>(sizeof(T)));
      for (int64_t j = 0; j < width; ++j) sample[i * apart + j] = from[rows[i] * x_.row_stride + j * x_.col_stride];
    }
    parallel_for(n_jobs_, width, [&](int64_t j) {
      std::vector<V> values(n_sampled_), sampled(n_sampled_);
      for (int64_t i = 0; i < n_sampled_; ++i) values[i] = sampled[i] = static_cast<V>(sample[i * apart + j]);
      Tally tally;
      const int64_t c = first + j;
      int64_t n_known = n_sampled_;
      if (has_missing(c))
        n_known = std::remove(values.begin(), values.end(), std::numeric_limits<V>::infinity()) - values.begin();
      // Where a few of the values are too many for exact bins, they are enough to choose others from.
      if (const int64_t n_few = kValuesToChooseBin * Finder<T>::most_coarse(x_.n_rows); 2 * n_few <= n_known) {
        std::vector<V> few(n_few);
        for (int64_t i = 0; i < n_few; ++i) few[i] = values[sampled_row(i, n_few, n_known)];
        tally_values(few.data(), n_few, tally);
      }
      if (tally.size() <= kMaxBins) tally_values(values.data(), n_known, tally);
      if (has_missing(c)) {
        if (tally.size() > 0 && std::isinf(tally.value.back())) tally.value.pop_back(), tally.count.pop_back();
        tally.value.push_back(std::numeric_limits<V>::infinity());
        tally.count.push_back(static_cast<int32_t>(std::max<int64_t>(1, n_sampled_ - n_known)));
      }
      finders_[c] = Finder<T>(tally, x_.n_rows, bins_[c]);
      if (bundle_ && (contents_ == nullptr || contents_[c] == Contents::values)) add_candidate(c, sampled.data(), tally);
    });
  }

  bool has_missing(int64_t c) const { return contents_ != nullptr && contents_[c] == Contents::values_and_missing; }

  // Zero is the default to try first: the columns of a one-hot group exclude each other only by their ones. Then the value
  // most often seen.
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

    alone_.clear();
    bundled_ = BundledColumns<T>();
    for (int32_t c = 0; c < out_.n_cols(); ++c) {
      const Column &column = out_.columns[c];
      if (column.default_bin < 0) {
        alone_.push_back(c);
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
    std::vector<std::unique_ptr<Pass<V>>> passes;
    std::vector<Pass<V> *> idle;
    std::mutex mutex;
    const int64_t n_pieces = (x_.n_rows + kPieceRows - 1) / kPieceRows;
    parallel_for(n_jobs_, n_pieces, [&](int64_t piece) {
      Pass<V> *pass = nullptr;
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (idle.empty()) {
          passes.push_back(new_pass(n_ends));
          idle.push_back(passes.back().get());
        }
        pass = idle.back();
        idle.pop_back();
      }
      const int64_t first = piece * kPieceRows;
      encode_piece(first, std::min(x_.n_rows, first + kPieceRows), *pass);
      std::lock_guard<std::mutex> lock(mutex);
      idle.push_back(pass);
    });
    unseen_.clear();
    for (const auto &pass : passes) merge(*pass);
  }

  void merge(const Pass<V> &pass) {
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      const V *ends = pass.ends.data() + ends_begin_[c];
      for (int b = 0; !bins_[c].exact && b < bins_[c].size(); ++b) {
        bins_[c].low[b] = std::min(bins_[c].low[b], static_cast<double>(ends[2 * b]) + 0.0);
        bins_[c].high[b] = std::max(bins_[c].high[b], static_cast<double>(ends[2 * b + 1]) + 0.0);
      }
    }
    for (const auto &[c, found] : pass.unseen) {
      for (const auto &[hash, value] : found.values) unseen_[c].add(value);
      unseen_[c].is_conflict |= found.is_conflict;
    }
  }

  std::unique_ptr<Pass<V>> new_pass(int64_t n_ends) const {
    auto pass = std::make_unique<Pass<V>>();
    pass->ends.reserve(n_ends);
    for (const Bins &bins : bins_) {
      for (int b = 0; !bins.exact && b < bins.size(); ++b) {
        pass->ends.push_back(static_cast<V>(bins.low[b]));
        pass->ends.push_back(static_cast<V>(bins.high[b]));
      }
    }
    return pass;
  }

  void encode_piece(int64_t first, int64_t last, Pass<V> &pass) {
    if (!bundled_.empty())
      std::memset(out_.codes.data() + first * out_.n_groups, 0, static_cast<size_t>((last - first) * out_.n_groups));
    auto begin = alone_.cbegin();
    for (int64_t column = 0; column < x_.n_cols; column += kBlockColumns) {
      const auto end = std::lower_bound(begin, alone_.cend(), column + kBlockColumns);
      encode_block(first, last, begin, end, column + kBlockColumns >= x_.n_cols && !bundled_.empty(), pass);
      begin = end;
    }
  }

  using Columns = std::vector<int32_t>::const_iterator;

  // Some columns of a piece, and what is bundled.
  void encode_block(int64_t first, int64_t last, Columns begin, Columns end, bool with_bundles, Pass<V> &pass) {
    const int64_t n_groups = out_.n_groups, width = std::min(x_.n_cols, kBlockColumns);
    const bool by_column = std::abs(x_.row_stride) < std::abs(x_.col_stride);
    const int64_t row_bytes = by_column ? std::min(n_groups, width) : width * static_cast<int64_t>(sizeof(T));
    const int64_t tile_rows = std::clamp<int64_t>(kTileBytes / row_bytes, 16, kMaxTileRows);
    for (; first < last; first += tile_rows) {
      const int64_t n = std::min(tile_rows, last - first);
      const T *tile = x_.data + first * x_.row_stride;
      uint8_t *codes = out_.codes.data() + first * n_groups;
      // The next tile's share of the memory that one column's turn may ask for.
      const int64_t next_bytes = x_.col_stride != 1 || x_.row_stride < x_.n_cols || x_.row_stride > 2 * x_.n_cols ||
                                         width < x_.n_cols || first + n >= last
                                     ? 0
                                     : std::min(n, last - first - n) * x_.row_stride * static_cast<int64_t>(sizeof(T));
      const int64_t share = begin == end ? 0 : next_bytes / (end - begin);
      const char *next = reinterpret_cast<const char *>(tile + n * x_.row_stride);
      for (auto c = begin; c != end; ++c) {
        prefetch(next, share);
        next += share;
        const T *values = tile + *c * x_.col_stride;
        uint8_t *of_group = codes + out_.columns[*c].group;
        if (finders_[*c].find(values, x_.row_stride, n, pass.ends.data() + ends_begin_[*c], of_group, n_groups))
          note_unseen(*c, values, n, of_group, pass.unseen[*c]);
      }
      if (with_bundles)
        bundled_.encode(x_, tile, n, n_groups, codes, [&](int32_t column, V value, bool is_conflict) {
          pass.unseen[column].add(static_cast<double>(value));
          pass.unseen[column].is_conflict |= is_conflict;
        });
    }
  }

  void note_unseen(int32_t c, const T *values, int64_t n, const uint8_t *codes, Unseen &unseen) const {
    for (int64_t i = 0; i < n; ++i) {
      const V v = static_cast<V>(values[i * x_.row_stride]);
      if (!finders_[c].knows(v, codes[i * out_.n_groups])) unseen.add(static_cast<double>(v));
    }
  }

  // True when there are columns to be read again.
  bool plan_anew() {
    alone_.clear();
    bundled_ = BundledColumns<T>();
    bool bundles_change = false;
    for (const auto &[c, unseen] : unseen_) {
      if (unseen.values.empty()) continue;  // -0.0 alone, which equals 0.0
      alone_.push_back(c);
      bundles_change |= out_.columns[c].default_bin >= 0;
      plan_anew(c, unseen);
    }
    if (bundles_change) plan_groups();
    else number_slots(bins_, out_);
    return !alone_.empty() || bundles_change;
  }

  void plan_anew(int32_t c, const Unseen &unseen) {
    const Bins before = bins_[c];
    Tally tally;
    tally.value = before.high;
    tally.count.assign(before.high.size(), static_cast<int32_t>(std::max<int64_t>(1, n_sampled_ / before.size())));
    for (const auto &[hash, value] : unseen.values) tally.add(value);
    finders_[c] = Finder<T>(tally, x_.n_rows, bins_[c]);
    if (unseen.is_conflict || tally.size() > kMaxBundledCodes) candidates_[c].clear();
    for (BundleCandidate &candidate : candidates_[c]) {
      candidate.n_codes = bins_[c].size() - 1;
      for (Default &option : candidate.defaults) {
        const double value = before.high[option.bin];
        option.bin =
            static_cast<int32_t>(std::lower_bound(tally.value.begin(), tally.value.end(), value) - tally.value.begin());
      }
    }
  }

  Encoded finish() {
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      out_.columns[c].value_begin = static_cast<int64_t>(out_.low.size());
      out_.low.insert(out_.low.end(), bins_[c].low.begin(), bins_[c].low.end());
      out_.high.insert(out_.high.end(), bins_[c].high.begin(), bins_[c].high.end());
    }
    return std::move(out_);
  }

  const Dense<T> x_;
  const bool bundle_;
  const Contents *contents_;  // by column; null: values
  const int n_jobs_;
  const int64_t n_sampled_;
  std::vector<Bins> bins_;
  std::vector<Finder<T>> finders_;
  std::vector<std::vector<BundleCandidate>> candidates_;  // one of every column that may be bundled
  std::vector<int32_t> alone_;
  BundledColumns<T> bundled_;
  std::vector<int64_t> ends_begin_;
  std::map<int32_t, Unseen> unseen_;  // by column
  Encoded out_;
};

struct EncodeDense {
  bool bundle;
  const Contents *contents;
  int n_jobs;

  template <class T>
  Encoded operator()(const Dense<T> &x) const {
    return DenseEncoder<T>(x, bundle, contents, n_jobs).run();
  }
  template <class Table>
  Encoded operator()(const Table &) const {
    throw std::invalid_argument("a dense matrix is needed");
  }
};

}  // namespace

Encoded encode_dense(const Matrix &matrix, bool bundle, const Contents *contents, int n_jobs) {
  return matrix.visit(EncodeDense{bundle, contents, n_jobs});
}

}  // namespace cutwise
