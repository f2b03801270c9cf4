#include "refine/grid_rows.hpp"

using namespace cutwise;

void bind_grid_rows(nb::module_ &m) {
  m.def(
      "gather_rows",
      [](const Matrix &matrix, In1<int64_t> rows) {
        const int64_t n = static_cast<int64_t>(rows.size()), d = matrix.n_cols();
        for (int64_t i = 0; i < n; ++i) require(rows(i) >= 0 && rows(i) < matrix.n_rows(), "rows are numbered from 0");
        NewArray<double, 2> values(n, d);
        double *to = values.data();
        {
          nb::gil_scoped_release release;
          const auto reader = RowReader::of(matrix);
          if (reader->is_sparse()) {
            std::vector<double> scratch;
            std::fill(to, to + n * d, 0.0);
            for (int64_t i = 0; i < n; ++i) {
              const StoredRow row = reader->stored(rows(i), scratch);
              for (int64_t j = 0; j < row.n; ++j) to[i * d + row.columns[j]] = row.values[j];
            }
          } else {
            reader->gather(rows.data(), n, to);
          }
        }
        return values.to_numpy();
      },
      nb::arg("matrix"), nb::arg("rows"), "Some rows of a matrix, dense, as float64.");
  m.def(
      "grid_rows",
      [](const Matrix &matrix, const Weights &weights, In1<double> origin, double reach, double scale, bool weigh_first,
         const std::optional<In2<double>> &directions) {
        const GridRows grid(matrix, checked(weights, matrix.n_rows()), origin, reach, scale, weigh_first, directions);
        NewArray<double, 2> rows(grid.n_rows(), grid.width());
        double *to = rows.data();
        {
          nb::gil_scoped_release release;
          std::vector<int64_t> numbers(grid.n_rows());
          for (int64_t i = 0; i < grid.n_rows(); ++i) numbers[i] = i;
          std::vector<double> scratch;
          grid.read(numbers.data(), grid.n_rows(), to, scratch);
        }
        return rows.to_numpy();
      },
      nb::arg("matrix"), nb::arg("weights").none(), nb::arg("origin"), nb::arg("reach"), nb::arg("scale"),
      nb::arg("weigh_first"), nb::arg("directions").none(),
      R"(Rows as whole numbers: the weight, then the coordinates from an origin times the scale, rounded, times the weight.

Coordinates beyond the reach count as the reach. weigh_first: rounded after the weight is multiplied. With directions, a row
has one coordinate along each. Zeros fill a row up to a multiple of four.)");
}
