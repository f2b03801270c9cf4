// A number a row that depends on its values alone: what a sample is drawn by, so that it depends on neither the order of the
// rows nor their dtype or layout, and equal rows are in it together.
#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"

namespace cutwise {
namespace {

inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Zeros add nothing, so that it does not matter whether they are stored.
inline uint64_t term(int64_t column, double value) {
  if (value == 0.0) return 0;
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return mix(bits + static_cast<uint64_t>(column + 1) * 0x9E3779B97F4A7C15u);
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_row_hashes(nb::module_ &m) {
  m.def(
      "row_hashes",
      [](const Matrix &matrix, int n_jobs) {
        NewArray<uint64_t, 1> hashes(matrix.n_rows());
        uint64_t *to = hashes.data();
        {
          nb::gil_scoped_release release;
          const auto reader = RowReader::of(matrix);
          parallel_for(n_jobs, count_blocks(matrix.n_rows()), [&](int64_t block) {
            std::vector<double> scratch;
            const int64_t begin = block * kBlockRows, end = std::min(begin + kBlockRows, matrix.n_rows());
            if (reader->is_sparse()) {
              for (int64_t i = begin; i < end; ++i) {
                const StoredRow row = reader->stored(i, scratch);
                uint64_t sum = 0;
                for (int64_t j = 0; j < row.n; ++j) sum += term(row.columns[j], row.values[j]);
                to[i] = mix(sum);
              }
              return;
            }
            const int64_t n_together = tile_rows(matrix.n_cols());
            for (int64_t first = begin; first < end; first += n_together) {
              const int64_t n = std::min(n_together, end - first);
              const Tile tile = reader->tile(first, n, scratch);
              for (int64_t i = 0; i < n; ++i) {
                uint64_t sum = 0;
                for (int64_t j = 0; j < matrix.n_cols(); ++j) sum += term(j, tile.rows[i * tile.stride + j]);
                to[first + i] = mix(sum);
              }
            }
          });
        }
        return hashes.to_numpy();
      },
      nb::arg("matrix"), nb::arg("n_jobs"), "A number for every row, the same for equal rows of any dtype and layout.");
}
