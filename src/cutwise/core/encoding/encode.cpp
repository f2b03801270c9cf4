// The functions that encode a table, for Python.
#include "base/arrays.hpp"
#include "base/matrix.hpp"
#include "encoding/encoded.hpp"

namespace cutwise {
namespace {

void check_size(const Matrix &matrix) {
  if (matrix.n_rows() < 1 || matrix.n_cols() < 1) throw std::invalid_argument("a table to encode has rows and columns");
  if (matrix.n_rows() > std::numeric_limits<int32_t>::max() || matrix.n_cols() > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("a table to encode has at most 2**31 - 1 rows and columns, not " +
                                std::to_string(matrix.n_rows()) + " x " + std::to_string(matrix.n_cols()));
}

Encoded encode(const Matrix &matrix, int n_jobs) {
  check_size(matrix);
  const GilRelease release;
  return matrix.is_sparse() ? encode_sparse(matrix, n_jobs) : encode_dense(matrix, nullptr, n_jobs);
}

// Replaces every column of codes by 0/1 columns of its levels, each of which has a bin and a slot already. In columns with
// missing values that go below all others, the bin of infinity becomes the default bin of -infinity, which has no slot.
void spread_columns(Encoded &encoded, const In1<int32_t> &of, const In1<int32_t> &level, const In1<int32_t> &missing,
                    const std::vector<Contents> &contents) {
  std::vector<Column> columns;
  std::vector<double> low, high;
  for (size_t j = 0; j < of.size(); ++j) {
    const Column &from = encoded.columns[of(j)];
    const double *first = encoded.low.data() + from.value_begin, *last = first + from.n_bins;
    Column column = from;
    column.value_begin = static_cast<int64_t>(low.size());
    if (level(j) < 0 && missing(j) < 0 && contents[of(j)] == Contents::values_and_missing) {
      column.default_bin = 0;
      low.push_back(-std::numeric_limits<double>::infinity());
      low.insert(low.end(), first, last - 1);
      high.push_back(low[static_cast<size_t>(column.value_begin)]);
      high.insert(high.end(), encoded.high.data() + from.value_begin, encoded.high.data() + from.value_begin + from.n_bins - 1);
    } else if (level(j) < 0) {
      low.insert(low.end(), first, last);
      high.insert(high.end(), encoded.high.data() + from.value_begin, encoded.high.data() + from.value_begin + from.n_bins);
    } else {
      const double code = level(j);
      const double *found = std::lower_bound(first, last, code);
      const bool occurs = found != last && *found == code;
      column.default_bin = 0;
      column.n_bins = occurs && from.n_bins > 1 ? 2 : 1;
      column.slot_begin = from.slot_of(static_cast<int32_t>(occurs ? found - first : 0));
      if (column.n_bins == 2) low.push_back(0.0);
      low.push_back(occurs ? 1.0 : 0.0);
      high.insert(high.end(), low.begin() + static_cast<int64_t>(high.size()), low.end());
    }
    columns.push_back(column);
  }
  encoded.columns = std::move(columns);
  encoded.low = std::move(low);
  encoded.high = std::move(high);
}

bool any_missing(const Matrix &matrix, int32_t c) {
  return matrix.visit([&](auto values) {
    for (int64_t row = 0; row < matrix.n_rows(); ++row)
      if (std::isnan(values(row, c))) return true;
    return false;
  });
}

Encoded encode_levels(const Matrix &matrix, const In1<int32_t> &of, const In1<int32_t> &level, const In1<int32_t> &missing,
                      int n_jobs) {
  check_size(matrix);
  require(of.size() == level.size() && of.size() == missing.size(), "of, level and missing have one length");
  std::vector<Contents> contents(matrix.n_cols(), Contents::values);
  for (size_t j = 0; j < of.size(); ++j) {
    require(of(j) >= 0 && of(j) < matrix.n_cols(), "of is a column of the matrix");
    if (level(j) >= 0) contents[of(j)] = Contents::levels;
    else if (missing(j) > 0 && any_missing(matrix, of(j))) contents[of(j)] = Contents::values_and_missing;
  }
  const GilRelease release;
  Encoded encoded = encode_dense(matrix, contents.data(), n_jobs);
  for (size_t c = 0; c < contents.size(); ++c)
    require(contents[c] != Contents::levels || encoded.columns[c].exact, "at most 256 codes");
  spread_columns(encoded, of, level, missing, contents);
  return encoded;
}

template <class T, class Allocator, size_t N>
auto view(const std::vector<T, Allocator> &values, const size_t (&shape)[N]) {
  return nb::ndarray<nb::numpy, const T, nb::ndim<N>>(values.data(), N, shape);
}
template <class T, class Allocator>
auto view(const std::vector<T, Allocator> &values) {
  return view(values, {values.size()});
}

template <class T>
auto per_column(const Encoded &encoded, T Column::*field) {
  NewArray<T, 1> values(encoded.columns.size());
  for (size_t c = 0; c < encoded.columns.size(); ++c) values.data()[c] = encoded.columns[c].*field;
  return values.to_numpy();
}

Encoded bins_alone(const In1<int64_t> &begin, const In1<double> &low, const In1<double> &high) {
  const auto n_bins = static_cast<int64_t>(low.size());
  require(begin.size() > 0 && begin(0) == 0 && begin(begin.size() - 1) == n_bins, "begin says where bins start");
  require(high.size() == low.size() && n_bins <= std::numeric_limits<int32_t>::max(), "a bin has two ends");
  Encoded bins;
  bins.requested = std::make_shared<RequestedBins>();
  bins.n_slots = static_cast<int32_t>(n_bins);
  bins.low.assign(low.data(), low.data() + n_bins);
  bins.high.assign(high.data(), high.data() + n_bins);
  for (size_t f = 0; f + 1 < begin.size(); ++f) {
    require(begin(f) <= begin(f + 1), "begin increases");
    bins.columns.push_back(
        {-1, static_cast<int32_t>(begin(f)), static_cast<int32_t>(begin(f + 1) - begin(f)), -1, begin(f), false});
  }
  return bins;
}

}  // namespace
}  // namespace cutwise

void bind_encode(nanobind::module_ &m) {
  using namespace cutwise;

  constexpr auto view_of_self = nb::rv_policy::reference_internal;
  constexpr auto own = nb::rv_policy::automatic;
  nb::class_<Encoded>(m, "Encoded", R"(A table encoded as one-byte codes; its arrays are read-only views.

Column f has n_bins[f] bins, whose least and largest values are low and high from value_begin[f] on; exact[f] says that each has
one value. Its slots begin at slot_begin[f], without one for default_bin[f] (-1: every bin has a slot). Codes are uint8. Dense:
(n_rows, n_groups), and the slot is group_begin[g] + code. CSR: (n_stored, 1), and the slot is slot_begin[f] + code.)")
      .def_ro("n_rows", &Encoded::n_rows)
      .def_ro("n_slots", &Encoded::n_slots)
      .def_ro("n_groups", &Encoded::n_groups)
      .def_ro("is_sparse", &Encoded::sparse)
      .def_prop_ro("n_cols", &Encoded::n_cols)
      .def_prop_ro(
          "requested",
          [](const Encoded &e) {
            require(e.requested != nullptr, "only bins without rows are requested");
            return std::make_tuple(to_numpy(std::vector<int64_t>(e.requested->bin)),
                                   to_numpy(std::vector<double>(e.requested->bound)));
          },
          own, "Of bins without rows: the bins inside which the best cut may lie, and bounds on the cuts inside.")
      .def_prop_ro(
          "low", [](const Encoded &e) { return view(e.low); }, view_of_self)
      .def_prop_ro(
          "high", [](const Encoded &e) { return view(e.high); }, view_of_self)
      .def_prop_ro(
          "codes",
          [](const Encoded &e) {
            return view(e.codes, {e.sparse ? e.codes.size() : static_cast<size_t>(e.n_rows),
                                  e.sparse ? size_t{1} : static_cast<size_t>(e.n_groups)});
          },
          view_of_self)
      .def_prop_ro(
          "group_begin", [](const Encoded &e) { return view(e.group_begin); }, view_of_self)
      .def_prop_ro(
          "column_group", [](const Encoded &e) { return per_column<int32_t>(e, &Column::group); }, own)
      .def_prop_ro(
          "slot_begin", [](const Encoded &e) { return per_column<int32_t>(e, &Column::slot_begin); }, own)
      .def_prop_ro(
          "n_bins", [](const Encoded &e) { return per_column<int32_t>(e, &Column::n_bins); }, own)
      .def_prop_ro(
          "default_bin", [](const Encoded &e) { return per_column<int32_t>(e, &Column::default_bin); }, own)
      .def_prop_ro(
          "value_begin", [](const Encoded &e) { return per_column<int64_t>(e, &Column::value_begin); }, own)
      .def_prop_ro("exact", [](const Encoded &e) { return per_column<bool>(e, &Column::exact); }, own);
  m.def("encode", &encode, "matrix"_a, "n_jobs"_a = 1, nb::keep_alive<0, 1>(),
        R"(Encode a table of finite values: every column as bins, every row as slots of one flat histogram.

Bins are in increasing order of value; bin b has the values in [low[b], high[b]], and both ends occur. A column of at most 256
distinct values is exact, with one value per bin. Other columns have up to 256 bins with about the same number of rows. Values
are compared as float64, and -0.0 equals 0.0. Exact columns of few values, of which at most one differs from its default value in
any row (one-hot columns), share one byte per row. Bins are chosen on a sample of rows that depends on the shape only, and
corrected while all rows are read.)");
  m.def("bins_alone", &bins_alone, "begin"_a, "low"_a, "high"_a,
        R"(Bins without rows, each with a slot: searches find the best cut between them from histograms.

begin (d + 1,): the first bin of each column. low, high (n_bins,): the least and the largest value in each bin.)");
  m.def("encode_levels", &encode_levels, "matrix"_a, "of"_a, "level"_a, "missing"_a, "n_jobs"_a = 1,
        R"(The same for a dense table some of whose columns are codes of levels, at most 256 each, or have missing values, NaN.

Where level[j] is -1, column j of the result is column of[j] of the matrix; otherwise it is 1 where that column is level[j], and
0 elsewhere. Missing values become infinity, or -infinity where missing[j] is -1. All result columns of one matrix column share a byte.)");
}
