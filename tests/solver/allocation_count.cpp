#include "solver/allocation_count.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#ifdef __has_feature  // Clang's way to say it
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ELLICE_SANITIZED
#endif
#endif

#if defined(__GLIBC__) && !defined(ELLICE_SANITIZED) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<std::size_t> count = 0;
}

// The program's own definitions take precedence over the C library's, which remain reachable under
// their internal names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t number, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  ++count;
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
  ++count;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  ++count;
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : ENOMEM;
}
}

std::optional<std::size_t> ellice::allocation_count() {
  return count.load();
}

#else

std::optional<std::size_t> ellice::allocation_count() {
  return std::nullopt;
}

#endif
