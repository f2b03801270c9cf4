#include "cuts/surrogate_sums.hpp"

#include "base/clones.hpp"

namespace cutwise {

CUTWISE_CLONES int64_t least(const int64_t *values, int64_t k) {
  int64_t result = kNone;
  for (int64_t j = 0; j < k; ++j) result = values[j] < result ? values[j] : result;
  return result;
}

CUTWISE_CLONES int64_t least_rest(const int64_t *total, const int64_t *part, int64_t k) {
  int64_t result = kNone;
  for (int64_t j = 0; j < k; ++j) {
    const int64_t rest = total[j] - part[j];
    result = rest < result ? rest : result;
  }
  return result;
}

}  // namespace cutwise
