#include "core/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice {
namespace {

void linger(std::size_t piece) {
  std::this_thread::sleep_for(std::chrono::microseconds(37 * piece % 211));
}

/// Counts from 0 to `last`, and writes down the squares.
struct Squares {
  std::size_t last;
  std::size_t next = 0;
  std::vector<std::size_t> places;
  std::vector<std::size_t> given = {};

  Squares(std::size_t last_piece, std::size_t count) : last(last_piece), places(count) {}
  bool take(std::size_t place) {
    if (next == last) return false;
    places[place] = next++;
    return true;
  }
};

TEST(RunInOrder, GivesEveryPieceOnceAndInOrder) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::size_t places : {std::size_t{1}, std::size_t{2}, std::size_t{9}}) {
      Squares squares(300, places);
      run_in_order(
          places, threads,
          {.take = [&](std::size_t place) { return squares.take(place); },
           .work =
               [&](std::size_t place) {
                 std::size_t& piece = squares.places[place];
                 linger(piece);
                 piece *= piece;
               },
           .give = [&](std::size_t place) { squares.given.push_back(squares.places[place]); }});
      ASSERT_EQ(squares.given.size(), 300U);
      for (std::size_t k = 0; k < 300; ++k) EXPECT_EQ(squares.given[k], k * k);
    }
  }
}

TEST(RunInOrder, DoesNothingWithoutPieces) {
  run_in_order(4, 3,
               {.take = [](std::size_t) { return false; },
                .work = [](std::size_t) { FAIL(); },
                .give = [](std::size_t) { FAIL(); }});
}

TEST(RunInOrder, TakesAndGivesOneAtATimeAndHoldsNoMoreThanThereArePlaces) {
  std::atomic<int> taking = 0;
  std::atomic<int> giving = 0;
  std::atomic<int> held = 0;
  std::atomic<int> next = 0;
  run_in_order(3, 5,
               {.take =
                    [&](std::size_t) {
                      EXPECT_EQ(++taking, 1);
                      EXPECT_LE(++held, 3);
                      linger(5);
                      --taking;
                      return ++next <= 200;
                    },
                .work = [&](std::size_t place) { linger(place); },
                .give =
                    [&](std::size_t) {
                      EXPECT_EQ(++giving, 1);
                      linger(3);
                      --giving;
                      --held;
                    }});
}

TEST(RunInOrder, WorksSideBySideAndTakesWhileItGives) {
  std::latch both_work(2);
  std::latch third_is_taken(1);
  std::size_t next = 0;
  run_in_order(3, 2,
               {.take =
                    [&](std::size_t) {
                      if (next == 2) third_is_taken.count_down();
                      return next++ < 3;
                    },
                .work =
                    [&](std::size_t place) {
                      if (place < 2) both_work.arrive_and_wait();
                    },
                .give =
                    [&](std::size_t place) {
                      if (place == 0) third_is_taken.wait();
                    }});
}

/// What is said of pieces 10 and 11, which fail, the later one first, and what was given before.
struct Failure {
  std::string message = {};
  std::vector<std::size_t> given = {};
};

Failure failure_of(int threads, const std::string& stage) {
  Failure failure;
  std::vector<std::size_t> places(8);
  std::size_t next = 0;
  const auto fail_at = [&](const std::string& here, std::size_t piece) {
    if (here != stage) return;
    if (piece == 10) std::this_thread::sleep_for(std::chrono::microseconds(300));
    if (piece == 10 || piece == 11) throw std::runtime_error(std::to_string(piece));
  };
  try {
    run_in_order(places.size(), threads,
                 {.take =
                      [&](std::size_t place) {
                        places[place] = next++;
                        fail_at("take", places[place]);
                        return true;
                      },
                  .work = [&](std::size_t place) { fail_at("work", places[place]); },
                  .give =
                      [&](std::size_t place) {
                        fail_at("give", places[place]);
                        failure.given.push_back(places[place]);
                      }});
  } catch (const std::runtime_error& error) {
    failure.message = error.what();
  }
  return failure;
}

TEST(RunInOrder, RethrowsTheFirstExceptionAfterAllPiecesBeforeItForAnyNumberOfThreads) {
  std::vector<std::size_t> before(10);
  std::iota(before.begin(), before.end(), 0);
  for (const std::string stage : {"take", "work", "give"}) {
    for (const int threads : {1, 2, 3, 8}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        const Failure failure = failure_of(threads, stage);
        EXPECT_EQ(failure.message, "10") << stage;
        EXPECT_EQ(failure.given, before) << stage;
      }
    }
  }
}

TEST(RunInOrder, GivesWhatWasTakenBeforeAStop) {
  for (const int threads : {1, 2, 5}) {
    std::atomic<bool> stop = false;
    const StopScope scope(&stop);
    const FinishedScope finished(true);
    std::size_t taken = 0;
    std::size_t given = 0;
    try {
      run_in_order(6, threads,
                   {.take =
                        [&](std::size_t) {
                          ++taken;
                          return true;
                        },
                    .work =
                        [&](std::size_t place) {
                          EXPECT_EQ(internal::current_stop, &stop);
                          EXPECT_TRUE(internal::keeps_finished);
                          linger(place);
                        },
                    .give = [&](std::size_t) { stop = ++given == 40 || stop; }});
      FAIL() << "was not stopped";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled);
    }
    EXPECT_EQ(given, taken);
    EXPECT_GE(given, 40U);
    EXPECT_LE(given, 40U + 6U);
  }
}

}  // namespace
}  // namespace ellice
