// Lloyd's algorithm for k-means and k-medians, with Hamerly's bounds.
//
// Every row has an upper bound on the distance to its center and a lower bound on the distance to any other center. When
// centers move, the bounds are changed by as much, and rows whose upper bound is still not above the lower bound (most rows,
// after a few iterations) are not measured. This needs only the triangle inequality, which holds for Euclidean and l1
// distances.
//
// k-means: a row that changes its cluster is subtracted from the sums of one and added to those of the other; the sums are
// integers (exact_sums.hpp), so there is no drift. For sparse tables, whose sums could take more memory than the table, the
// clusters whose rows changed are summed again, one after the other. k-medians: the medians of clusters whose rows changed are
// selected again. Centers do not depend on the order of the rows or on the number of threads.
//
// Greg Hamerly (2010), "Making k-means even faster".
#include "base/arrays.hpp"
#include "base/exact_sums.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"
#include "clustering/centers.hpp"
#include "clustering/sums.hpp"

namespace cutwise {
namespace {

// ---- bounds of distances, for Hamerly's algorithm
//
// They are float32, rounded outward. Where float32 overflows or underflows, a bound is infinite or 0, and the row is measured
// in every iteration.

constexpr float kLeastBound = std::numeric_limits<float>::min();

inline float round_up(double distance) {
  if (!(distance < 1e38)) return std::numeric_limits<float>::infinity();
  return std::max(static_cast<float>(distance * (1.0 + 0x1p-22)), kLeastBound);
}
inline float round_down(double distance) {
  if (!(distance < 1e38)) return 0.0f;
  const float bound = static_cast<float>(distance * (1.0 - 0x1p-22));
  return bound < kLeastBound ? 0.0f : bound;
}

// A cost in four partial sums, used for bounds and mean costs only, as it has not the same bits as the cost kernels.
template <bool squares>
CUTWISE_CLONES double about_cost(const double *row, const double *center, int64_t d) {
  double part[kLanes] = {0.0, 0.0, 0.0, 0.0};
  Lanes sum;
  load(sum, part);
  int64_t f = 0;
  for (; f + kLanes <= d; f += kLanes) {
    Lanes x, c;
    load(x, row + f);
    load(c, center + f);
    subtract(x, c);
    if constexpr (squares) square(x);
    else absolute(x);
    add(sum, x);
  }
  store(part, sum);
  double total = (part[0] + part[1]) + (part[2] + part[3]);
  for (; f < d; ++f) {
    const double difference = row[f] - center[f];
    total += squares ? difference * difference : std::fabs(difference);
  }
  return total;
}

CUTWISE_CLONES int32_t nearest_of(const double *costs, int64_t k, int64_t padded, double least) {
  return first_of(costs, k, padded, least);
}

// How far every center moved, and how far the farthest other center moved, rounded up.
struct Moves {
  explicit Moves(const std::vector<double> &moves) : each(moves.size()), of_others(moves.size()) {
    double most = 0.0, second = 0.0;
    size_t farthest = 0;
    for (size_t j = 0; j < moves.size(); ++j) {
      each[j] = moves[j] > 0.0 ? round_up(moves[j]) : 0.0f;
      if (moves[j] > most) {
        second = most;
        most = moves[j];
        farthest = j;
      } else {
        second = std::max(second, moves[j]);
      }
    }
    for (size_t j = 0; j < moves.size(); ++j) {
      const double other = j == farthest ? second : most;
      of_others[j] = other > 0.0 ? round_up(other) : 0.0f;
    }
  }

