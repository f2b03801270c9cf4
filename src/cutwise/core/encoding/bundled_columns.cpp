#include "encoding/bundled_columns.hpp"

namespace cutwise {

CUTWISE_CLONES void mark_off_default(const float *x, int64_t row_stride, int64_t n, const float *defaults,
                                     const uint8_t *is_member, int64_t width, uint8_t *off, int64_t off_stride) {
  mark_rows(x, row_stride, n, defaults, is_member, width, off, off_stride);
}
CUTWISE_CLONES void mark_off_default(const double *x, int64_t row_stride, int64_t n, const double *defaults,
                                     const uint8_t *is_member, int64_t width, uint8_t *off, int64_t off_stride) {
  mark_rows(x, row_stride, n, defaults, is_member, width, off, off_stride);
}

}  // namespace cutwise
