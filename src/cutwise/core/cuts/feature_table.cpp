// The columns of a FeatureTable: their items, and the order of items and centers in every feature.
#include "cuts/feature_walk.hpp"

#include "base/arrays.hpp"
#include "base/parallel.hpp"

namespace cutwise {
namespace {

constexpr int32_t kExactUnits = 1000;
constexpr int32_t kUnitGroups = 512;

FeatureTable make_table(const Ranks &ranks, const int32_t *labels, const int64_t *weights, int64_t k, int n_jobs) {
  FeatureTable table;
  table.n_rows = ranks.n_rows;
  table.k = k;
  table.columns.resize(ranks.n_cols());
  parallel_for(n_jobs, ranks.n_cols(), [&](int64_t f) {
    const RankedColumn &ranked = ranks.columns[f];
    const std::vector<uint16_t> &unit = ranks.unit[f];
    FeatureColumn &column = table.columns[f];
    const int32_t n_units = ranked.n_units();
    std::vector<int64_t> mass(n_units, 0);
    for (int64_t i = 0; i < ranks.n_rows; ++i) mass[unit[i]] += weights ? weights[i] : 1;
    std::vector<int32_t> first;
    if (n_units <= kExactUnits) {
      first.resize(n_units + 1);
      std::iota(first.begin(), first.end(), 0);
    } else {
      first = group_by_mass(mass, kUnitGroups);
      column.exact = false;
    }
    const int32_t n_items = static_cast<int32_t>(first.size()) - 1;
    std::vector<uint16_t> item_of(n_units);
    for (int32_t g = 0; g < n_items; ++g) {
      column.low.push_back(ranked.low[first[g]]);
      column.high.push_back(ranked.high[first[g + 1] - 1]);
      int64_t half = 0;
      for (int32_t u = first[g]; u < first[g + 1]; ++u) {
        item_of[u] = static_cast<uint16_t>(g);
        half += mass[u];
      }
      half -= half / 2;
      int32_t u = first[g];
      for (int64_t passed = mass[u]; passed < half; passed += mass[u]) ++u;
      column.middle.push_back(ranked.low[u]);
    }
    column.item.resize(ranks.n_rows);
    column.weight.assign(static_cast<size_t>(n_items) * k, 0);
    for (int64_t i = 0; i < ranks.n_rows; ++i) {
      const uint16_t item = item_of[unit[i]];
      column.item[i] = item;
      column.weight[item * k + labels[i]] += weights ? weights[i] : 1;
    }
  });
  return table;
}

}  // namespace

void FeatureTable::drop_features(int32_t f) {
  FeatureColumn &column = at(f);
  column.n_features = 0;
  column.value = {};
  column.center = {};
  column.center_order = {};
  column.order = {};
}

void FeatureTable::add_features(int32_t f, const double *values, int32_t n_features) {
  FeatureColumn &column = columns[f];
  const int32_t n_items = column.n_items();
  column.value.insert(column.value.end(), values, values + static_cast<int64_t>(n_features) * n_items);
  std::vector<double> share(column.weight.begin(), column.weight.end()), total(k, 0.0), center(k);
  for (int32_t i = 0; i < n_items; ++i)
    for (int64_t c = 0; c < k; ++c) total[c] += share[i * k + c];
  std::vector<int32_t> rank(k);
  for (int32_t j = 0; j < n_features; ++j) {
    const double *value = values + static_cast<int64_t>(j) * n_items;
    std::vector<uint16_t> &order = column.order.emplace_back(n_items);
    std::iota(order.begin(), order.end(), static_cast<uint16_t>(0));
    std::stable_sort(order.begin(), order.end(), [&](uint16_t a, uint16_t b) { return value[a] > value[b]; });
    std::fill(center.begin(), center.end(), 0.0);
    for (int32_t i = 0; i < n_items; ++i)
      for (int64_t c = 0; c < k; ++c) center[c] += value[i] * share[i * k + c];
    for (int64_t c = 0; c < k; ++c) center[c] = total[c] > 0.0 ? center[c] / total[c] : 0.0;
    std::iota(rank.begin(), rank.end(), 0);
    std::stable_sort(rank.begin(), rank.end(), [&](int32_t a, int32_t b) { return center[a] > center[b]; });
    for (int32_t c : rank) {
      column.center.push_back(center[c]);
      column.center_order.push_back(c);
    }
  }
  column.n_features += n_features;
}

}  // namespace cutwise

using namespace cutwise;

void bind_feature_table(nb::module_ &m) {
  nb::class_<FeatureTable>(m, "FeatureTable", R"(The surrogate features of every column, for fewest_feature_mistakes.

values(column): the values at which features have to be computed, increasing: all distinct values of the column if there are at
most 1,000, so that is_exact(column) is true, and otherwise the medians of 512 or more groups of equal weight.
add_features(column, values): adds features, (n_features, n_values). drop_features(column): frees their memory.)")
      .def_prop_ro("n_cols", &FeatureTable::n_cols)
      .def(
          "values", [](FeatureTable &table, int32_t column) { return to_numpy(std::vector<double>(table.at(column).middle)); },
          "column"_a)
      .def(
          "is_exact", [](FeatureTable &table, int32_t column) { return table.at(column).exact; }, "column"_a)
      .def(
          "add_features",
          [](FeatureTable &table, int32_t column, In2<double> values) {
            require(static_cast<int32_t>(values.shape(1)) == table.at(column).n_items(),
                    "one value of every feature for each of the column's values");
            const size_t n = values.shape(0) * values.shape(1);
            require(std::all_of(values.data(), values.data() + n, [](double v) { return std::isfinite(v); }),
                    "features are finite");
            nb::gil_scoped_release release;
            table.add_features(column, values.data(), static_cast<int32_t>(values.shape(0)));
          },
          "column"_a, "values"_a)
      .def("drop_features", &FeatureTable::drop_features, "column"_a);
  m.def(
      "feature_table",
      [](const Ranks &ranks, In1<int32_t> labels, const Weights &weights, int64_t k, int n_jobs) {
        require(has_shape(labels, ranks.n_rows), "labels has one entry per row");
        const int64_t *weight = checked(weights, ranks.n_rows);
        for (size_t i = 0; i < labels.size(); ++i)
          require(labels.data()[i] >= 0 && labels.data()[i] < k, "labels are 0 to k - 1");
        nb::gil_scoped_release release;
        return make_table(ranks, labels.data(), weight, k, n_jobs);
      },
      "ranks"_a, "labels"_a, "weights"_a.none(), "k"_a, "n_jobs"_a = 1,
      R"(A FeatureTable without features yet.

labels (n_rows,): reference clusters, 0 to k - 1. A center's coordinate in a feature is the mean over the rows of its cluster.)");
}