  std::vector<float> each, of_others;
};

// Changes the bounds of rows first .. last - 1 by the moves of the centers. Lists in `unsettled` the rows whose nearest center
// may have changed, and returns their number.
CUTWISE_CLONES int64_t move_bounds(const int32_t *labels, const Moves &moves, int64_t first, int64_t last, float *upper,
                                   float *lower, int64_t *unsettled) {
  // A float sum or product has a relative error of 2^-24; these factors round outward after two operations.
  constexpr float up = 1.0f + 0x1p-22f, down = 1.0f - 0x1p-22f;
  const float *each = moves.each.data(), *of_others = moves.of_others.data();
  for (int64_t row = first; row < last; ++row) {
    const float most = (upper[row] + each[labels[row]]) * up, least = (lower[row] - of_others[labels[row]]) * down;
    upper[row] = most < kLeastBound ? kLeastBound : most;
    lower[row] = least < kLeastBound ? 0.0f : least;
  }
  int64_t n_unsettled = 0;
  for (int64_t row = first; row < last; ++row) {
    unsettled[n_unsettled] = row;
    n_unsettled += !(upper[row] <= lower[row]);
  }
  return n_unsettled;
}

// ---- the iterations

class Lloyd {
 public:
  // centers: (k, d), from which the iterations start; they are moved in place. sizes: column_sizes() where they are known, or
  // null.
  Lloyd(const RowReader &x, double *centers, int64_t k, const int64_t *weights, Objective objective, int n_jobs,
        const double *sizes)
      : x_(x),
        weights_(weights),
        objective_(objective),
        n_(x.n_rows()),
        d_(x.n_cols()),
        k_(k),
        n_jobs_(n_jobs),
        total_(static_cast<double>(n_)),
        centers_(centers),
        labels_(n_),
        upper_(n_),
        lower_(n_) {
    if (weights != nullptr) {
      total_ = 0.0;
      for (int64_t i = 0; i < n_; ++i) {
        if (weights[i] < 1) throw std::invalid_argument("weights are positive");
        total_ += static_cast<double>(weights[i]);
      }
    }
    const int bits = term_bits(total_);
    unit_ = std::ldexp(1.0, bits);
    scale_ = sizes != nullptr ? std::vector<double>(sizes, sizes + d_) : column_sizes(x, n_jobs);
    for (const double size : scale_) largest_cost_ += objective_ == Objective::kmeans ? 4.0 * size * size : 2.0 * size;
    largest_cost_ = std::min(largest_cost_, std::numeric_limits<double>::max());
    cost_scale_ = term_scale(largest_cost_, bits);
    for (double &s : scale_) s = term_scale(s, bits);
    n_pieces_ = std::max<int64_t>(1, std::min<int64_t>(n_jobs, count_blocks(n_)));
    start_over();
  }

  // One assignment of the rows and one update of the centers. Returns false when no row changed its center, or when moving the
  // centers lowers the cost by no more than `tolerance` times the first cost (for medians: cannot lower it by more).
  bool step(double tolerance) {
    const bool changed = assign();
    const std::vector<double> before(centers_, centers_ + k_ * d_);
    const bool refilled = update();
    if (refilled) {
      start_over();
      return true;
    }
    if (!changed) return false;
    std::vector<double> moves(k_);
    double gain = 0.0;  // the mean of a cluster lowers its cost by weight times squared move, a median by move at most
    for (int64_t j = 0; j < k_; ++j) {
      double cost = 0.0;  // summed column by column, as for rows that come in batches, to have the same bits
      for (int64_t f = j * d_; f < (j + 1) * d_; ++f) {
        const double difference = before[f] - centers_[f];
        cost += objective_ == Objective::kmeans ? difference * difference : std::abs(difference);
      }
      moves[j] = distance(cost);
      gain += (objective_ == Objective::kmeans ? moves[j] * moves[j] : moves[j]) * static_cast<double>(clusters_.weight[j]);
    }
    moves_ = std::make_unique<Moves>(moves);
    return gain > tolerance * cost_;
  }

  const std::vector<int64_t> &cluster_weights() const { return clusters_.weight; }

