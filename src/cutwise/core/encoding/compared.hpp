// What values of a dtype are compared as: exact for all but int64 beyond 2^53, which are float64 everywhere.
#pragma once

#include <cstdint>
#include <type_traits>

namespace cutwise {

template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, uint8_t>, float, double>;

}  // namespace cutwise
