#include "core/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice {
namespace {

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for("test", calls.size(), {.threads = threads}, [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, DoesNothingForNoWork) {
  parallel_for("test", 0, {.threads = 4}, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, RethrowsTheExceptionOfTheSmallestIndexForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      try {
        parallel_for("test", 100, {.threads = threads}, [](std::size_t i) {
          // The later index fails at once, the earlier one takes its time.
          if (i == 10) std::this_thread::sleep_for(std::chrono::microseconds(300));
          if (i == 10 || i == 11) throw std::runtime_error(std::to_string(i));
        });
        FAIL() << "no exception came out";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "10");
      }
    }
  }
}

TEST(ParallelFor, StopsSoonAfterAnException) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(parallel_for("test", 100000, {.threads = 2},
                            [&](std::size_t) {
                              ++calls;
                              throw std::runtime_error("stop");
                            }),
               std::runtime_error);
  EXPECT_LE(calls, 2);
}

TEST(ParallelFor, IsCancelledByProgress) {
  for (const int threads : {1, 3}) {
    std::atomic<int> calls = 0;
    const Progress stop_after_five = [](const ProgressState& state) { return state.done < 5; };
    try {
      parallel_for("fitting", 1000, {.threads = threads, .progress = stop_after_five},
                   [&](std::size_t) { ++calls; });
      FAIL() << "was not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled);
      EXPECT_STREQ(error.what(), "fitting: stopped");
    }
    EXPECT_LE(calls, 5 + threads);
  }
}

TEST(ParallelFor, ReportsEachStepOnceAndInOrder) {
  std::vector<std::size_t> seen;
  const Progress record = [&](const ProgressState& state) {
    EXPECT_EQ(state.total, 50U);
    seen.push_back(state.done);
    return true;
  };
  parallel_for("test", 50, {.threads = 4, .progress = record}, [](std::size_t) {});
  ASSERT_EQ(seen.size(), 50U);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
}

TEST(ThreadCount, RefusesNegativeNumbers) {
  EXPECT_GE(thread_count(0), 1);
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_THROW((void)thread_count(-1), Error);
}

TEST(Stop, IsHeardByEveryThreadAndByLoopsInsideOfLoops) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<bool> stop = false;
    const StopScope scope(&stop);
    std::atomic<int> begun = 0;
    try {
      parallel_for("outer", 100, {.threads = threads}, [&](std::size_t) {
        ++begun;
        parallel_for("inner", 1000, {.threads = 2}, [&](std::size_t i) {
          if (i == 10) stop = true;
          check_stop();
        });
      });
      FAIL() << "nothing stopped";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled);
    }
    EXPECT_LE(begun, threads);
  }
  EXPECT_NO_THROW(check_stop());  // outside of the scope
}

TEST(Stop, KeepsWhatIsFinishedWhereThatIsAskedFor) {
  for (const int threads : {1, 3}) {
    std::atomic<bool> stop = false;
    const StopScope scope(&stop);
    std::vector<int> results(100, 0);
    const auto work = [&] {
      return parallel_for_results("work", results.size(), {.threads = threads}, [&](std::size_t i) {
        if (i == 20) stop = true;
        check_stop();
        results[i] = 1;
      });
    };
    {
      const FinishedScope keep(true);
      EXPECT_FALSE(work());
    }
    EXPECT_EQ(results[0], 1);
    EXPECT_EQ(results[20], 0);
    EXPECT_EQ(results[99], 0);
    EXPECT_THROW(work(), Error);
    const StopShield shield;
    EXPECT_NO_THROW(check_stop());
  }
}

}  // namespace
}  // namespace ellice
