#include "nodes/histogram.hpp"

#include "base/arrays.hpp"
#include "base/parallel.hpp"

namespace cutwise {
namespace {

constexpr int32_t kByte = 256;

int32_t n_codes_of(const Encoded &encoded, int32_t group) {
  const int32_t end = group + 1 < encoded.n_groups ? encoded.group_begin[group + 1] : encoded.n_slots;
  return std::max(1, end - encoded.group_begin[group]);
}

// Fills packs with groups, largest first, as long as the product of the numbers of their codes fits in a byte.
std::vector<std::vector<PackedCodes::Member>> plan(const Encoded &encoded) {
  std::vector<int32_t> order(encoded.n_groups);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return n_codes_of(encoded, a) > n_codes_of(encoded, b); });
  std::vector<std::vector<PackedCodes::Member>> packs;
  int32_t used = 1;
  for (int32_t group : order) {
    const int32_t n_codes = n_codes_of(encoded, group);
    if (packs.empty() || used * n_codes > kByte) {
      packs.emplace_back();
      used = 1;
    }
    packs.back().push_back({group, used, n_codes});
    used *= n_codes;
  }
  return packs;
}

}  // namespace

PackedCodes pack_codes(const Encoded &encoded, int n_jobs) {
  PackedCodes packed;
  if (encoded.sparse || encoded.n_groups < 2) return packed;
  auto packs = plan(encoded);
  if (4 * packs.size() > 3 * static_cast<size_t>(encoded.n_groups)) return packed;
  packed.packs = std::move(packs);
  packed.n_rows = encoded.n_rows;
  const int64_t n_groups = encoded.n_groups, n_packs = packed.n_packs();
  packed.codes.resize(packed.n_rows * n_packs);
  // Arranged by group, so that the loop below takes one multiplication and one addition per byte.
  std::vector<int32_t> pack_of(n_groups), divisor(n_groups);
  for (int32_t p = 0; p < n_packs; ++p)
    for (const auto &member : packed.packs[p]) {
      pack_of[member.group] = p;
      divisor[member.group] = member.divisor;
    }
  constexpr int64_t block = 1 << 14;
  parallel_for(n_jobs, (packed.n_rows + block - 1) / block, [&](int64_t b) {
    for (int64_t row = b * block; row < std::min(packed.n_rows, (b + 1) * block); ++row) {
      const uint8_t *code = encoded.codes.data() + row * n_groups;
      uint8_t *out = packed.codes.data() + row * n_packs;
      std::fill(out, out + n_packs, uint8_t{0});
      for (int64_t g = 0; g < n_groups; ++g) out[pack_of[g]] = static_cast<uint8_t>(out[pack_of[g]] + code[g] * divisor[g]);
    }
  });
  return packed;
}

}  // namespace cutwise

using namespace cutwise;

void bind_pack(nb::module_ &m) {
  nb::class_<PackedCodes>(m, "PackedCodes",
                          "The codes of a table with several small groups of columns per byte, for histograms over many rows.")
      .def_prop_ro("n_packs", &PackedCodes::n_packs);
  m.def(
      "pack_codes",
      [](const Encoded &encoded, int n_jobs) {
        nb::gil_scoped_release release;
        return pack_codes(encoded, n_jobs);
      },
      "encoded"_a, "n_jobs"_a = 1,
      "The codes of a dense table in packs; without packs where these would not save a quarter of the bytes.");
}
