#pragma once

// How sums over many rows are cut: into chunks for threads and blocks for caches, by the number of
// rows alone, so that a sum is the same for any number of threads.

#include <algorithm>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

// Rows that are scored, weighted and handed to BLAS together: the scaled copy of a block stays in
// the second-level cache for a few hundred columns.
inline constexpr Index block_rows = 256;

struct RowChunk {
  Index first = 0;
  Index count = 0;
};

/// Large enough that starting a chunk costs nothing, few enough that their Hessians need little
/// memory.
[[nodiscard]] inline std::vector<RowChunk> row_chunks(Index rows) {
  constexpr Index smallest_chunk = 8 * block_rows;
  constexpr Index most_chunks = 64;
  const Index size = std::max(smallest_chunk, (rows + most_chunks - 1) / most_chunks);
  std::vector<RowChunk> chunks;
  for (Index first = 0; first < rows; first += size)
    chunks.push_back({.first = first, .count = std::min(size, rows - first)});
  return chunks;
}

/// Additions that one row's loss takes part in, at most: inside its block, of blocks and of chunks.
[[nodiscard]] inline double summation_depth(Index rows) {
  constexpr Index within_block = 64;
  const std::vector<RowChunk> chunks = row_chunks(rows);
  const Index blocks = chunks.empty() ? 0 : (chunks.front().count + block_rows - 1) / block_rows;
  return static_cast<double>(within_block + blocks + static_cast<Index>(chunks.size()));
}

}  // namespace ellice
