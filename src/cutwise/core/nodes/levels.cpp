// Sums by level of a categorical column, for the searches of sets of levels.
#include "nodes/levels.hpp"

#include "nodes/histogram.hpp"
#include "nodes/node.hpp"

using namespace cutwise;

void bind_levels(nb::module_ &m) {
  nb::class_<Levels>(m, "Levels", "The level of every row of an encoded table in one categorical column.")
      .def(nb::init<const Encoded &, const In1<int32_t> &, int32_t>(), "encoded"_a, "columns"_a, "n_levels"_a,
           nb::keep_alive<1, 2>(), "columns: the encoded 0/1 columns of the levels; of two levels, that of the second only.")
      .def_prop_ro("size", &Levels::size)
      .def(
          "codes",
          [](const Levels &levels, const In1<int32_t> &rows) {
            NewArray<int32_t, 1> codes(rows.size());
            for (size_t i = 0; i < rows.size(); ++i) codes.data()[i] = levels(rows(i));
            return codes.to_numpy();
          },
          "rows"_a, "The level of each of the given rows.")
      .def(
          "sums",
          [](const Levels &levels, In3<int64_t> histogram) {
            NewArray<int64_t, 3> sums(levels.size(), histogram.shape(1), histogram.shape(2));
            const std::vector<int64_t> found = levels.sums(histogram);
            std::copy(found.begin(), found.end(), sums.data());
            return sums.to_numpy();
          },
          "histogram"_a, "Sums by level, (n_levels, k, width), from a histogram, (n_slots, k, width).")
      .def(
          "count",
          [](const Levels &levels, const In1<int32_t> &rows, const Weights &weights, const std::optional<In1<int32_t>> &labels,
             int64_t k) {
            const int64_t *weight = checked(weights, levels.n_rows());
            require(has_shape(labels, levels.n_rows()) && (labels || k == 1), "there is one label for each row");
            const int32_t *label = data_or_null(labels);
            NewArray<int64_t, 2> sums(levels.size(), k);
            std::fill(sums.data(), sums.data() + levels.size() * k, int64_t{0});
            for (size_t i = 0; i < rows.size(); ++i) {
              const int32_t row = rows(i), j = label ? label[row] : 0;
              if (j >= 0 && j < k) sums.data()[levels(row) * k + j] += weight ? weight[row] : 1;
            }
            return sums.to_numpy();
          },
          "rows"_a, "weights"_a.none(), "labels"_a.none() = nb::none(), "k"_a = 1,
          "The weight of the given rows by level and label, (n_levels, k); rows with a negative label are left out.")
      .def(
          "partition",
          [](const Levels &levels, Out1<int32_t> rows, const std::vector<int32_t> &inside) {
            std::vector<uint8_t> is_inside(levels.size(), 0);
            for (const int32_t level : inside)
              if (level >= 0 && level < levels.size()) is_inside[level] = 1;
            return split_rows(rows.data(), static_cast<int64_t>(rows.size()),
                              [&](int32_t row) { return is_inside[levels(row)] != 0; });
          },
          "rows"_a.noconvert(), "inside"_a,
          "Bring the rows of the levels `inside` to the front, keep the order of both parts, and return their number.");
  for_types<int32_t, int64_t>(
      "Summed costs of the given rows by level and cluster, (n_levels, k); codes (len(rows),): the level of each given row.",
      [&](auto zero, const char *doc) {
        using Cost = decltype(zero);
        m.def(
            "level_costs",
            [](In1<int32_t> codes, In1<int32_t> rows, In2<Cost> excess, int64_t n_levels) {
              require(codes.size() == rows.size(), "codes has one entry for each of the rows");
              const int64_t k = static_cast<int64_t>(excess.shape(1));
              NewArray<int64_t, 2> sums(n_levels, k);
              std::fill(sums.data(), sums.data() + n_levels * k, int64_t{0});
              for (size_t i = 0; i < rows.size(); ++i) {
                require(codes(i) >= 0 && codes(i) < n_levels, "codes are levels");
                add_numbers(sums.data() + codes(i) * k, excess.data() + static_cast<int64_t>(rows(i)) * k, k);
              }
              return sums.to_numpy();
            },
            "codes"_a, "rows"_a, "excess"_a.noconvert(), "n_levels"_a, doc);
      });
}
