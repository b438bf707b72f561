#include "core/product_tiles.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/error.hpp"

namespace ellice::blas {

namespace {

std::vector<const TileKernel*> available() {
  std::vector<const TileKernel*> result;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") != 0) result.push_back(&avx512_tiles);
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    result.push_back(&avx2_tiles);
  }
#endif
  result.push_back(&plain_tiles);
  return result;
}

const TileKernel& choose() {
  const char* wanted = std::getenv("ELLICE_KERNEL");  // NOLINT(concurrency-mt-unsafe): only read
  std::string names;
  for (const TileKernel* kernel : tile_kernels()) {
    if (wanted == nullptr || std::string_view(wanted) == kernel->name) return *kernel;
    names += (names.empty() ? "" : ", ") + std::string(kernel->name);
  }
  fail(ErrorCode::argument,
       "ELLICE_KERNEL = '{}' in the environment is none of what this processor has: {}", wanted,
       names);
}

}  // namespace

std::span<const TileKernel* const> tile_kernels() {
  static const std::vector<const TileKernel*> kernels = available();
  return kernels;
}

const TileKernel& chosen_tile_kernel() {
  static const TileKernel& chosen = choose();
  return chosen;
}

}  // namespace ellice::blas
