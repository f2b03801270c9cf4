// Dense tables: bins and bundles are planned on a sample of the rows, then every row is read once, in tiles, and held
// against the plan. A value or a conflict that the sample did not show changes the plan and repeats the pass.
#include "encode_dense.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "bins.hpp"
#include "bundle.hpp"
#include "finder.hpp"
#include "parallel.hpp"

namespace cutwise {
namespace {

constexpr int64_t kSampled = 8192;
constexpr int64_t kColumnsAtOnce = 16;   // sampled together: the columns of a cache line
constexpr int64_t kTileBytes = 64 << 10;
constexpr int64_t kMaxTileRows = 1024;
constexpr int64_t kPieceRows = 16384;
constexpr int kMaxBundledCodes = 64;     // codes of one bundled column

// What the pass over the rows needs to know of one column, and what it must not forget.
template <class T>
struct Plan {
  Bins bins;
  Finder<T> finder;
  int64_t low_begin = 0;        // of its bins' smallest values in Pass::low, if coarse
  int32_t group = 0;
  bool bundled = false;
  bool may_bundle = true;       // false after a conflict
  uint8_t code_of_bin[kMaxBins];  // if bundled
};

// One thread's findings. Minima, maxima, unions: merging them in any order gives the same.
template <class T>
struct Pass {
  using V = Compared<T>;
  std::vector<V> low, highest;
  std::vector<std::vector<double>> unknown;  // by column, increasing; more than kMaxBins are not kept
  std::vector<uint8_t> conflict;
};

void insert_value(std::vector<double> &sorted, double value) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if ((at != sorted.end() && *at == value) || sorted.size() > kMaxBins) return;
  sorted.insert(at, value + 0.0);
}

template <class T>
class DenseEncoder {
 public:
  using V = Compared<T>;

  DenseEncoder(const Dense<T> &x, bool bundle, int n_jobs)
      : x_(x), bundle_(bundle), n_jobs_(n_jobs), plans_(x.n_cols), n_sampled_(std::min(x.n_rows, kSampled)) {}

  Encoded run() {
    plan_bins();
    bool again = true;
    while (again) {
      plan_groups();
      encode_rows();
      again = change_plan();
    }
    return finish();
  }

 private:
  void plan_bins() {
    std::vector<std::vector<BundleCandidate>> candidates(x_.n_cols);
    const int64_t n_chunks = (x_.n_cols + kColumnsAtOnce - 1) / kColumnsAtOnce;
    parallel_for(n_jobs_, n_chunks, [&](int64_t chunk) {
      const int64_t first = chunk * kColumnsAtOnce, last = std::min(x_.n_cols, first + kColumnsAtOnce);
      std::vector<V> sample((last - first) * n_sampled_), sorted(n_sampled_);
      for (int64_t i = 0; i < n_sampled_; ++i) {
        const T *row = x_.data + sampled_row(i, n_sampled_, x_.n_rows) * x_.row_stride;
        for (int64_t c = first; c < last; ++c)
          sample[(c - first) * n_sampled_ + i] = static_cast<V>(row[c * x_.col_stride]);
      }
      Tally tally;
      for (int64_t c = first; c < last; ++c) {
        const V *values = sample.data() + (c - first) * n_sampled_;
        std::copy(values, values + n_sampled_, sorted.begin());
        std::sort(sorted.begin(), sorted.end());
        tally_sorted(sorted.data(), n_sampled_, tally);
        plans_[c].bins = choose_bins(tally, kMaxBins);
        if (bundle_) add_candidate(c, values, tally, candidates[c]);
      }
    });
    for (auto &of_column : candidates)
      for (auto &candidate : of_column) candidates_.push_back(std::move(candidate));
  }

  // Zero is the default to try first: the columns of a one-hot group exclude each other only by their ones. Then the value
  // most often seen.
  void add_candidate(int64_t c, const V *values, const Tally &tally, std::vector<BundleCandidate> &candidates) const {
    if (static_cast<int>(tally.value.size()) > kMaxBundledCodes) return;
    const auto &value = tally.value;
    const size_t zero = std::lower_bound(value.begin(), value.end(), 0.0) - value.begin();
    const size_t mode = std::max_element(tally.count.begin(), tally.count.end()) - tally.count.begin();
    BundleCandidate candidate{static_cast<int32_t>(c), static_cast<int32_t>(value.size()) - 1, {}};
    auto add_default = [&](size_t bin) {
      Default option{static_cast<int32_t>(bin), std::vector<uint64_t>((n_sampled_ + 63) / 64, 0)};
      for (int64_t i = 0; i < n_sampled_; ++i)
        option.others[i / 64] |= static_cast<uint64_t>(values[i] != static_cast<V>(value[bin])) << (i % 64);
      candidate.defaults.push_back(std::move(option));
    };
    const bool has_zero = zero < value.size() && value[zero] == 0.0;
    if (has_zero) add_default(zero);
    if (!has_zero || mode != zero) add_default(mode);
    candidates.push_back(std::move(candidate));
  }

