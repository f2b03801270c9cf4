// What prepares the sample of a search: bins, a number a row to draw it by, and rows as whole numbers.
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/exact_sums.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "base/simd.hpp"

namespace cutwise {

// Few bins a column for a sample: half of the edges by quantiles, half by equal width, and those where some tree cuts.
//
// Quantiles alone leave far rows of a table in one bin with others; equal widths alone leave most rows in few bins.

namespace {

constexpr size_t kMostEdges = 254;  // codes fit a byte

struct Placed {
  double value;
  int32_t row;
};

struct ColumnBins {
  std::vector<double> edges;      // a value at most edges[b] is in bin b or below
  std::vector<int32_t> cut_bins;  // the last bin on the left of each cut, -1 where all bins are on the right
};

// The distinct values of a column, and after which of them a bin ends.
class ValueEdges {
 public:
  ValueEdges(const std::vector<Placed> &sorted, const double *weights) {
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i == 0 || sorted[i].value != sorted[i - 1].value) {
        value.push_back(sorted[i].value);
        reached.push_back(0.0);
        first.push_back(static_cast<int32_t>(i));
      }
      total_ += weights[sorted[i].row];
      reached.back() = total_;
    }
    first.push_back(static_cast<int32_t>(sorted.size()));
    is_edge.assign(size(), 0);
    edge.resize(size());
    for (size_t v = 0; v + 1 < size(); ++v) {
      edge[v] = value[v] + (value[v + 1] - value[v]) / 2;
      if (!(edge[v] < value[v + 1])) edge[v] = value[v];
    }
  }

  size_t size() const { return value.size(); }
  size_t n_up_to(double x) const { return std::upper_bound(value.begin(), value.end(), x) - value.begin(); }

  void mark_cuts(const std::vector<double> &cuts) {
    for (double cut : cuts) {
      const size_t above = n_up_to(cut);
      if (above > 0 && mark(above - 1)) edge[above - 1] = cut;
    }
  }

  void mark_others(size_t max_bins) {
    if (size() <= max_bins) {
      for (size_t v = 0; v + 1 < size(); ++v) mark(v);
      return;
    }
    const size_t half = max_bins / 2;
    for (size_t q = 1; q < half; ++q) {
      const double share = static_cast<double>(q) / static_cast<double>(half);
      mark(std::lower_bound(reached.begin(), reached.end(), share * total_) - reached.begin());
      mark(n_up_to(value.front() + share * (value.back() - value.front())) - 1);
    }
  }

  std::vector<double> value, reached;  // and the weight of the rows at or below each
  std::vector<int32_t> first;          // of the sorted rows, for every value, and the end
  std::vector<uint8_t> is_edge;        // after which values a bin ends
  std::vector<double> edge;            // where it then does

 private:
  bool mark(size_t v) {
    if (v + 1 >= size() || is_edge[v] || n_edges_ == kMostEdges) return false;
    is_edge[v] = 1;
    ++n_edges_;
    return true;
  }

  double total_ = 0.0;
  size_t n_edges_ = 0;
};

// Fills the codes of one column, which are n_cols apart. `cuts` are where trees cut it, the most important first.
ColumnBins bin_column(std::vector<Placed> &placed, const double *weights, const std::vector<double> &cuts, size_t max_bins,
                      uint8_t *codes, int64_t n_cols) {
  sort_by_value(placed);
  ValueEdges values(placed, weights);
  values.mark_cuts(cuts);
  values.mark_others(max_bins);
  ColumnBins bins;
  uint8_t code = 0;
  std::vector<int32_t> code_of(values.size());
  for (size_t v = 0; v < values.size(); ++v) {
    code_of[v] = code;
    for (int32_t i = values.first[v]; i < values.first[v + 1]; ++i) codes[placed[i].row * n_cols] = code;
    if (!values.is_edge[v]) continue;
    bins.edges.push_back(values.edge[v]);
    ++code;
  }
  for (double cut : cuts) {
    const size_t above = values.n_up_to(cut);
    bins.cut_bins.push_back(above == 0 ? -1 : code_of[above - 1]);
  }
  return bins;
}

