// Groups of equal rows, where there are enough of them; the distinct rows, and their number.
#include "base/arrays.hpp"
#include "base/distinct_rows.hpp"
#include "base/matrix.hpp"

namespace cutwise {
namespace {

constexpr int64_t kAlwaysTried = 4096;  // up to so many rows are grouped without looking at a sample first

// A pseudorandom sample of about 4 sqrt(n) rows, increasing. Not one row per stretch, as equal rows are often neighbors.
std::vector<int64_t> sample_rows(int64_t n) {
  std::vector<int64_t> rows(static_cast<size_t>(4 * std::sqrt(static_cast<double>(n))));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(mixed(i + 1) % static_cast<uint64_t>(n));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Estimates from a small sample whether at most about half of the rows are distinct. Rows seen once stand for a share of all
// rows. The number of pairs, rows seen twice, shows how many copies such a row has: with c copies of each, two of n rows are
// equal with probability (c - 1) / n.
template <class Table>
bool seems_to_pay(const Table &x, int64_t n) {
  const std::vector<int64_t> sampled = sample_rows(n);
  DistinctRows<Table> groups(x);
  std::vector<int32_t> count;
  for (const int64_t row : sampled) {
    const size_t group = static_cast<size_t>(groups.add(row));
    if (group == count.size()) count.push_back(0);
    ++count[group];
  }
  const double once = static_cast<double>(std::count(count.begin(), count.end(), 1));
  const double twice = static_cast<double>(std::count(count.begin(), count.end(), 2));
  if (once == 0) return true;
  const double share = once / static_cast<double>(sampled.size());
  const double copies = 1 + 2 * twice * share * static_cast<double>(n) / (once * once);
  return share <= 0.55 * copies;
}

struct Groups {
  std::vector<int32_t> first_row;  // the first row of every group of equal rows, increasing
  std::vector<int32_t> group_of_row;
};

void check_countable(const Matrix &matrix) {
  require(matrix.n_rows() <= std::numeric_limits<int32_t>::max(), "distinct rows are found among at most 2**31 - 1");
}

std::optional<std::tuple<Owned<int32_t, 1>, Owned<int32_t, 1>>> group_rows(const Matrix &matrix) {
  check_countable(matrix);
  const auto find = [](const auto &x) -> std::optional<Groups> {
    if (x.n_rows > kAlwaysTried && !seems_to_pay(x, x.n_rows)) return std::nullopt;
    DistinctRows distinct(x);
    Groups groups;
    groups.group_of_row.resize(x.n_rows);
    for (int64_t row = 0; row < x.n_rows; ++row) {
      groups.group_of_row[row] = distinct.add(row);
      if (2 * static_cast<int64_t>(distinct.size()) > x.n_rows) return std::nullopt;
    }
    groups.first_row.assign(distinct.groups.first_rows.begin(), distinct.groups.first_rows.end());
    return groups;
  };
  auto groups = without_gil([&] { return matrix.visit(find); });
  if (!groups) return std::nullopt;
  return std::make_tuple(to_numpy(std::move(groups->first_row)), to_numpy(std::move(groups->group_of_row)));
}

size_t count_distinct_rows(const Matrix &matrix, size_t limit, const std::optional<In1<double>> &weights) {
  check_countable(matrix);
  require(has_shape(weights, matrix.n_rows()), "there is one weight for each row");
  const double *w = data_or_null(weights);
  const GilRelease release;
  return matrix.visit([&](const auto &x) {
    DistinctRows distinct(x, 64);
    const auto add = [&](int64_t row) {
      if (distinct.size() < limit && (w == nullptr || w[row] > 0.0)) distinct.add(row);
    };
    // The sample first: it often has enough distinct rows, also in a sorted table.
    for (const int64_t row : sample_rows(x.n_rows)) add(row);
    for (int64_t row = 0; row < x.n_rows && distinct.size() < limit; ++row) add(row);
    return distinct.size();
  });
}

std::tuple<Owned<int64_t, 1>, Owned<int64_t, 1>, Owned<uint64_t, 1>> distinct_rows(const Matrix &matrix,
                                                                                   const Weights &weights) {
  check_countable(matrix);
  const int64_t *w = checked(weights, matrix.n_rows());
  std::vector<int64_t> total;  // by distinct row
  RowGroups groups = without_gil([&] {
    return matrix.visit([&](const auto &x) {
      DistinctRows distinct(x, 1 << 12);
      distinct.add_all([&](int64_t row) { return w == nullptr || w[row] != 0; },
                       [&](int64_t row, size_t group) {
                         if (group == total.size()) total.push_back(0);
                         total[group] += w == nullptr ? 1 : w[row];
                       });
      return std::move(distinct.groups);
    });
  });
  return {to_numpy(std::move(groups.first_rows)), to_numpy(std::move(total)), to_numpy(std::move(groups.hashes))};
}

Owned<double, 1> hash_uniforms(const In1<uint64_t> &hashes, uint64_t seed) {
  NewArray<double, 1> out(hashes.size());
  const uint64_t key = mixed(seed + 0x9E3779B97F4A7C15u);
  for (size_t i = 0; i < hashes.size(); ++i)
    out.data()[i] = (static_cast<double>(mixed(hashes(i) ^ key) >> 12) + 0.5) * 0x1p-52;
  return out.to_numpy();
}

}  // namespace
}  // namespace cutwise

void bind_group_rows(nanobind::module_ &m) {
  using nanobind::literals::operator""_a;
  m.def("group_rows", &cutwise::group_rows, "matrix"_a,
        R"(Groups of equal rows, if at most half of the rows are distinct; otherwise None.

Values are compared as float64, and -0.0 equals 0.0. Returns the first row of every group, increasing, (n_groups,), and the group
of every row, (n_rows,). With more than 4096 rows, a sample of 4 * sqrt(n_rows) rows decides first whether there seem to be
repeats enough.)");
  m.def("count_distinct_rows", &cutwise::count_distinct_rows, "matrix"_a, "limit"_a, "weights"_a.none() = nanobind::none(),
        "The number of distinct rows of positive weight, counted up to the limit; rows are compared as in group_rows.");
  m.def("distinct_rows", &cutwise::distinct_rows, "matrix"_a, "weights"_a.none() = nanobind::none(),
        R"(The distinct rows of positive weight, compared as in group_rows.

Returns three arrays, (n_distinct,): the number of the first of all equal rows, their total weight, and a hash of their values,
which does not depend on dtype or layout. With them, a clustering does not depend on the order of the rows, nor on whether equal
rows are repeated or weighted. weights: not negative.)");
  m.def("hash_uniforms", &cutwise::hash_uniforms, "hashes"_a, "seed"_a,
        "A pseudorandom number in (0, 1) for every hash; seed is below 2^64.");
}
