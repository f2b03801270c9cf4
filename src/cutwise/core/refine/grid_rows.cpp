// Rows as whole numbers, whose sums are exact.
#include "base/arrays.hpp"
#include "base/exact_sums.hpp"

using namespace cutwise;

void bind_grid_rows(nb::module_ &m) {
  m.def(
      "grid_rows",
      [](In2<double> coordinates, In1<int64_t> weights, In1<double> origin, double reach, double scale, bool weigh_first,
         const std::optional<In2<double>> &directions) {
        const int64_t n = coordinates.shape(0), d = coordinates.shape(1);
        const int64_t n_numbers = directions ? static_cast<int64_t>(directions->shape(0)) : d;
        const int64_t width = (n_numbers + kLanes) / kLanes * kLanes;
        require(has_shape(weights, n), "there is one weight for each row");
        require(has_shape(origin, d), "an origin has one coordinate for each column");
        require(!directions || static_cast<int64_t>(directions->shape(1)) == d, "directions have one entry for each column");
        NewArray<double, 2> rows(n, width);
        double *to = rows.data();
        without_gil([&] {
          std::vector<double> from_origin(d);
          for (int64_t i = 0; i < n; ++i, to += width) {
            const double weight = static_cast<double>(weights(i));
            for (int64_t j = 0; j < d; ++j) from_origin[j] = std::min(std::max(coordinates(i, j) - origin(j), -reach), reach);
            std::fill_n(to, width, 0.0);
            to[0] = weight;
            for (int64_t p = 0; p < n_numbers; ++p) {
              double x = directions ? 0.0 : from_origin[p];
              for (int64_t j = 0; directions && j < d; ++j) x += (*directions)(p, j) * from_origin[j];
              // No product reaches 2^51, where kMagic would fail to round.
              to[p + 1] = weigh_first ? (x * scale * weight + kMagic) - kMagic : weight * ((x * scale + kMagic) - kMagic);
            }
          }
        });
        return rows.to_numpy();
      },
      "coordinates"_a, "weights"_a, "origin"_a, "reach"_a, "scale"_a, "weigh_first"_a, "directions"_a.none(),
      R"(Rows as whole numbers: the weight, then the coordinates from an origin times the scale, rounded, times the weight.

Coordinates beyond the reach count as the reach. weigh_first: rounded after the weight is multiplied. With directions, a row
has one coordinate along each. Zeros fill a row up to a multiple of four.)");
}