  void plan_groups() {
    std::vector<BundleCandidate> usable;
    for (const BundleCandidate &candidate : candidates_) {
      const Plan<T> &plan = plans_[candidate.column];
      if (plan.may_bundle && plan.bins.exact && plan.bins.size() <= kMaxBundledCodes) usable.push_back(candidate);
    }
    const Layout layout = lay_out(static_cast<int32_t>(x_.n_cols), usable);

    out_ = Encoded();
    out_.n_rows = x_.n_rows;
    out_.n_groups = layout.n_groups;
    out_.columns.resize(x_.n_cols);
    std::vector<int64_t> n_codes(layout.n_groups, 0);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      Plan<T> &plan = plans_[c];
      const int n_bins = plan.bins.size();
      plan.group = layout.group[c];
      plan.bundled = layout.default_bin[c] >= 0;
      int64_t &used = n_codes[plan.group];
      if (plan.bundled && used == 0) used = 1;
      Column &column = out_.columns[c];
      column = {plan.group, static_cast<int32_t>(used), n_bins, layout.default_bin[c], 0, plan.bins.exact};
      if (plan.bundled)
        for (int b = 0; b < n_bins; ++b)
          plan.code_of_bin[b] = static_cast<uint8_t>(b == column.default_bin ? 0 : column.slot_of(b));
      used += column.n_slots();
      plan.finder = Finder<T>(plan.bins, x_.n_rows);
    }
    int64_t n_slots = 0;
    out_.group_begin.resize(layout.n_groups);
    for (int32_t g = 0; g < layout.n_groups; ++g) {
      out_.group_begin[g] = static_cast<int32_t>(n_slots);
      n_slots += n_codes[g];
      if (n_slots > INT32_MAX) throw std::invalid_argument("the table has more than 2**31 - 1 bins; encode fewer columns");
    }
    out_.n_slots = static_cast<int32_t>(n_slots);
    for (Column &column : out_.columns) column.slot_begin += out_.group_begin[column.group];
  }

