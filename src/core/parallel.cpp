#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "core/progress.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

int thread_count(int threads) {
  require(threads >= 0, "threads = {} must be >= 0", threads);
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_for(std::string_view stage, std::size_t count, const Execution& execution,
                  const std::function<void(std::size_t)>& body) {
  const std::size_t workers =
      std::min(count, static_cast<std::size_t>(thread_count(execution.threads)));

  if (workers <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      check_stop();
      body(i);
      report_progress(execution.progress, {stage, i + 1, count});
    }
    return;
  }

  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;  // guards what follows
  std::size_t done = 0;
  std::size_t first_index = std::numeric_limits<std::size_t>::max();
  std::exception_ptr first_exception;

  const auto work = [&, asked = internal::current_stop] {
    const StopScope inherited(asked);
    while (!stop) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count) return;
      std::size_t failed = i;
      try {
        check_stop();
        body(i);
        const std::lock_guard lock(mutex);
        ++done;
        failed = count;  // a stop asked for by the caller must not hide an exception of a body
        if (!stop) report_progress(execution.progress, {stage, done, count});
      } catch (...) {
        const std::lock_guard lock(mutex);
        stop = true;
        if (failed < first_index) {
          first_index = failed;
          first_exception = std::current_exception();
        }
      }
    }
  };

  {
    std::vector<std::jthread> threads;
    threads.reserve(workers - 1);
    for (std::size_t t = 1; t < workers; ++t) threads.emplace_back(work);
    work();
  }
  if (first_exception) std::rethrow_exception(first_exception);
}

bool parallel_for_results(std::string_view stage, std::size_t count, const Execution& execution,
                          const std::function<void(std::size_t)>& body) {
  const bool keep = internal::keeps_finished;
  const FinishedScope inside(false);  // a body is finished or it is not
  try {
    parallel_for(stage, count, execution, body);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || !keep) throw;
    return false;
  }
}

}  // namespace ellice
