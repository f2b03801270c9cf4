// Surrogate features of every column, ready for cuts: which values lie above any level, and which centers do.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/ranks.hpp"

namespace cutwise {

// One column. Its *items* are its distinct values, or groups of neighboring ones, each with one value that stands for it.
struct FeatureColumn {
  std::vector<double> low, high, middle;  // of every item; `middle` occurs in the column
  bool exact = true;
  std::vector<uint16_t> item;   // by row
  std::vector<int64_t> weight;  // (n_items, k): of the rows of every reference cluster

  // The features, one after the other.
  int32_t n_features = 0;
  std::vector<double> value;          // (n_features, n_items)
  std::vector<double> center;         // (n_features, k), from the highest to the lowest
  std::vector<int32_t> center_order;  // (n_features, k): the clusters in that order
  std::vector<int32_t> top;           // the highest item of a feature that rises up to it and falls from there on; else -1
  std::vector<std::vector<uint16_t>> order;  // where that is -1: all items from the highest to the lowest

  int32_t n_items() const { return static_cast<int32_t>(low.size()); }
};

struct FeatureTable {
  int64_t n_rows = 0, k = 0;
  std::vector<FeatureColumn> columns;

  int32_t n_cols() const { return static_cast<int32_t>(columns.size()); }
  // values: (n_features, n_items), finite; they stand for the features of the column's items.
  void add_features(int32_t column, const double *values, int32_t n_features);
  // Gives their memory back.
  void drop_features(int32_t column);
};

}  // namespace cutwise
