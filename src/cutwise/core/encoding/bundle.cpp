#include "encoding/codes.hpp"

namespace cutwise {

namespace {

constexpr int kMaxCodes = 256;     // code 0 included
constexpr int kMaxTried = 64;      // open bundles tried for a column, latest first: keeps wide tables linear
constexpr double kConvincing = 8;  // conflicts that independent columns would have shown: by chance none, one time in 3000

struct Bundle {
  int n_codes = 1;
  int64_t n_others = 0;
  double expected = 0;           // conflicts in the sample, were its members independent of each other
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

}  // namespace

Layout lay_out(int32_t n_cols, const std::vector<BundleCandidate> &candidates, bool sample_is_all) {
  const double convincing = sample_is_all ? 0 : kConvincing;
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
        // A rare column fits everywhere in a sample: only its neighbors are likely to be of its kind.
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

}  // namespace cutwise
