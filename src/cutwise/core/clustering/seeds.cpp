// Seeds for Lloyd's algorithm: greedy k-means++, where rows are drawn by their cost, squared or l1 distance as the objective
// has it.
//
// David Arthur, Sergei Vassilvitskii (2007), "k-means++: the advantages of careful seeding"; their Section 5 treats other
// powers of the distance.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/arrays.hpp"
#include "base/clones.hpp"
#include "base/matrix.hpp"
#include "base/rows.hpp"
#include "clustering/centers.hpp"

namespace cutwise {
namespace {

using nb::literals::operator""_a;
CUTWISE_CLONES void lower_potentials(const double *costs, int64_t n, int64_t padded, const double *closest,
                                     const double *weights, double *potentials) {
  for (int64_t r = 0; r < n; ++r)
    for (int64_t j = 0; j < padded; ++j) {
      const double c = costs[r * padded + j];
      potentials[j] += weights[r] * (c < closest[r] ? c : closest[r]);
    }
}

Owned<int64_t, 1> plusplus(const Matrix &x, const In2<double> &uniforms, const Weights &weights, const std::string &name) {
  const int64_t n = x.n_rows(), d = x.n_cols(), k = static_cast<int64_t>(uniforms.shape(0)),
                n_trials = static_cast<int64_t>(uniforms.shape(1));
  if (n == 0 || k == 0 || n_trials == 0) throw std::invalid_argument("seeding needs a row, a seed and a trial");
  for (int64_t i = 0; i < k * n_trials; ++i)
    if (!(uniforms.data()[i] >= 0.0 && uniforms.data()[i] < 1.0)) throw std::invalid_argument("uniforms are in [0, 1)");
  const int64_t *w = checked(weights, n);
  const Objective objective = read_objective(name);
  NewArray<int64_t, 1> seeds(k);
  {
    nb::gil_scoped_release release;
    std::vector<double> weight(n, 1.0), closest(n), running(n), candidates;
    if (w != nullptr)
      for (int64_t i = 0; i < n; ++i) weight[i] = static_cast<double>(w[i]);
    // A row by its share of the running sum; rows that add nothing are never drawn as long as others do.
    const auto draw = [&](double uniform) {
      const double target = uniform * running[n - 1];
      const int64_t row = std::upper_bound(running.begin(), running.end(), target) - running.begin();
      return row < n ? row : std::lower_bound(running.begin(), running.end(), running[n - 1]) - running.begin();
    };
    const auto accumulate = [&](bool by_cost) {
      double sum = 0.0;
      for (int64_t i = 0; i < n; ++i) running[i] = sum += by_cost ? weight[i] * closest[i] : weight[i];
    };
    const std::unique_ptr<RowReader> reader = RowReader::of(x);
    accumulate(false);
    std::vector<double> costs;
    std::vector<int64_t> drawn;
    for (int64_t s = 0; s < k; ++s) {
      const int64_t trials = s == 0 ? 1 : n_trials;
      drawn.clear();
      candidates.clear();
      for (int64_t t = 0; t < trials; ++t) {
        drawn.push_back(draw(uniforms(s, t)));
        for (int64_t f = 0; f < d; ++f) candidates.push_back(reader->value(drawn.back(), f));
      }
      const CenterPanels panels(candidates.data(), trials, d, objective, x.is_sparse());
      const int64_t padded = panels.padded();
      std::vector<double> potentials(padded, 0.0);
      costs.resize(n * padded);
      for_each_tile(*reader, panels, 1, [&](int64_t first, int64_t rows, const double *c) {
        std::copy(c, c + rows * padded, costs.begin() + first * padded);
        if (s > 0) lower_potentials(c, rows, padded, closest.data() + first, weight.data() + first, potentials.data());
      });
      const int64_t best = std::min_element(potentials.begin(), potentials.begin() + trials) - potentials.begin();
      seeds.data()[s] = drawn[best];
      for (int64_t i = 0; i < n; ++i) {
        const double c = costs[i * padded + best];
        closest[i] = s == 0 || c < closest[i] ? c : closest[i];
      }
      accumulate(true);
      if (!(running[n - 1] > 0.0)) accumulate(false);  // every row is a seed already: any row will do
    }
  }
  return seeds.to_numpy();
}

}  // namespace
}  // namespace cutwise

void bind_seeds(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("plusplus", &cutwise::plusplus, "matrix"_a, "uniforms"_a, "weights"_a.none() = nb::none(), "objective"_a = "kmeans",
        R"(Rows to start Lloyd's iterations from, (k,): greedy k-means++ (Arthur, Vassilvitskii 2007).

uniforms (k, n_trials): numbers in [0, 1), one for each candidate; of the candidates of a seed, each drawn by its share of
the cost, the one that lowers the cost most is kept. Distinct points as long as there are any.)");
}
