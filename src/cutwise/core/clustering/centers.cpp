// The inner loops that compute the costs of rows by centers; centers.hpp describes how.
#include "clustering/centers.hpp"

#include "base/simd.hpp"

namespace cutwise {
namespace {

template <bool squares>
CUTWISE_INLINE void make_term(Lanes &difference) {
  if constexpr (squares) square(difference);
  else absolute(difference);
}

// Measures R rows by V * 4 centers, so that the R * V running sums stay in registers.
template <bool squares, int R, int V>
CUTWISE_INLINE void dense_rows(const double *row, int64_t stride, int64_t d, const double *panel, const double *start,
                               double *costs, int64_t cost_stride) {
  Lanes sum[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) load(sum[r][v], start + v * kLanes);
  for (int64_t f = 0; f < d; ++f) {
    Lanes center[V];
    for (int v = 0; v < V; ++v) load(center[v], panel + (f * V + v) * kLanes);
    for (int r = 0; r < R; ++r) {
      const double x = row[r * stride + f];
      for (int v = 0; v < V; ++v) {
        Lanes term;
        subtract_from(term, x, center[v]);
        make_term<squares>(term);
        add(sum[r][v], term);
      }
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) store(costs + r * cost_stride + v * kLanes, sum[r][v]);
}

template <bool squares, int V>
CUTWISE_INLINE void dense_panel(const Tile &tile, int64_t n, int64_t d, const double *panel, const double *start, double *costs,
                                int64_t cost_stride) {
  int64_t r = 0;
  for (; r + 4 <= n; r += 4)
    dense_rows<squares, 4, V>(tile.rows + r * tile.stride, tile.stride, d, panel, start, costs + r * cost_stride, cost_stride);
  for (; r < n; ++r)
    dense_rows<squares, 1, V>(tile.rows + r * tile.stride, tile.stride, d, panel, start, costs + r * cost_stride, cost_stride);
}

template <bool squares>
CUTWISE_CLONES void dense_costs(const Tile &tile, int64_t n, int64_t d, const double *panel, bool wide, const double *start,
                                double *costs, int64_t cost_stride) {
  if (wide) dense_panel<squares, 2>(tile, n, d, panel, start, costs, cost_stride);
  else dense_panel<squares, 1>(tile, n, d, panel, start, costs, cost_stride);
}

template <bool squares, int V>
CUTWISE_INLINE void sparse_panel(const StoredRow &row, const double *panel, const double *start, double *costs) {
  Lanes sum[V];
  for (int v = 0; v < V; ++v) load(sum[v], start + v * kLanes);
  for (int64_t p = 0; p < row.n; ++p) {
    const double x = row.values[p];
    const double *centers = panel + static_cast<int64_t>(row.columns[p]) * V * kLanes;
    for (int v = 0; v < V; ++v) {
      Lanes absent, term;
      load(absent, centers + v * kLanes);
      subtract_from(term, x, absent);
      make_term<squares>(term);
      make_term<squares>(absent);
      subtract(term, absent);
      add(sum[v], term);
    }
  }
  for (int v = 0; v < V; ++v) store(costs + v * kLanes, sum[v]);
}

template <bool squares>
CUTWISE_CLONES void sparse_costs(const StoredRow &row, const double *panel, bool wide, const double *start, double *costs) {
  if (wide) sparse_panel<squares, 2>(row, panel, start, costs);
  else sparse_panel<squares, 1>(row, panel, start, costs);
}

}  // namespace

CUTWISE_CLONES SmallestTwo smallest_two(const double *row, int64_t padded) {
  Lanes smallest, second, lanes;
  double part[2 * kLanes];
  for (double &p : part) p = std::numeric_limits<double>::infinity();
  load(smallest, row);
  load(second, part);
  for (int64_t j = kLanes; j < padded; j += kLanes) {
    load(lanes, row + j);
    Lanes larger = lanes;
    keep_larger(larger, smallest);
    keep_smaller(smallest, lanes);
    keep_smaller(second, larger);
  }
  store(part, smallest);
  store(part + kLanes, second);
  // In pairs, which makes a short chain of dependent operations.
  const double a = smaller(part[0], part[1]), b = smaller(part[2], part[3]);
  const double of_four = smaller(larger(a, b), smaller(larger(part[0], part[1]), larger(part[2], part[3])));
  return {smaller(a, b), smaller(of_four, smaller(smaller(part[4], part[5]), smaller(part[6], part[7])))};
}

CostTile::CostTile(const RowReader &x, const CenterPanels &centers)
    : x_(x), c_(centers), capacity_(tile_rows(x.gives_tiles() ? std::max(x.n_cols(), centers.padded()) : centers.padded())) {
  costs_.resize(capacity_ * c_.padded());
}

const double *CostTile::compute(int64_t first, int64_t n) {
  if (x_.gives_tiles()) {
    tile_ = x_.tile(first, n, scratch_);
    return compute(tile_, n);
  }
  for (int64_t r = 0; r < n; ++r) sparse_row(first + r, costs_.data() + r * c_.padded());
  return costs_.data();
}

const double *CostTile::compute(const Tile &tile, int64_t n) {
  const auto kernel = c_.objective() == Objective::kmeans ? dense_costs<true> : dense_costs<false>;
  for (int64_t lane = 0; lane < c_.padded(); lane += CenterPanels::kPanel)
    kernel(tile, n, c_.n_cols(), c_.panel(lane), lane + CenterPanels::kPanel <= c_.padded(), c_.start() + lane,
           costs_.data() + lane, c_.padded());
  return costs_.data();
}

double CostTile::of_sparse(int64_t row, int64_t center) {
  const StoredRow corrected = read_sparse(row);
  const double *absent = c_.center(center);
  double cost = c_.start()[center];
  for (int64_t p = 0; p < corrected.n; ++p) {
    const double at = absent[corrected.columns[p]];
    cost += c_.term(corrected.values[p] - at) - c_.term(at);
  }
  costs_[center] = cost;
  finish_sparse(costs_.data(), center, center + 1);
  return costs_[center];
}

void CostTile::sparse_row(int64_t row, double *costs) {
  const auto kernel = c_.objective() == Objective::kmeans ? sparse_costs<true> : sparse_costs<false>;
  const StoredRow corrected = read_sparse(row);
  for (int64_t lane = 0; lane < c_.k(); lane += CenterPanels::kPanel)
    kernel(corrected, c_.panel(lane), lane + CenterPanels::kPanel <= c_.padded(), c_.start() + lane, costs + lane);
  finish_sparse(costs, 0, c_.k());
  measure_nearest_exactly(costs);
}

// The corrected costs of a sparse row and those of the same dense row have different rounding errors. Where that leaves open
// which center is the nearest, those that may be are measured as for a dense row, so that both get the same label; unless all
// sums are exact.
void CostTile::measure_nearest_exactly(double *costs) {
  const double *start = c_.start(), share = static_cast<double>(2 * c_.n_cols() + 40) * 0x1p-52;
  double most = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < c_.k(); ++j) most = smaller(most, costs[j] + share * (start[j] + costs[j]));
  const auto may_be_nearest = [&](int64_t j) { return costs[j] - share * (start[j] + costs[j]) <= most; };
  int64_t n_near = 0;
  bool exact = true;
  for (int64_t j = 0; j < c_.k(); ++j)
    if (may_be_nearest(j) && c_.first_equal(j) == j) {
      ++n_near;
      exact = exact && c_.has_exact_sums(j) && start[j] + costs[j] < kExactBelow;
    }
  if (n_near < 2 || (exact && std::all_of(stored_.values, stored_.values + stored_.n, is_coarse))) return;
  spread_stored();
  for (int64_t j = 0; j < c_.k(); ++j) {
    if (c_.first_equal(j) < j) costs[j] = costs[c_.first_equal(j)];
    else if (may_be_nearest(j)) costs[j] = cost_of_spread(j);
  }
  clear_spread();
}

StoredRow CostTile::read_sparse(int64_t row) {
  stored_ = x_.stored(row, scratch_);
  return c_.direct().empty() ? stored_ : take_direct();
}

void CostTile::finish_sparse(double *costs, int64_t first, int64_t last) {
  for (size_t i = 0; i < c_.direct().size(); ++i)
    for (int64_t j = first; j < last; ++j) costs[j] += c_.term(direct_values_[i] - c_.center(j)[c_.direct()[i]]);
  sum_cancelled(costs, first, last);
}

// Moves the stored values of the columns that are summed directly to direct_values_, and returns the others.
StoredRow CostTile::take_direct() {
  direct_values_.assign(c_.direct().size(), 0.0);
  other_columns_.clear();
  other_values_.clear();
  for (int64_t p = 0; p < stored_.n; ++p) {
    const int8_t i = c_.direct_index()[stored_.columns[p]];
    if (i >= 0) {
      direct_values_[i] = stored_.values[p];
    } else {
      other_columns_.push_back(stored_.columns[p]);
      other_values_.push_back(stored_.values[p]);
    }
  }
  return {other_columns_.data(), other_values_.data(), static_cast<int64_t>(other_values_.size())};
}

// A cost that is small compared with the terms that were added and subtracted consists mostly of their rounding errors. It is
// summed again over the columns, as for a dense row; except in the common case of a row that equals its center, whose cost is
// 0.
void CostTile::sum_cancelled(double *costs, int64_t first, int64_t last) {
  bool spread = false;
  for (int64_t j = first; j < last; ++j) {
    if (costs[j] > 0x1p-12 * c_.start()[j]) continue;
    if (stored_.n == c_.n_stored(j) && equals(c_.center(j))) {
      costs[j] = 0.0;
      continue;
    }
    if (!spread) spread_stored();
    spread = true;
    costs[j] = cost_of_spread(j);
  }
  if (spread) clear_spread();
}

void CostTile::spread_stored() {
  dense_.resize(c_.n_cols(), 0.0);
  for (int64_t p = 0; p < stored_.n; ++p) dense_[stored_.columns[p]] = stored_.values[p];
}

void CostTile::clear_spread() {
  for (int64_t p = 0; p < stored_.n; ++p) dense_[stored_.columns[p]] = 0.0;
}

double CostTile::cost_of_spread(int64_t center) const {
  double sum = 0.0;
  for (int64_t f = 0; f < c_.n_cols(); ++f) sum += c_.term(dense_[f] - c_.center(center)[f]);
  return sum;
}

bool CostTile::equals(const double *center) const {
  for (int64_t p = 0; p < stored_.n; ++p)
    if (stored_.values[p] != center[stored_.columns[p]]) return false;
  return true;
}

}  // namespace cutwise
