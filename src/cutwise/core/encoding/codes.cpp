#include "encoding/codes.hpp"

#include "base/parallel.hpp"

namespace cutwise {

namespace {

constexpr int kMaxCodes = 256;     // code 0 included
constexpr int kMaxTried = 64;      // bundles tried for a column, latest first, so that the time is linear in the columns
constexpr double kConvincing = 8;  // expected conflicts if columns were independent: no conflict is then not by chance

struct Bundle {
  int n_codes = 1;
  int64_t n_others = 0;
  double expected = 0;           // conflicts in the sample if its members were independent
  std::vector<uint64_t> others;  // sampled rows in which some member is off its default
  std::vector<std::pair<const BundleCandidate *, const Default *>> members;
};

int64_t count_bits(const std::vector<uint64_t> &bits) {
  int64_t n = 0;
  for (uint64_t word : bits)
    for (; word != 0; word &= word - 1) ++n;
  return n;
}

bool disjoint(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return false;
  return true;
}

constexpr int64_t kTileCodeBytes = 64 << 10;  // codes of one tile of rows, which are rewritten group by group in the cache
constexpr int64_t kMaxRecodedRows = 16384;

using Range = std::pair<const UnseenValue *, const UnseenValue *>;

// The unseen values of a column, among all of them sorted.
Range of_column(const std::vector<UnseenValue> &unseen, int32_t column) {
  const auto before = [](const UnseenValue &s, int32_t c) { return s.column < c; };
  const auto after = [](int32_t c, const UnseenValue &s) { return c < s.column; };
  const UnseenValue *begin = unseen.data(), *end = begin + unseen.size();
  const UnseenValue *first = std::lower_bound(begin, end, column, before);
  return {first, std::upper_bound(first, end, column, after)};
}

int32_t bin_of(const Bins &bins, double value) {
  return static_cast<int32_t>(std::lower_bound(bins.high.begin(), bins.high.end() - 1, value) - bins.high.begin());
}

// Bins that include the unseen values.
Bins with_values(const Bins &old, Range range) {
  std::vector<double> values(old.high);
  for (const UnseenValue *s = range.first; s != range.second; ++s) values.push_back(s->value + 0.0);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  Bins bins;
  if (static_cast<int>(values.size()) <= kMaxBins) {
    bins.low = bins.high = std::move(values);
    return bins;
  }
  // Too many values for exact bins: a new value shares the bin of the next larger one.
  bins = old;
  bins.exact = false;
  if (std::isinf(bins.high.back())) {  // the bin of missing values is not shared
    const double largest = values[values.size() - 2];
    if (bins.size() == 1) bins.low.insert(bins.low.begin(), largest), bins.high.insert(bins.high.begin(), largest);
    bins.high[bins.size() - 2] = std::max(bins.high[bins.size() - 2], largest);
  }
  for (const double value : values) {
    const int32_t b = bin_of(bins, value);
    bins.low[b] = std::min(bins.low[b], value);
    bins.high[b] = std::max(bins.high[b], value);
  }
  return bins;
}

// How the codes of a group change: new code = of[old code].
struct Recoding {
  int32_t group;
  uint8_t of[256];
};

// Of the groups whose codes change when columns get more bins.
std::vector<Recoding> recodings(const Encoded &before, const std::vector<Bins> &bins_before, const Encoded &now,
                                const std::vector<Bins> &bins) {
  std::vector<Recoding> all(now.n_groups);
  std::vector<bool> changes(now.n_groups, false);
  for (int32_t g = 0; g < now.n_groups; ++g) {
    all[g].group = g;
    std::iota(all[g].of, all[g].of + 256, uint8_t{0});
  }
  for (int32_t c = 0; c < now.n_cols(); ++c) {
    const Column &old = before.columns[c], &column = now.columns[c];
    for (int32_t b = 0; b < old.n_bins; ++b) {
      if (b == old.default_bin) continue;
      const uint8_t code = code_of(before, old, b), moved = code_of(now, column, bin_of(bins[c], bins_before[c].high[b]));
      all[column.group].of[code] = moved;
      if (moved != code) changes[column.group] = true;
    }
  }
  all.erase(std::remove_if(all.begin(), all.end(), [&](const Recoding &r) { return !changes[r.group]; }), all.end());
  return all;
}

// Puts the candidates into bundles, each into one of the latest whose sampled rows it shares with no other column.
std::vector<Bundle> bundles_of(const std::vector<BundleCandidate> &candidates, double convincing) {
  std::vector<Bundle> bundles;
  int64_t latest = -1;  // the bundle of the column before: one-hot columns stand side by side
  for (const BundleCandidate &candidate : candidates) {
    int64_t found = -1;
    const Default *chosen = nullptr;
    for (const Default &option : candidate.defaults) {
      const double n_sampled = 64.0 * static_cast<double>(option.others.size());
      const int64_t n_others = count_bits(option.others);
      const int64_t n_bundles = static_cast<int64_t>(bundles.size());
      for (int64_t tried = -1; tried < std::min<int64_t>(n_bundles, kMaxTried) && found < 0; ++tried) {
        const int64_t b = tried < 0 ? latest : n_bundles - 1 - tried;
        if (b < 0 || (tried >= 0 && b == latest)) continue;
        const Bundle &bundle = bundles[b];
        if (bundle.n_codes + candidate.n_codes > kMaxCodes) continue;
        // A column that is rarely off its default has no conflicts in a sample with any other: only the bundle of the column
        // before is a likely partner.
        const double expected = static_cast<double>(n_others) * static_cast<double>(bundle.n_others) / n_sampled;
        if (b != latest && expected < convincing) continue;
        if (!disjoint(bundle.others, option.others)) continue;
        found = b;
        chosen = &option;
      }
      if (found >= 0) break;
    }
    if (found < 0) {
      found = static_cast<int64_t>(bundles.size());
      chosen = &candidate.defaults.front();
      bundles.emplace_back();
      bundles.back().others.assign(chosen->others.size(), 0);
    }
    Bundle &bundle = bundles[found];
    const double n_sampled = 64.0 * static_cast<double>(chosen->others.size());
    bundle.expected += static_cast<double>(count_bits(chosen->others)) * static_cast<double>(bundle.n_others) / n_sampled;
    bundle.n_codes += candidate.n_codes;
    for (size_t i = 0; i < bundle.others.size(); ++i) bundle.others[i] |= chosen->others[i];
    bundle.n_others = count_bits(bundle.others);
    bundle.members.emplace_back(&candidate, chosen);
    latest = found;
  }
  return bundles;
}

}  // namespace

Layout lay_out(int32_t n_cols, const std::vector<BundleCandidate> &candidates, bool sample_is_all) {
  const double convincing = sample_is_all ? 0 : kConvincing;
  const std::vector<Bundle> bundles = bundles_of(candidates, convincing);
  std::vector<int32_t> bundle_of(n_cols, -1);
  Layout layout;
  layout.group.assign(n_cols, -1);
  layout.default_bin.assign(n_cols, -1);
  for (size_t b = 0; b < bundles.size(); ++b) {
    if (bundles[b].members.size() < 2 || bundles[b].expected < convincing) continue;
    for (const auto &[candidate, chosen] : bundles[b].members) {
      bundle_of[candidate->column] = static_cast<int32_t>(b);
      layout.default_bin[candidate->column] = chosen->bin;
    }
  }
  std::vector<int32_t> group_of_bundle(bundles.size(), -1);
  for (int32_t c = 0; c < n_cols; ++c) {
    const int32_t b = bundle_of[c];
    if (b < 0) {
      layout.group[c] = layout.n_groups++;
    } else {
      if (group_of_bundle[b] < 0) group_of_bundle[b] = layout.n_groups++;
      layout.group[c] = group_of_bundle[b];
    }
  }
  return layout;
}

bool number_slots(const std::vector<Bins> &bins, Encoded &encoded) {
  std::vector<int32_t> n_codes(encoded.n_groups, 0);
  for (int32_t c = 0; c < encoded.n_cols(); ++c) {
    Column &column = encoded.columns[c];
    column.n_bins = bins[c].size();
    column.exact = bins[c].exact;
    int32_t &used = n_codes[column.group];
    if (column.default_bin >= 0 && used == 0) used = 1;
    column.slot_begin = used;
    used += column.n_slots();
  }
  if (std::any_of(n_codes.begin(), n_codes.end(), [](int32_t n) { return n > kMaxBins; })) return false;
  int64_t n_slots = 0;
  encoded.group_begin.resize(encoded.n_groups);
  for (int32_t g = 0; g < encoded.n_groups; ++g) {
    encoded.group_begin[g] = static_cast<int32_t>(n_slots);
    n_slots += n_codes[g];
    require_few_slots(n_slots);
  }
  encoded.n_slots = static_cast<int32_t>(n_slots);
  for (Column &column : encoded.columns) column.slot_begin += encoded.group_begin[column.group];
  return true;
}

std::vector<int32_t> recode(std::vector<UnseenValue> unseen, std::vector<Bins> &bins, Encoded &encoded, int n_jobs) {
  if (unseen.empty()) return {};
  std::sort(unseen.begin(), unseen.end(), [](const UnseenValue &a, const UnseenValue &b) { return a.column < b.column; });

  auto codes = std::move(encoded.codes);
  const Encoded before = encoded;
  std::vector<Bins> more = bins;
  std::vector<int32_t> bundled, leaving;
  for (int32_t c = 0; c < encoded.n_cols(); ++c) {
    const Range range = of_column(unseen, c);
    if (range.first == range.second) continue;
    more[c] = with_values(bins[c], range);
    int32_t &default_bin = encoded.columns[c].default_bin;
    if (default_bin < 0) continue;
    bundled.push_back(c);
    if (!more[c].exact) leaving.push_back(c);
    default_bin = bin_of(more[c], bins[c].high[default_bin]);
  }
  if (!leaving.empty()) return leaving;
  if (!number_slots(more, encoded)) return bundled;

  const std::vector<Recoding> changed = recodings(before, bins, encoded, more);
  const int64_t n_groups = encoded.n_groups, tile_rows = std::clamp<int64_t>(kTileCodeBytes / n_groups, 16, kMaxRecodedRows);
  const int64_t n_tiles = changed.empty() ? 0 : (encoded.n_rows + tile_rows - 1) / tile_rows;
  parallel_for(n_jobs, n_tiles, [&](int64_t tile) {
    const int64_t first = tile * tile_rows, last = std::min(encoded.n_rows, first + tile_rows);
    for (const Recoding &recoding : changed)
      for (int64_t at = first * n_groups + recoding.group; at < last * n_groups; at += n_groups)
        codes[at] = recoding.of[codes[at]];
  });
  for (const UnseenValue &s : unseen) {
    const Column &column = encoded.columns[s.column];
    uint8_t &code = codes[s.row * n_groups + column.group];
    if (column.default_bin >= 0 && code != 0) leaving.push_back(s.column);
    else code = code_of(encoded, column, bin_of(more[s.column], s.value));
  }
  if (!leaving.empty()) return leaving;
  encoded.codes = std::move(codes);
  bins = std::move(more);
  return {};
}

}  // namespace cutwise
