#pragma once

// Asking whether to stop, from inside of any loop. What a piece of work was told (Execution.stop)
// is remembered by the thread that does it and handed on to the threads that it starts, so that a
// solver ten calls below need not be told: it asks check_stop() once per iteration, which costs a
// nanosecond.

#include <atomic>
#include <cstddef>
#include <functional>
#include <string_view>

#include "core/parallel.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace internal {

/// What the work of this thread looks at; null: nothing can stop it.
extern thread_local constinit const std::atomic<bool>* current_stop;
/// Whether the answers that are finished are wanted after a stop.
extern thread_local constinit bool keeps_finished;

[[noreturn]] void throw_stopped();

}  // namespace internal

/// While it lives, this thread's work looks at `stop`; where that is null, at what it looked at
/// before.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop) : before_(internal::current_stop) {
    if (stop != nullptr) internal::current_stop = stop;
  }
  ~StopScope() { internal::current_stop = before_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  StopScope(StopScope&&) = delete;
  StopScope& operator=(StopScope&&) = delete;

 private:
  const std::atomic<bool>* before_;
};

/// Whether this thread's work is asked to stop.
[[nodiscard]] inline bool is_stop_requested() {
  return internal::current_stop != nullptr &&
         internal::current_stop->load(std::memory_order_relaxed);
}

/// Throws Error{cancelled} when this thread's work is asked to stop. To be called at least once in
/// 100 ms of work.
inline void check_stop() {
  if (is_stop_requested()) internal::throw_stopped();
}

/// For handlers that say an error in other words or make something else of it: a stop stays a stop.
/// To be called while the error is being handled.
void keep_stop(const Error& error);

/// While it lives, nothing stops this thread's work: for the little that is left to do to keep what
/// was finished before the stop.
class StopShield {
 public:
  StopShield() : before_(internal::current_stop) { internal::current_stop = nullptr; }
  ~StopShield() { internal::current_stop = before_; }
  StopShield(const StopShield&) = delete;
  StopShield& operator=(const StopShield&) = delete;
  StopShield(StopShield&&) = delete;
  StopShield& operator=(StopShield&&) = delete;

 private:
  const std::atomic<bool>* before_;
};

/// While it lives, answers to several queries that are stopped return those that are finished, or
/// else Error{cancelled}.
class FinishedScope {
 public:
  explicit FinishedScope(bool keep) : before_(internal::keeps_finished) {
    internal::keeps_finished = keep;
  }
  ~FinishedScope() { internal::keeps_finished = before_; }
  FinishedScope(const FinishedScope&) = delete;
  FinishedScope& operator=(const FinishedScope&) = delete;
  FinishedScope(FinishedScope&&) = delete;
  FinishedScope& operator=(FinishedScope&&) = delete;

 private:
  bool before_;
};

/// parallel_for() whose bodies each write a result of their own. False where the work was stopped
/// and what is finished is wanted (FinishedScope).
bool parallel_for_results(std::string_view stage, std::size_t count, const Execution& execution,
                          const std::function<void(std::size_t)>& body);

}  // namespace ellice