  // The mean cost of the rows by the centers that they were assigned to last, at the current positions of the centers.
  double mean_cost() {
    if (labels_[0] < 0) assign();  // after the last update refilled empty clusters
    const CenterPanels panels(centers_, k_, d_, objective_, !x_.gives_tiles(), false);
    std::vector<double> costs(n_);
    parallel_for(n_jobs_, count_blocks(n_), [&](int64_t block) {
      measure_own(panels, block * kBlockRows, std::min(n_, (block + 1) * kBlockRows), costs.data());
    });
    // Scaled by the largest of them: rows far away, at centers of their own, take no digits from the others.
    const double largest = std::min(*std::max_element(costs.begin(), costs.end()), largest_cost_);
    const auto cost = [&](int64_t row) { return std::min(costs[row], largest); };
    return sum_exactly(n_, largest, term_bits(total_), cost, [&](int64_t row) { return weight_of(row); }) / total_;
  }

 private:
  // What rows add to clusters, or to the changes of one assignment: sums of values (k-means), weights, and which clusters
  // changed.
  struct Changes {
    std::vector<int64_t> high, low, weight;
    std::vector<char> touched;
    int64_t cost_high = 0, cost_low = 0;  // summed costs of rows, where they are added up
    Changes() = default;
    Changes(int64_t k, int64_t n_sums) : high(n_sums, 0), low(n_sums, 0), weight(k, 0), touched(k, 0) {}

    bool any() const { return std::find(touched.begin(), touched.end(), 1) != touched.end(); }
    void add(const Changes &other) {
      add_all(high, other.high);
      add_all(low, other.low);
      add_all(weight, other.weight);
      for (size_t i = 0; i < touched.size(); ++i) touched[i] |= other.touched[i];
      cost_high += other.cost_high;
      cost_low += other.cost_low;
    }
  };

  int64_t n_sums() const { return objective_ == Objective::kmeans && x_.gives_tiles() ? k_ * d_ : 0; }

  double distance(double cost) const { return objective_ == Objective::kmeans ? std::sqrt(cost) : cost; }
  double cost_about(const double *row, const double *center) const {
    return objective_ == Objective::kmeans ? about_cost<true>(row, center, d_) : about_cost<false>(row, center, d_);
  }

  void add_cost(int64_t weight, double cost, Changes &to) const {
    const SplitTerm term = split_term(std::min(cost, largest_cost_) * cost_scale_, unit_);
    to.cost_high += weight * term.high;
    to.cost_low += weight * term.low;
  }

  // Writes the costs of rows by the centers of their labels.
  void measure_own(const CenterPanels &panels, int64_t first, int64_t last, double *costs) const {
    if (!x_.gives_tiles()) {
      CostTile tile(x_, panels);
      for (int64_t row = first; row < last; ++row) costs[row] = tile.of_sparse(row, labels_[row]);
      return;
    }
    x_.each(first, last,
            [&](int64_t row, const auto &values) { costs[row] = cost_about(values.values, panels.center(labels_[row])); });
  }

  // Discards bounds and sums, so that the next assignment measures every row.
  void start_over() {
    std::fill(labels_.begin(), labels_.end(), -1);
    clusters_ = Changes(k_, n_sums());
    moves_.reset();
  }

  double cost_of(const Changes &rows) const { return sum_of_terms(rows.cost_high, rows.cost_low, unit_, cost_scale_); }
  int64_t weight_of(int64_t row) const { return weights_ == nullptr ? 1 : weights_[row]; }

  bool assign() {
    const CenterPanels panels(centers_, k_, d_, objective_, !x_.gives_tiles());
    const int64_t n_blocks = count_blocks(n_);
    std::fill(clusters_.touched.begin(), clusters_.touched.end(), 0);
    // The first piece adds to clusters_ itself, since `Changes` take as much memory as the centers.
    std::vector<Changes> parts(n_pieces_ - 1);
    for (Changes &part : parts) part = Changes(k_, n_sums());
    parallel_for(n_jobs_, n_pieces_, [&](int64_t piece) {
      BlockWork work(*this, panels, piece == 0 ? clusters_ : parts[piece - 1]);
      for (int64_t b = n_blocks * piece / n_pieces_; b < n_blocks * (piece + 1) / n_pieces_; ++b) {
        const int64_t first = b * kBlockRows, last = std::min(n_, first + kBlockRows);
        if (moves_) work.assign_again(first, last);
        else work.assign_first(first, last);
      }
    });
    for (const Changes &part : parts) clusters_.add(part);
    if (!moves_) cost_ = cost_of(clusters_);
    return clusters_.any();
  }

