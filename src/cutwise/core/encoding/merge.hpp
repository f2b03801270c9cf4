// Equal rows, merged: weights then stand for repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/matrix.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {

struct MergedRows {
  std::vector<int32_t> first_row;  // of every group of equal rows, increasing
  std::vector<int32_t> group_of_row;
};

// Groups rows that are equal in every value; nothing when more than half of the rows are distinct.
std::optional<MergedRows> merge_duplicates(const Matrix &matrix, const Encoded &encoded);

}  // namespace cutwise
