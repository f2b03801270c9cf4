#include "encoding/encoded.hpp"

#include <cstring>
#include <stdexcept>

namespace cutwise {

Encoded Encoded::take(const int32_t *rows, int64_t n) const {
  int64_t n_stored = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (rows[i] < 0 || rows[i] >= n_rows) throw std::invalid_argument("a row to take lies outside the encoded table");
    if (sparse) n_stored += indptr[rows[i] + 1] - indptr[rows[i]];
  }
  Encoded taken;
  taken.n_rows = n;
  taken.n_slots = n_slots;
  taken.columns = columns;
  taken.low = low;
  taken.high = high;
  taken.sparse = sparse;
  taken.n_groups = n_groups;
  taken.group_begin = group_begin;
  if (sparse) {
    taken.indptr.reserve(n + 1);
    taken.indptr.push_back(0);
    taken.slots.reserve(n_stored);
    for (int64_t i = 0; i < n; ++i) {
      taken.slots.insert(taken.slots.end(), slots.begin() + indptr[rows[i]], slots.begin() + indptr[rows[i] + 1]);
      taken.indptr.push_back(static_cast<int64_t>(taken.slots.size()));
    }
  } else {
    taken.codes.resize(n * n_groups);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(taken.codes.data() + i * n_groups, codes.data() + int64_t{rows[i]} * n_groups, n_groups);
  }
  return taken;
}

}  // namespace cutwise