  // Moves every center to the mean or median of its rows; returns true if empty clusters got a new start.
  bool update() {
    const std::vector<int64_t> &weight = clusters_.weight;
    if (objective_ == Objective::kmedians) {
      medians_of(x_, ClusterRows(labels_.data(), n_, k_), weights_, clusters_.touched.data(), centers_, n_jobs_);
    } else if (!x_.gives_tiles()) {
      const ClusterRows rows(labels_.data(), n_, k_);
      parallel_for(n_jobs_, k_, [&](int64_t j) {
        if (!clusters_.touched[j] || weight[j] == 0) return;
        std::vector<int64_t> high(d_, 0), low(d_, 0);
        std::vector<double> scratch;
        for (int64_t i = 0; i < rows.size(j); ++i) {
          const int64_t row = rows.rows(j)[i];
          add_row(x_.stored(row, scratch), scale_.data(), unit_, weight_of(row), high.data(), low.data());
        }
        move_to_mean(j, high.data(), low.data());
      });
    } else {
      for (int64_t j = 0; j < k_; ++j)
        if (weight[j] > 0) move_to_mean(j, clusters_.high.data() + j * d_, clusters_.low.data() + j * d_);
    }
    const bool empty = std::find(weight.begin(), weight.end(), 0) != weight.end();
    return empty && refill();
  }

  void move_to_mean(int64_t j, const int64_t *high, const int64_t *low) {
    for (int64_t f = 0; f < d_; ++f)
      centers_[j * d_ + f] = mean_of_terms(high[f], low[f], clusters_.weight[j], unit_, scale_[f]);
  }

  // Moves the center of every empty cluster to the row farthest from all centers; returns false when all rows are at centers
  // already.
  bool refill() {
    bool any = false;
    std::vector<double> nearest(n_, std::numeric_limits<double>::infinity());
    std::vector<double> occupied;
    for (int64_t j = 0; j < k_; ++j)
      if (clusters_.weight[j] > 0) occupied.insert(occupied.end(), centers_ + j * d_, centers_ + (j + 1) * d_);
    lower_to(nearest, occupied);
    for (int64_t j = 0; j < k_; ++j) {
      if (clusters_.weight[j] > 0) continue;
      const int64_t row = farthest(nearest);
      if (!(nearest[row] > 0.0)) break;
      any = true;
      x_.read(row, centers_ + j * d_);
      for (int64_t f = j * d_; f < (j + 1) * d_; ++f) centers_[f] += 0.0;  // -0.0 becomes 0.0, as equal rows may have either
      lower_to(nearest, std::vector<double>(centers_ + j * d_, centers_ + (j + 1) * d_));
    }
    return any;
  }

  // The row farthest from its center; among equally far rows the lexicographically smallest, whatever the order of the rows.
  int64_t farthest(const std::vector<double> &nearest) const {
    int64_t best = 0;
    for (int64_t row = 1; row < n_; ++row)
      if (nearest[row] > nearest[best] || (nearest[row] == nearest[best] && is_before(row, best))) best = row;
    return best;
  }
  bool is_before(int64_t a, int64_t b) const {
    for (int64_t f = 0; f < d_; ++f)
      if (x_.value(a, f) != x_.value(b, f)) return x_.value(a, f) < x_.value(b, f);
    return false;
  }

