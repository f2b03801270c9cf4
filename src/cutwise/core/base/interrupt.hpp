// Ctrl-C during a long computation without the GIL.
#pragma once

#include <chrono>

#include "base/arrays.hpp"

namespace cutwise {

// Ends all threads of a search soon after Ctrl-C, and reports the cost of the best tree twice a second.
class Interrupt {
 public:
  explicit Interrupt(const nb::object *progress = nullptr) : progress_(progress) {}

  // Calls work(), and raises what check() stopped it for.
  template <class Work>
  void run(Work &&work) {
    try {
      work();
    } catch (const std::runtime_error &) {
      const GilAcquire acquire;
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      throw;
    }
  }

  void found(double value) {
    double best = best_;
    while (value < best && !best_.compare_exchange_weak(best, value)) continue;
  }

  void check() {
    if (stop_) throw std::runtime_error("interrupted");
    if (std::this_thread::get_id() != caller_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return;
    last_ = now;
    const GilAcquire acquire;
    if (PyErr_CheckSignals() != 0) {
      stop_ = true;
      throw std::runtime_error("interrupted");
    }
    if (!progress_ || progress_->is_none() || best_ == kUnknown || now - reported_ < std::chrono::milliseconds(500)) return;
    reported_ = now;
    (*progress_)(best_.load());
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  const nb::object *progress_;
  std::atomic<double> best_{kUnknown};
  std::atomic<bool> stop_{false};
  const std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now(), reported_ = last_;
};

}  // namespace cutwise
