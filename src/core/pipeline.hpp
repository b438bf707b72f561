#pragma once

// Work on a stream whose order stays: pieces are taken one after the other, worked on side by side,
// and given away in the order in which they were taken.

#include <cstddef>
#include <functional>

namespace ellice {

/// What is done to each piece. A piece lives in one of a fixed number of places, so that memory
/// does not grow with the stream; its place is used again when it was given away.
struct Stages {
  /// Makes the next piece; false: there is none. One at a time, in order.
  std::function<bool(std::size_t place)> take = {};
  /// Pieces in different places at once.
  std::function<void(std::size_t place)> work = {};
  /// One at a time, in order; also while another piece is being taken.
  std::function<void(std::size_t place)> give = {};
};

/// Runs the stages on up to `threads` threads (0: one per core), each of which takes a piece and
/// works on it, and gives away whatever is next in order. Returns when all pieces are given away.
/// If a stage throws, no piece is taken any more, those before are given away, and the exception of
/// the first piece is rethrown, so that the error is the same for any number of threads. A stop
/// counts as the exception of the piece that is not taken any more.
void run_in_order(std::size_t places, int threads, const Stages& stages);

}  // namespace ellice
