#include "core/pipeline.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// Who does what: pieces are counted from 0, and piece k lives in the place k % places.
class Pipeline {
 public:
  Pipeline(std::size_t places, const Stages& stages) : stages_(&stages), is_done_(places) {}

  /// What each thread does until there is nothing left.
  void work() {
    std::unique_lock lock(mutex_);
    while (!is_over()) {
      if (may_give()) {
        give(lock);
      } else if (may_take()) {
        take_and_work(lock);
      } else {
        changed_.wait(lock);
      }
    }
  }

  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  [[nodiscard]] bool is_over() const {
    return is_at_end_ && given_ == std::min(taken_, first_failed_);
  }
  [[nodiscard]] bool may_give() const {
    return !is_giving_ && given_ < std::min(taken_, first_failed_) && is_done_[place(given_)] != 0;
  }
  [[nodiscard]] bool may_take() const {
    return !is_taking_ && !is_at_end_ && taken_ - given_ < is_done_.size();
  }
  [[nodiscard]] std::size_t place(std::size_t piece) const { return piece % is_done_.size(); }

  void give(std::unique_lock<std::mutex>& lock) {
    is_giving_ = true;
    const std::size_t piece = given_;
    const bool is_given = run(lock, piece, [&] { stages_->give(place(piece)); });
    is_giving_ = false;
    if (is_given) ++given_;
    changed_.notify_all();
  }

  void take_and_work(std::unique_lock<std::mutex>& lock) {
    is_taking_ = true;
    const std::size_t piece = taken_;
    bool is_there = false;
    const bool is_taken = run(lock, piece, [&] {
      check_stop();
      is_there = stages_->take(place(piece));
    });
    is_taking_ = false;
    if (!is_there) is_at_end_ = true;
    if (!is_taken || !is_there) {
      changed_.notify_all();
      return;
    }
    is_done_[place(piece)] = 0;
    ++taken_;
    changed_.notify_all();
    if (piece > first_failed_) return;  // nobody wants it any more
    if (run(lock, piece, [&] { stages_->work(place(piece)); })) is_done_[place(piece)] = 1;
    changed_.notify_all();
  }

  /// False if it throws.
  template <class Body>
  bool run(std::unique_lock<std::mutex>& lock, std::size_t piece, const Body& body) {
    lock.unlock();
    std::exception_ptr thrown;
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (!thrown) return true;
    is_at_end_ = true;
    if (piece < first_failed_) {
      first_failed_ = piece;
      exception_ = thrown;
    }
    return false;
  }

  const Stages* stages_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<char> is_done_;  // by place: its piece waits to be given away
  std::size_t taken_ = 0;      // pieces
  std::size_t given_ = 0;
  bool is_taking_ = false;
  bool is_giving_ = false;
  bool is_at_end_ = false;
  std::size_t first_failed_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr exception_;
};

}  // namespace

void run_in_order(std::size_t places, int threads, const Stages& stages) {
  require(places > 0, "run_in_order: places = {} must be > 0", places);
  Pipeline pipeline(places, stages);
  const std::size_t workers = std::min(places, static_cast<std::size_t>(thread_count(threads)));
  {
    const auto work = [&, asked = internal::current_stop, keep = internal::keeps_finished] {
      const StopScope inherited(asked);
      const FinishedScope wanted(keep);
      pipeline.work();
    };
    std::vector<std::jthread> others;
    others.reserve(workers - 1);
    for (std::size_t t = 1; t < workers; ++t) others.emplace_back(work);
    work();
  }
  pipeline.rethrow();
}

}  // namespace ellice
