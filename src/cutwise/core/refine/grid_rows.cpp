#include "refine/grid_rows.hpp"

using namespace cutwise;

void bind_grid_rows(nb::module_ &m) {
  m.def(
      "gather_rows",
      [](const Matrix &matrix, In1<int64_t> rows, const std::optional<In1<int64_t>> &columns) {
        check_rows(matrix, rows);
        const int64_t n = rows.size(), d = matrix.n_cols(), width = columns ? static_cast<int64_t>(columns->size()) : d;
        for (int64_t j = 0; columns && j < width; ++j)
          require((*columns)(j) >= 0 && (*columns)(j) < d, "columns are numbered from 0");
        NewArray<double, 2> values(n, width);
        double *to = values.data();
        without_gil([&] {
          const auto reader = RowReader::of(matrix);
          if (matrix.is_sparse() && columns) {
            std::vector<double> whole(d, 0.0);
            RowScratch scratch;
            for (int64_t i = 0; i < n; ++i) {
              const StoredRow stored = reader->stored(rows(i), scratch);
              for (int64_t p = 0; p < stored.n; ++p) whole[stored.columns[p]] = stored.values[p];
              for (int64_t j = 0; j < width; ++j) to[i * width + j] = whole[(*columns)(j)];
              for (int64_t p = 0; p < stored.n; ++p) whole[stored.columns[p]] = 0.0;
            }
          } else if (matrix.is_sparse()) {
            for (int64_t i = 0; i < n; ++i) reader->read(rows(i), to + i * d);
          } else if (columns) {
            matrix.visit([&, from = columns->data()](const auto &table) {
              for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < width; ++j) to[i * width + j] = table(rows(i), from[j]);
            });
          } else {
            reader->gather(rows.data(), n, to);
          }
        });
        return values.to_numpy();
      },
      "matrix"_a, "rows"_a, "columns"_a.none() = nb::none(),
      "Some rows of a matrix, in some columns or all, dense, as float64.");
  m.def(
      "gather_stored",
      [](const Matrix &matrix, In1<int64_t> rows) {
        check_rows(matrix, rows);
        require(matrix.is_sparse(), "the matrix is sparse");
        const auto reader = RowReader::of(matrix);
        RowScratch scratch;
        const int64_t n = rows.size();
        NewArray<int64_t, 1> begin(n + 1);
        begin.data()[0] = 0;
        for (int64_t i = 0; i < n; ++i) begin.data()[i + 1] = begin.data()[i] + reader->stored(rows(i), scratch).n;
        NewArray<int32_t, 1> columns(begin.data()[n]);
        NewArray<double, 1> values(begin.data()[n]);
        for (int64_t i = 0; i < n; ++i) {
          const StoredRow row = reader->stored(rows(i), scratch);
          std::copy_n(row.columns, row.n, columns.data() + begin.data()[i]);
          std::copy_n(row.values, row.n, values.data() + begin.data()[i]);
        }
        return std::make_tuple(begin.to_numpy(), columns.to_numpy(), values.to_numpy());
      },
      "matrix"_a, "rows"_a, "Some rows of a CSR matrix, as float64: row pointers, column indices, values.");
  m.def(
      "grid_rows",
      [](const Matrix &matrix, const Weights &weights, In1<double> origin, double reach, double scale, bool weigh_first,
         const std::optional<In2<double>> &directions) {
        const GridRows grid(matrix, checked(weights, matrix.n_rows()), origin, reach, scale, weigh_first, directions);
        NewArray<double, 2> rows(grid.n_rows(), grid.width());
        double *to = rows.data();
        without_gil([&] {
          std::vector<int64_t> numbers(grid.n_rows());
          for (int64_t i = 0; i < grid.n_rows(); ++i) numbers[i] = i;
          RowScratch scratch;
          grid.read(numbers.data(), grid.n_rows(), to, scratch);
        });
        return rows.to_numpy();
      },
      "matrix"_a, "weights"_a.none(), "origin"_a, "reach"_a, "scale"_a, "weigh_first"_a, "directions"_a.none(),
      R"(Rows as whole numbers: the weight, then the coordinates from an origin times the scale, rounded, times the weight.

Coordinates beyond the reach count as the reach. weigh_first: rounded after the weight is multiplied. With directions, a row
has one coordinate along each. Zeros fill a row up to a multiple of four.)");
}
