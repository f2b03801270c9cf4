// Weights of rows that may be fractions: what means, medians and sums are weighted with.
#pragma once

#include <nanobind/stl/variant.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <variant>

#include "base/arrays.hpp"

namespace cutwise {

// None: each row counts once.
using AnyWeights = std::variant<std::monostate, In1<int64_t>, In1<double>>;

// One weight for each of n rows, none negative, all finite.
inline void check_weights(const AnyWeights &weights, int64_t n) {
  const auto check = [&](const auto *w) {
    if (w == nullptr) return;
    require(static_cast<int64_t>(w->size()) == n, "there is one weight for each row");
    for (int64_t i = 0; i < n; ++i)
      require((*w)(i) >= 0 && std::isfinite(static_cast<double>((*w)(i))), "weights are finite and not negative");
  };
  check(std::get_if<In1<int64_t>>(&weights));
  check(std::get_if<In1<double>>(&weights));
}

}  // namespace cutwise
