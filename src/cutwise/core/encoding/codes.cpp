#include "encoding/codes.hpp"

#include <map>
#include <set>

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

// Columns to take out of their bundles so that no row has two columns of a bundle off their defaults: greedily the column in
// most conflicts, the later one on ties.
std::set<int32_t> conflicting_columns(const std::vector<UnseenValue> &unseen, const Encoded &encoded) {
  struct Cell {
    int32_t group, row, column;
  };
  std::vector<Cell> cells;  // where a column of a bundle is off its default without a code
  for (const UnseenValue &s : unseen)
    if (encoded.columns[s.column].default_bin >= 0) cells.push_back({encoded.columns[s.column].group, s.row, s.column});
  if (cells.empty()) return {};
  std::sort(cells.begin(), cells.end(), [](const Cell &a, const Cell &b) {
    return std::tie(a.group, a.row, a.column) < std::tie(b.group, b.row, b.column);
  });

  std::vector<int32_t> column_of_slot(encoded.n_slots, -1);
  for (int32_t c = 0; c < encoded.n_cols(); ++c)
    std::fill_n(column_of_slot.begin() + encoded.columns[c].slot_begin, encoded.columns[c].n_slots(), c);
  std::vector<std::vector<int32_t>> conflicts;
  for (size_t i = 0; i < cells.size();) {
    const int32_t group = cells[i].group, row = cells[i].row;
    std::vector<int32_t> columns;
    for (; i < cells.size() && cells[i].group == group && cells[i].row == row; ++i) columns.push_back(cells[i].column);
    const uint8_t code = encoded.codes[int64_t{row} * encoded.n_groups + group];
    if (code != 0) columns.push_back(column_of_slot[encoded.group_begin[group] + code]);
    if (columns.size() > 1) conflicts.push_back(std::move(columns));
  }
  std::set<int32_t> out;
  while (!conflicts.empty()) {
    std::map<int32_t, int64_t> n_conflicts;
    for (const auto &columns : conflicts)
      for (const int32_t c : columns) ++n_conflicts[c];
    const int32_t worst = std::max_element(n_conflicts.begin(), n_conflicts.end(), [](const auto &a, const auto &b) {
                            return a.second != b.second ? a.second < b.second : a.first < b.first;
                          })->first;
    out.insert(worst);
    for (auto &columns : conflicts) columns.erase(std::remove(columns.begin(), columns.end(), worst), columns.end());
    conflicts.erase(std::remove_if(conflicts.begin(), conflicts.end(), [](const auto &c) { return c.size() < 2; }),
                    conflicts.end());
  }
  return out;
}

// How a group's codes change: new code = of[old code of group `from`].
struct Recoding {
  int32_t from = -1;
  bool changes = false;
  uint8_t of[256];
};

