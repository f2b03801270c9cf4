// The main directions of weighted points: those along which their squared distances to the mean are largest.
//
// By orthogonal iterations in a fixed order, instead of LAPACK, whose results differ between builds. Directions need not be
// exact: they only choose which few numbers of a row a search looks at.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/arrays.hpp"
#include "base/clones.hpp"

namespace cutwise {
namespace {

constexpr int kIterations = 10;
constexpr int64_t kSpare = 4;  // further directions that make the others converge faster

// to (n_cols, q) = X' W X from, where the rows of X are the points less their mean.
CUTWISE_CLONES void apply_scatter(const std::vector<double> &points, const double *weights, int64_t n, int64_t d, int64_t q,
                                  const std::vector<double> &from, std::vector<double> &to) {
  std::fill(to.begin(), to.end(), 0.0);
  std::vector<double> along(q);
  for (int64_t i = 0; i < n; ++i) {
    const double *x = points.data() + i * d;
    std::fill(along.begin(), along.end(), 0.0);
    double *a = along.data();
    for (int64_t j = 0; j < d; ++j) {
      const double *direction = from.data() + j * q;
      for (int64_t c = 0; c < q; ++c) a[c] += x[j] * direction[c];
    }
    for (int64_t c = 0; c < q; ++c) a[c] *= weights[i];
    for (int64_t j = 0; j < d; ++j) {
      double *direction = to.data() + j * q;
      for (int64_t c = 0; c < q; ++c) direction[c] += x[j] * a[c];
    }
  }
}

// Gram-Schmidt, twice for accuracy. Columns of next to nothing become zero.
void orthonormalize(std::vector<double> &basis, int64_t d, int64_t q, double smallest) {
  for (int64_t c = 0; c < q; ++c) {
    double first_norm = 0.0;
    for (int round = 0; round < 2; ++round) {
      for (int64_t b = 0; b < c; ++b) {
        double along = 0.0;
        for (int64_t j = 0; j < d; ++j) along += basis[j * q + b] * basis[j * q + c];
        for (int64_t j = 0; j < d; ++j) basis[j * q + c] -= along * basis[j * q + b];
      }
      double norm = 0.0;
      for (int64_t j = 0; j < d; ++j) norm += basis[j * q + c] * basis[j * q + c];
      norm = std::sqrt(norm);
      if (round == 0) first_norm = norm;
      const double factor = norm > smallest && norm > 1e-12 * first_norm ? 1.0 / norm : 0.0;
      for (int64_t j = 0; j < d; ++j) basis[j * q + c] *= factor;
    }
  }
}

}  // namespace
}  // namespace cutwise

using namespace cutwise;

void bind_directions(nb::module_ &m) {
  m.def(
      "main_directions",
      [](In2<double> points, In1<double> weights, int64_t n_directions) {
        const int64_t n = static_cast<int64_t>(points.shape(0)), d = static_cast<int64_t>(points.shape(1));
        require(static_cast<int64_t>(weights.size()) == n && n > 0, "there is one weight for each point");
        require(n_directions >= 1 && n_directions <= d, "there are at most as many directions as columns");
        const int64_t q = std::min(n_directions + kSpare, d);
        NewArray<double, 2> directions(n_directions, d);
        {
          nb::gil_scoped_release release;
          std::vector<double> centered(points.data(), points.data() + n * d), mean(d, 0.0);
          double total = 0.0;
          for (int64_t i = 0; i < n; ++i) {
            total += weights(i);
            for (int64_t j = 0; j < d; ++j) mean[j] += weights(i) * centered[i * d + j];
          }
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < d; ++j) centered[i * d + j] -= mean[j] / total;
          std::vector<double> basis(d * q), next(d * q);
          uint64_t state = 1;
          for (double &b : basis) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            b = static_cast<double>(static_cast<int64_t>(state >> 33)) - 1073741824.0;
          }
          orthonormalize(basis, d, q, 0.0);
          for (int iteration = 0; iteration < kIterations; ++iteration) {
            apply_scatter(centered, weights.data(), n, d, q, basis, next);
            basis.swap(next);
            orthonormalize(basis, d, q, 0.0);
          }
          for (int64_t c = 0; c < n_directions; ++c) {
            int64_t largest = 0;
            for (int64_t j = 1; j < d; ++j)
              if (std::fabs(basis[j * q + c]) > std::fabs(basis[largest * q + c])) largest = j;
            const double sign = basis[largest * q + c] < 0.0 ? -1.0 : 1.0;
            for (int64_t j = 0; j < d; ++j) directions.data()[c * d + j] = sign * basis[j * q + c];
          }
        }
        return directions.to_numpy();
      },
      nb::arg("points"), nb::arg("weights"), nb::arg("n_directions"),
      "Directions of unit length along which the weighted points scatter most, about; zeros where they do not scatter.");
}