  void encode_rows() {
    out_.codes.assign(x_.n_rows * out_.n_groups, 0);
    int64_t n_low = 0;
    for (Plan<T> &plan : plans_) {
      plan.low_begin = n_low;
      if (!plan.bins.exact) n_low += plan.bins.size();
    }
    passes_.clear();
    std::vector<Pass<T> *> idle;
    std::mutex mutex;
    const int64_t n_pieces = (x_.n_rows + kPieceRows - 1) / kPieceRows;
    parallel_for(n_jobs_, n_pieces, [&](int64_t piece) {
      Pass<T> *pass = nullptr;
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (idle.empty()) {
          passes_.push_back(new_pass(n_low));
          idle.push_back(passes_.back().get());
        }
        pass = idle.back();
        idle.pop_back();
      }
      const int64_t first = piece * kPieceRows;
      encode_piece(first, std::min(x_.n_rows, first + kPieceRows), *pass);
      std::lock_guard<std::mutex> lock(mutex);
      idle.push_back(pass);
    });
  }

  std::unique_ptr<Pass<T>> new_pass(int64_t n_low) const {
    auto pass = std::make_unique<Pass<T>>();
    pass->low.resize(n_low);
    pass->highest.resize(x_.n_cols);
    pass->unknown.resize(x_.n_cols);
    pass->conflict.resize(x_.n_cols);
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      const Bins &bins = plans_[c].bins;
      if (!bins.exact) std::copy(bins.low.begin(), bins.low.end(), pass->low.begin() + plans_[c].low_begin);
      pass->highest[c] = static_cast<V>(bins.high.back());
    }
    return pass;
  }

  void encode_piece(int64_t first, int64_t last, Pass<T> &pass) {
    const int64_t row_bytes = x_.n_cols * static_cast<int64_t>(sizeof(T));
    const bool by_column = std::abs(x_.row_stride) < std::abs(x_.col_stride);
    const int64_t tile_rows = by_column ? kMaxTileRows : std::clamp<int64_t>(kTileBytes / row_bytes, 16, kMaxTileRows);
    uint8_t bins[kMaxTileRows];
    for (; first < last; first += tile_rows) {
      const int64_t n = std::min(tile_rows, last - first);
      uint8_t *codes = out_.codes.data() + first * out_.n_groups;
      for (int64_t c = 0; c < x_.n_cols; ++c) {
        const T *values = x_.data + first * x_.row_stride + c * x_.col_stride;
        const Plan<T> &plan = plans_[c];
        V *low = pass.low.data() + plan.low_begin;
        if (plan.finder.find(values, x_.row_stride, n, low, bins)) {
          plan.finder.mend(values, x_.row_stride, n, low, pass.highest[c], bins,
                           [&](int64_t, V v) { insert_value(pass.unknown[c], static_cast<double>(v)); });
        }
        write(plan, bins, n, codes + plan.group, pass.conflict[c]);
      }
    }
  }

  void write(const Plan<T> &plan, const uint8_t *bins, int64_t n, uint8_t *codes, uint8_t &conflict) const {
    const int64_t n_groups = out_.n_groups;
    if (!plan.bundled) {
      for (int64_t i = 0; i < n; ++i) codes[i * n_groups] = bins[i];
      return;
    }
    bool both = false;
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t code = plan.code_of_bin[bins[i]];
      uint8_t &held = codes[i * n_groups];
      both |= (code != 0) & (held != 0);
      held = static_cast<uint8_t>(held | code);
    }
    conflict = static_cast<uint8_t>(conflict | both);
  }

  // Takes what the passes found into the plan; true when the rows have to be read again.
  bool change_plan() {
    bool again = false;
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      Plan<T> &plan = plans_[c];
      std::vector<double> unknown;
      for (const auto &pass : passes_) {
        for (double value : pass->unknown[c]) insert_value(unknown, value);
        if (pass->conflict[c] && plan.may_bundle) {
          plan.may_bundle = false;
          again = true;
        }
      }
      if (unknown.empty()) continue;
      again = true;
      if (plan.bins.size() + static_cast<int64_t>(unknown.size()) > kMaxBins) {
        plan.bins.exact = false;  // a new value now shares the bin of the next known one
        continue;
      }
      // A candidate default's number moves with its value.
      const auto candidate = std::lower_bound(candidates_.begin(), candidates_.end(), c,
                                              [](const BundleCandidate &a, int64_t b) { return a.column < b; });
      if (candidate != candidates_.end() && candidate->column == c) {
        for (Default &option : candidate->defaults) {
          const double value = plan.bins.high[option.bin];
          option.bin += static_cast<int32_t>(std::lower_bound(unknown.begin(), unknown.end(), value) - unknown.begin());
        }
        candidate->n_codes += static_cast<int32_t>(unknown.size());
      }
      std::vector<double> all(plan.bins.high.size() + unknown.size());
      std::merge(plan.bins.high.begin(), plan.bins.high.end(), unknown.begin(), unknown.end(), all.begin());
      plan.bins.low = plan.bins.high = std::move(all);
    }
    return again;
  }

  Encoded finish() {
    for (int64_t c = 0; c < x_.n_cols; ++c) {
      Bins &bins = plans_[c].bins;
      for (const auto &pass : passes_) {
        if (bins.exact) break;
        const V *low = pass->low.data() + plans_[c].low_begin;
        for (int b = 0; b < bins.size(); ++b) bins.low[b] = std::min(bins.low[b], static_cast<double>(low[b]) + 0.0);
        bins.high.back() = std::max(bins.high.back(), static_cast<double>(pass->highest[c]) + 0.0);
      }
      out_.columns[c].value_begin = static_cast<int64_t>(out_.low.size());
      out_.low.insert(out_.low.end(), bins.low.begin(), bins.low.end());
      out_.high.insert(out_.high.end(), bins.high.begin(), bins.high.end());
    }
    return std::move(out_);
  }

  const Dense<T> x_;
  const bool bundle_;
  const int n_jobs_;
  std::vector<Plan<T>> plans_;
  const int64_t n_sampled_;
  std::vector<BundleCandidate> candidates_;
  std::vector<std::unique_ptr<Pass<T>>> passes_;
  Encoded out_;
};

struct EncodeTyped {
  bool bundle;
  int n_jobs;

  template <class T>
  Encoded operator()(const Dense<T> &x) const {
    return DenseEncoder<T>(x, bundle, n_jobs).run();
  }
  template <class T>
  Encoded operator()(const Csr<T> &) const {
    throw std::invalid_argument("a dense matrix is needed");
  }
};

}  // namespace

Encoded encode_dense(const Matrix &matrix, bool bundle, int n_jobs) { return matrix.visit(EncodeTyped{bundle, n_jobs}); }

}  // namespace cutwise
