#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ellice::serve {

/// Threads that compute, and what waits for them. Whoever comes when the queue is full is told so
/// at once, which is kinder than an answer that comes too late.
class WorkQueue {
 public:
  using Job = std::function<void()>;

  /// `capacity` counts jobs that wait.
  WorkQueue(int threads, std::size_t capacity);
  ~WorkQueue();  // what waits is forgotten, what runs is finished
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  WorkQueue(WorkQueue&&) = delete;
  WorkQueue& operator=(WorkQueue&&) = delete;

  /// False, and nothing else, where too many wait. Jobs do not throw.
  [[nodiscard]] bool offer(Job job);
  /// The next piece of work of somebody who was let in before: waits behind the others, but is
  /// never turned away.
  void go_on(Job job);

  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Threads that have nothing to do, so that a batch may use them.
  [[nodiscard]] int idle() const;

 private:
  void work();

  std::size_t capacity_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::size_t running_ = 0;
  bool ends_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace ellice::serve