// A number per row that depends on its values alone, by which a sample is drawn: so it depends on neither the order of the
// rows nor their dtype or layout, and equal rows are in it together.
//
// Zeros add nothing, so that it does not matter whether they are stored.
CUTWISE_INLINE uint64_t term(int64_t column, double value) {
  const uint64_t hash = mixed(bit_cast<uint64_t>(value) + static_cast<uint64_t>(column + 1) * 0x9E3779B97F4A7C15u);
  return value == 0.0 ? 0 : hash;
}

template <class Row>
CUTWISE_CLONES uint64_t hash_terms(const Row &row) {
  uint64_t sum = 0;
  for (int64_t p = 0; p < row.n; ++p) sum += term(row.column(p), row.values[p]);
  return sum;
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_sample(nb::module_ &m) {
  m.def(
      "sample_bins",
      [](In2<double> values, In1<double> weights, In1<int32_t> cut_columns, In1<double> cuts, int64_t max_bins, int n_jobs) {
        const int64_t n = values.shape(0), d = values.shape(1);
        require(n > 0 && has_shape(weights, n), "there is one weight for each row");
        require(cut_columns.size() == cuts.size(), "every cut is of one column");
        require(max_bins >= 2 && max_bins <= 255, "a column has 2 to 255 bins");
        // Of each column in the order given.
        std::vector<std::vector<double>> cuts_of(d);
        for (size_t i = 0; i < cuts.size(); ++i) {
          require(cut_columns(i) >= 0 && cut_columns(i) < d, "a cut is of one of the columns");
          cuts_of[cut_columns(i)].push_back(cuts(i));
        }
        NewArray<uint8_t, 2> codes(n, d);
        uint8_t *to = codes.data();
        std::vector<ColumnBins> bins(d);
        without_gil([&] {
          parallel_for(n_jobs, d, [&](int64_t c) {
            std::vector<Placed> placed(n);
            for (int64_t i = 0; i < n; ++i) placed[i] = {values.data()[i * d + c], static_cast<int32_t>(i)};
            bins[c] = bin_column(placed, weights.data(), cuts_of[c], static_cast<size_t>(max_bins), to + c, d);
          });
        });
        std::vector<int32_t> begin{0};
        std::vector<double> edges;
        for (const ColumnBins &column : bins) {
          edges.insert(edges.end(), column.edges.begin(), column.edges.end());
          begin.push_back(static_cast<int32_t>(edges.size()));
        }
        std::vector<int32_t> cut_bins(cuts.size()), seen(d, 0);
        for (size_t i = 0; i < cuts.size(); ++i) cut_bins[i] = bins[cut_columns(i)].cut_bins[seen[cut_columns(i)]++];
        return std::make_tuple(codes.to_numpy(), to_numpy(std::move(edges)), to_numpy(std::move(begin)),
                               to_numpy(std::move(cut_bins)));
      },
      "values"_a, "weights"_a, "cut_columns"_a, "cuts"_a, "max_bins"_a, "n_jobs"_a,
      R"(Put rows in bins, about max_bins a column, with an edge wherever a cut is.

Gives codes of the shape of the values, the edges of all columns, where those of each begin, and the last bin on the left of
every cut (-1: none). A value is in bin b or below when it is at most edge b of its column.)");
  m.def(
      "row_hashes",
      [](const Matrix &matrix, int n_jobs) {
        NewArray<uint64_t, 1> hashes(matrix.n_rows());
        uint64_t *to = hashes.data();
        without_gil([&] {
          const auto reader = RowReader::of(matrix);
          parallel_for(n_jobs, count_blocks(matrix.n_rows()), [&](int64_t block) {
            reader->each(block * kBlockRows, std::min((block + 1) * kBlockRows, matrix.n_rows()),
                         [&](int64_t row, const auto &values) { to[row] = mixed(hash_terms(values)); });
          });
        });
        return hashes.to_numpy();
      },
      "matrix"_a, "n_jobs"_a, "A number for every row, the same for equal rows of any dtype and layout.");
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
