// Where on a line a sum of clipped distances is least: what one coordinate of one center costs the rows that may change sides.
//
// The sum over r of w_r min(|x_r - t|, radius_r) is linear in t but for kinks at x_r - radius_r, x_r and x_r + radius_r. Kinks
// are counted in bins first, which gives the value at the edges of bins and a bound of it within each; only the kinks of bins
// that may hold the least value are sorted and walked over. Linear in the number of rows, and exact.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cutwise {

class LineSearch {
 public:
  struct Best {
    double at;
    double gain;  // how much less than at the start it costs there; 0 where that is not above the least gain
  };

  // From `start`, not farther than `far`, which may be infinite. `spare` is how much dearer a row may get before it goes
  // elsewhere, negative where it is elsewhere: radius = spare + |x - start|, or 0 where that is negative. Weights may be null:
  // 1 each.
  Best find(const double *x, const double *spare, const int64_t *weights, int64_t n, double start, double far,
            double least_gain);

 private:
  struct Kink {
    double at;
    int64_t turn;  // what the slope changes by
    int32_t bin;
    bool operator<(const Kink &other) const { return at < other.at; }
  };
  // By what the kinks of a bin turn the slope, and these turns times their distances from where the window begins.
  struct Bin {
    int64_t up = 0, down = 0;
    double moment = 0.0;
  };
  // A piece of the function: its value at low_ + offset, but for a constant.
  struct Piece {
    int64_t slope = 0;
    double moment = 0.0;
    double value(double offset) const { return static_cast<double>(slope) * offset - moment; }
    void turn(int64_t by, double offset) {
      slope += by;
      moment += static_cast<double>(by) * offset;
    }
  };

  // Kinks of one kind, a row each.
  struct Kinks {
    int64_t turns;  // what the slope changes by, for a row of weight 1
    std::vector<double> at;
    std::vector<int32_t> bin;  // 1 .. n_bins_, or 0 and n_bins_ + 1 on either side of the window
  };

  void count();
  void choose();
  void collect();
  Best walk(double start, double least_gain) const;

  double low_ = 0.0, width_ = 0.0;  // where the window begins, and the width of a bin
  int64_t n_bins_ = 0;
  int64_t n_ = 0;  // rows whose cost the place can matter to
  std::vector<int32_t> rows_;
  std::vector<int64_t> weights_;
  std::vector<double> radius_;
  std::array<Kinks, 3> kinks_{{{-1, {}, {}}, {2, {}, {}}, {-1, {}, {}}}};  // left of the rows, at them and right of them
  std::vector<Bin> bins_;
  std::vector<Piece> pieces_;  // before the first kink of each bin
  std::vector<char> chosen_;   // bins that may hold the least value
  std::vector<Kink> sorted_;   // their kinks, in order
};

}  // namespace cutwise
