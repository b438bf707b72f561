#include "work_queue.hpp"

#include <utility>

#include "core/parallel.hpp"

namespace ellice::serve {

WorkQueue::WorkQueue(int threads, std::size_t capacity) : capacity_(capacity) {
  const int count = thread_count(threads);
  threads_.reserve(static_cast<std::size_t>(count));
  for (int t = 0; t < count; ++t) threads_.emplace_back([this] { work(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  threads_.clear();  // joins
}

bool WorkQueue::offer(Job job) {
  {
    const std::lock_guard lock(mutex_);
    // Who comes while threads are idle does not wait, whatever the capacity.
    if (jobs_.size() >= capacity_ + (threads_.size() - running_)) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void WorkQueue::go_on(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

std::size_t WorkQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

std::size_t WorkQueue::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

int WorkQueue::idle() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(threads_.size() - running_);
}

void WorkQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (ends_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    lock.unlock();
    job();
    job = {};  // what it holds is released before the next one is waited for
    lock.lock();
    --running_;
  }
}

}  // namespace ellice::serve