  void lower_to(std::vector<double> &nearest, const std::vector<double> &centers) const {
    const CenterPanels panels(centers.data(), static_cast<int64_t>(centers.size()) / d_, d_, objective_, !x_.gives_tiles());
    for_each_tile(x_, panels, n_jobs_, [&](int64_t first, int64_t n, const double *costs, const Tile &) {
      for (int64_t r = 0; r < n; ++r)
        for (int64_t j = 0; j < panels.k(); ++j)
          nearest[first + r] = std::min(nearest[first + r], costs[r * panels.padded() + j]);
    });
  }

  // The work of one thread in an assignment.
  struct BlockWork {
    BlockWork(Lloyd &owner, const CenterPanels &centers, Changes &delta)
        : o(owner), x(owner.x_), panels(centers), changes(delta), tile(owner.x_, centers) {}

    void assign_first(int64_t first, int64_t last) {
      const int64_t step = tile.capacity();
      for (int64_t row = first; row < last; row += step) {
        const int64_t rows = std::min(step, last - row);
        const double *costs = tile.compute(row, rows);
        for (int64_t r = 0; r < rows; ++r) {
          const double *values = x.gives_tiles() ? tile.tile().rows + r * tile.tile().stride : nullptr;
          o.add_cost(o.weight_of(row + r), settle(row + r, costs + r * panels.padded(), values), changes);
        }
      }
    }

    void assign_again(int64_t first, int64_t last) {
      unsettled.resize(last - first);
      const int64_t n_unsettled =
          move_bounds(o.labels_.data(), *o.moves_, first, last, o.upper_.data(), o.lower_.data(), unsettled.data());
      if (!x.gives_tiles()) {
        for (int64_t i = 0; i < n_unsettled; ++i) settle(unsettled[i], tile.compute(unsettled[i], 1), nullptr);
      } else {
        for (int64_t at = 0; at < n_unsettled; at += tile.capacity())
          measure(unsettled.data() + at, std::min(tile.capacity(), n_unsettled - at));
      }
    }

    // Measures rows: first the distance to their own center, which is often small enough, then the costs by all centers.
    void measure(int64_t *some, int64_t n) {
      if (gathered.size() < static_cast<size_t>(tile.capacity() * o.d_)) gathered.resize(tile.capacity() * o.d_);
      x.gather(some, n, gathered.data());
      int64_t left = 0;
      for (int64_t r = 0; r < n; ++r) {
        const int64_t row = some[r];
        const double *values = gathered.data() + r * o.d_;
        const double distance = o.distance(o.cost_about(values, panels.center(o.labels_[row])));
        o.upper_[row] = round_up(distance * (1.0 + 1e-12));
        if (o.upper_[row] <= o.lower_[row]) continue;
        if (left < r) std::copy(values, values + o.d_, gathered.data() + left * o.d_);
        some[left++] = row;
      }
      const double *costs = tile.compute(Tile{gathered.data(), o.d_}, left);
      for (int64_t r = 0; r < left; ++r) settle(some[r], costs + r * panels.padded(), gathered.data() + r * o.d_);
    }

    // Updates the label, the bounds and the sums for a row from its costs by all centers; returns the smallest cost.
    double settle(int64_t row, const double *costs, const double *values) {
      const SmallestTwo two = smallest_two(costs, panels.padded());
      const int32_t nearest = nearest_of(costs, panels.k(), panels.padded(), two.cost);
      o.upper_[row] = round_up(o.distance(two.cost));
      o.lower_[row] = round_down(o.distance(two.second));
      const int32_t label = o.labels_[row];
      if (nearest != label) {
        const int64_t weight = o.weight_of(row);
        if (label >= 0) move(label, -weight, values);
        move(nearest, weight, values);
        o.labels_[row] = nearest;
      }
      return two.cost;
    }

    void move(int32_t label, int64_t weight, const double *values) {
      changes.weight[label] += weight;
      changes.touched[label] = 1;
      if (changes.high.empty()) return;
      add_row(DenseRow{values, o.d_}, o.scale_.data(), o.unit_, weight, changes.high.data() + label * o.d_,
              changes.low.data() + label * o.d_);
    }

