// Plain threads over independent pieces of work: no pool, no OpenMP, nothing left running.
//
// OpenMP runtimes can hang in forked children, and start as many threads as there are cores. Here a call starts at most n_jobs
// - 1 threads and joins them before it returns. Results never depend on n_jobs: the pieces are independent, or their partial
// sums are integers, or the pieces have a fixed size and are summed in a fixed order.
#pragma once

#include "base/standard.hpp"

namespace cutwise {

// Runs work(piece) for piece = 0 .. n_pieces - 1 on up to n_jobs threads. The first exception thrown is thrown again here.
template <class Work>
void parallel_for(int n_jobs, int64_t n_pieces, Work &&work) {
  const int n_threads = static_cast<int>(std::min<int64_t>(n_jobs, n_pieces));
  if (n_threads <= 1) {
    for (int64_t piece = 0; piece < n_pieces; ++piece) work(piece);
    return;
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  auto run = [&] {
    try {
      for (int64_t piece = next++; piece < n_pieces; piece = next++) work(piece);
    } catch (...) {
      std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
      next = n_pieces;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(n_threads - 1);
  try {
    for (int t = 1; t < n_threads; ++t) threads.emplace_back(run);
  } catch (...) {
    // The system refused to start another thread: this one and those that started do the work.
  }
  run();
  for (auto &thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace cutwise
