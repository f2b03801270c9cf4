// Medians kept up to date while rows change sides: a walk from where each was, over its column's order.
#include "clustering/ranked_medians.hpp"

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "clustering/medians.hpp"

namespace cutwise {

RankedMedians::RankedMedians(const RowReader &x, const int64_t *weights, const Ranks &ranks, int64_t k)
    : x_(x),
      weights_(weights),
      order_(ranks.order.data()),
      rank_(ranks.rank.data()),
      n_(x.n_rows()),
      d_(x.n_cols()),
      k_(k),
      label_(n_ * d_),
      places_(k * d_) {
  require(static_cast<int64_t>(ranks.order.shape(0)) == d_ && static_cast<int64_t>(ranks.order.shape(1)) == n_ &&
              static_cast<int64_t>(ranks.rank.shape(0)) == n_ && static_cast<int64_t>(ranks.rank.shape(1)) == d_,
          "every column has the ranks of all rows");
}

void RankedMedians::start(const std::vector<int32_t> &labels, const std::vector<int64_t> &weight, double *medians, int n_jobs) {
  parallel_for(n_jobs, d_, [&](int64_t f) {
    const int32_t *order = order_ + f * n_;
    int32_t *label = label_.data() + f * n_;
    Place *places = places_.data() + f * k_;
    for (int64_t r = 0; r < n_; ++r) label[r] = labels[order[r]];
    int64_t open = 0;
    std::vector<int64_t> missing(k_);  // up to half of the cluster's weight
    for (int64_t j = 0; j < k_; ++j) {
      places[j] = Place{};
      missing[j] = half_of(weight[j]);
      open += weight[j] > 0;
    }
    for (int64_t r = 0; open > 0; ++r) {
      const int32_t j = label[r];
      if (missing[j] <= 0) continue;
      const int64_t w = weight_of(order[r]);
      missing[j] -= w;
      if (missing[j] > 0) continue;
      places[j] = {r, half_of(weight[j]) - missing[j] - w};
      write(j, f, medians);
      --open;
    }
  });
}

void RankedMedians::update(const std::vector<std::vector<Moved>> &moved, const std::vector<int64_t> &weight,
                           const std::vector<char> &touched, double *medians, int n_jobs) {
  parallel_for(n_jobs, d_, [&](int64_t f) {
    const int32_t *order = order_ + f * n_;
    int32_t *label = label_.data() + f * n_;
    Place *places = places_.data() + f * k_;
    for (const auto &part : moved) {
      for (const Moved &each : part) {
        const int64_t r = rank_[each.row * d_ + f], w = weight_of(each.row);
        label[r] = each.to;
        if (r < places[each.from].at) places[each.from].below -= w;
        if (r < places[each.to].at) places[each.to].below += w;
      }
    }
    for (int64_t j = 0; j < k_; ++j) {
      if (!touched[j] || weight[j] == 0) continue;
      const int64_t needed = half_of(weight[j]);
      auto [at, below] = places[j];
      while (below >= needed) {
        --at;
        if (label[at] == j) below -= weight_of(order[at]);
      }
      for (;; ++at) {
        if (label[at] != j) continue;
        const int64_t w = weight_of(order[at]);
        if (below + w >= needed) break;
        below += w;
      }
      places[j] = {at, below};
      write(static_cast<int32_t>(j), f, medians);
    }
  });
}

void RankedMedians::write(int64_t cluster, int64_t column, double *medians) const {
  const int64_t row = order_[column * n_ + places_[column * k_ + cluster].at];
  medians[cluster * d_ + column] = plain_zero(x_.value(row, column));
}

}  // namespace cutwise