    Lloyd &o;
    const RowReader &x;
    const CenterPanels &panels;
    Changes &changes;
    CostTile tile;
    std::vector<int64_t> unsettled;
    std::vector<double> gathered;
  };

  const RowReader &x_;
  const int64_t *weights_;
  const Objective objective_;
  int64_t n_, d_, k_;
  int n_jobs_;
  double total_;  // weight of all rows
  int64_t n_pieces_ = 1;
  double *centers_;
  std::vector<int32_t> labels_;
  std::vector<float> upper_, lower_;
  std::vector<double> scale_;
  double unit_ = 1.0, cost_ = 0.0, largest_cost_ = 0.0,
         cost_scale_ = 1.0;       // largest_cost_: no cost of a row by centers among the rows is larger
  Changes clusters_;              // sums over the rows of each cluster; `touched` refers to the last assignment
  std::unique_ptr<Moves> moves_;  // null: every row has to be measured
};

std::tuple<Owned<double, 2>, int, Owned<int64_t, 1>, double> lloyd(const Matrix &x, const In2<double> &centers,
                                                                   const Weights &weights, int max_iter, double tolerance,
                                                                   int n_jobs, const std::string &objective, bool costed,
                                                                   const std::optional<In1<double>> &sizes) {
  require(centers.shape(0) > 0, "there is at least one center");
  require(has_shape(centers, centers.shape(0), x.n_cols()), "the centers have the columns of the rows");
  require(has_shape(sizes, x.n_cols()), "there is one size for each column");
  const int64_t *w = checked(weights, x.n_rows());
  NewArray<double, 2> out(centers.shape(0), centers.shape(1));
  NewArray<int64_t, 1> cluster_weights(centers.shape(0));
  int n_iter = 0;
  double cost = std::numeric_limits<double>::quiet_NaN();
  without_gil([&] {
    const std::unique_ptr<RowReader> rows = RowReader::of(x);
    std::copy_n(centers.data(), centers.size(), out.data());
    Lloyd state(*rows, out.data(), static_cast<int64_t>(centers.shape(0)), w, read_objective(objective), n_jobs,
                data_or_null(sizes));
    for (bool more = true; more && n_iter < max_iter;) {
      more = state.step(tolerance);
      ++n_iter;
      const GilAcquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    if (costed) cost = state.mean_cost();
    std::copy(state.cluster_weights().begin(), state.cluster_weights().end(), cluster_weights.data());
  });
  return {out.to_numpy(), n_iter, cluster_weights.to_numpy(), cost};
}

}  // namespace
}  // namespace cutwise

void bind_lloyd(nanobind::module_ &m) {
  using namespace cutwise;
  m.def("lloyd", &cutwise::lloyd, "matrix"_a, "centers"_a, "weights"_a.none() = nb::none(), "max_iter"_a = 300,
        "tolerance"_a = 0.0, "n_jobs"_a = 1, "objective"_a = "kmeans", "costed"_a = false, "column_sizes"_a.none() = nb::none(),
        R"(Lloyd's iterations from centers (k, d), which skip rows whose nearest center cannot have changed (Hamerly 2010).

objective: "kmeans" for Euclidean distance and means, "kmedians" for l1 distance and medians. weights: positive; a weight equals a
repeated row to the bit. The iterations stop after max_iter; when no row changes its center; or when moving the centers lowers the
cost by no more than tolerance times the first cost (for k-medians: cannot lower it by more). column_sizes: as for cluster_means.

Returns the centers, the number of iterations, the weight of each cluster in the last of them, (k,), and, if costed, the mean cost
at the end, each row by the center that it was assigned to last, otherwise nan. Mean costs that overflow float64 are its largest
number. A center that loses all its rows moves to the row farthest from all centers. Results do not depend on threads or the
order of the rows.)");
}
