#pragma once

#include <chrono>
#include <ctime>

namespace ellice {

/// Seconds since construction, by the steady clock.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Processor seconds of the calling thread since construction: what work costs, however busy the
/// machine. Work that is handed to other threads is not counted.
class ThreadStopwatch {
 public:
  [[nodiscard]] double seconds() const { return now() - start_; }

 private:
  static double now() {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

}  // namespace ellice