std::vector<Recoding> recodings(const Encoded &before, const std::vector<Bins> &bins_before, const Encoded &now,
                                const std::vector<Bins> &bins) {
  const auto leaves = [&](int32_t c) { return before.columns[c].default_bin >= 0 && now.columns[c].default_bin < 0; };
  std::vector<bool> bundle_stays(now.n_groups, false);
  for (int32_t c = 0; c < now.n_cols(); ++c)
    if (now.columns[c].default_bin >= 0) bundle_stays[now.columns[c].group] = true;

  std::vector<Recoding> all(now.n_groups);
  for (Recoding &recoding : all) std::iota(recoding.of, recoding.of + 256, uint8_t{0});
  for (int32_t c = 0; c < now.n_cols(); ++c) {
    const Column &old = before.columns[c], &column = now.columns[c];
    Recoding &recoding = all[column.group];
    recoding.from = old.group;
    if (leaves(c)) {  // the column is at its default wherever the old code is not one of its codes
      const double value = bins_before[c].high[old.default_bin];
      std::fill(recoding.of, recoding.of + 256, code_of(now, column, bin_of(bins[c], value)));
    }
    for (int32_t b = 0; b < old.n_bins; ++b) {
      if (b == old.default_bin) continue;
      const uint8_t code = code_of(before, old, b);
      recoding.of[code] = code_of(now, column, bin_of(bins[c], bins_before[c].high[b]));
      if (leaves(c) && bundle_stays[old.group]) all[old.group].of[code] = 0;
    }
  }
  for (Recoding &recoding : all)
    for (int code = 0; code < 256; ++code) recoding.changes |= recoding.of[code] != code;
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

// The columns with new bins, in new groups where they leave their bundles; nothing where a bundle needs more codes than a byte
// has.
std::optional<Encoded> laid_out_without(const std::set<int32_t> &leaving, const Encoded &encoded,
                                        const std::vector<Bins> &bins_before, const std::vector<Bins> &bins) {
  Encoded now;
  now.n_rows = encoded.n_rows;
  now.columns = encoded.columns;
  now.n_groups = encoded.n_groups;
  // A bundle that all columns leave stays the group of the first of them, since a group must have codes.
  std::vector<bool> vacant(encoded.n_groups, true);
  for (int32_t c = 0; c < now.n_cols(); ++c)
    if (leaving.count(c) == 0) vacant[encoded.columns[c].group] = false;
  for (int32_t c = 0; c < now.n_cols(); ++c) {
    Column &column = now.columns[c];
    if (column.default_bin < 0) continue;
    column.default_bin = bin_of(bins[c], bins_before[c].high[column.default_bin]);
    if (leaving.count(c) == 0) continue;
    column.default_bin = -1;
    if (vacant[column.group]) vacant[column.group] = false;
    else column.group = now.n_groups++;
  }
  if (!number_slots(bins, now, &encoded)) return std::nullopt;
  return now;
}

// Moves the codes of all rows to another layout.
void move_codes(Encoded &encoded, Encoded &now, const std::vector<Recoding> &recoding, int n_jobs) {
  const bool in_place = now.n_groups == encoded.n_groups;
  if (!in_place) now.codes.resize(now.n_rows * now.n_groups);
  uint8_t *to = in_place ? encoded.codes.data() : now.codes.data();
  const uint8_t *from = encoded.codes.data();
  std::vector<int32_t> changed;
  for (int32_t g = 0; g < now.n_groups; ++g)
    if (!in_place || recoding[g].changes) changed.push_back(g);
  const int64_t tile_rows = std::clamp<int64_t>(kTileCodeBytes / now.n_groups, 16, kMaxRecodedRows);
  const int64_t n_tiles = changed.empty() ? 0 : (now.n_rows + tile_rows - 1) / tile_rows;
  parallel_for(n_jobs, n_tiles, [&](int64_t tile) {
    const int64_t first = tile * tile_rows, last = std::min(now.n_rows, first + tile_rows);
    for (const int32_t g : changed) {
      const Recoding &of_group = recoding[g];
      for (int64_t row = first; row < last; ++row)
        to[row * now.n_groups + g] = of_group.of[from[row * encoded.n_groups + of_group.from]];
    }
  });
  if (in_place) now.codes = std::move(encoded.codes);
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

bool number_slots(const std::vector<Bins> &bins, Encoded &encoded, const Encoded *before) {
  std::vector<int32_t> n_codes(encoded.n_groups, 0);
  for (const bool late : {false, true}) {
    for (int32_t c = 0; c < encoded.n_cols(); ++c) {
      if (late != (before != nullptr && before->columns[c].n_slots() == 0)) continue;
      Column &column = encoded.columns[c];
      column.n_bins = bins[c].size();
      column.exact = bins[c].exact;
      int32_t &used = n_codes[column.group];
      if (column.default_bin >= 0 && used == 0) used = 1;
      column.slot_begin = used;
      used += column.n_slots();
    }
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

void recode(std::vector<UnseenValue> unseen, std::vector<Bins> &bins, Encoded &encoded, int n_jobs) {
  if (unseen.empty()) return;
  std::sort(unseen.begin(), unseen.end(), [](const UnseenValue &a, const UnseenValue &b) {
    return a.column != b.column ? a.column < b.column : a.row < b.row;
  });

  const std::vector<Bins> bins_before = bins;
  std::set<int32_t> leaving = conflicting_columns(unseen, encoded);
  for (int32_t c = 0; c < encoded.n_cols(); ++c) {
    const Range range = of_column(unseen, c);
    if (range.first == range.second) continue;
    bins[c] = with_values(bins_before[c], range);
    if (encoded.columns[c].default_bin >= 0 && !bins[c].exact) leaving.insert(c);
  }

  std::optional<Encoded> now = laid_out_without(leaving, encoded, bins_before, bins);
  if (!now) {  // the columns that have more bins than before leave their bundles
    for (int32_t c = 0; c < encoded.n_cols(); ++c)
      if (encoded.columns[c].default_bin >= 0 && bins[c].size() > bins_before[c].size()) leaving.insert(c);
    now = laid_out_without(leaving, encoded, bins_before, bins);
  }
  move_codes(encoded, *now, recodings(encoded, bins_before, *now, bins), n_jobs);
  for (const UnseenValue &s : unseen) {
    const Column &column = now->columns[s.column];
    now->codes[int64_t{s.row} * now->n_groups + column.group] = code_of(*now, column, bin_of(bins[s.column], s.value));
  }
  encoded = std::move(*now);
}

}  // namespace cutwise
