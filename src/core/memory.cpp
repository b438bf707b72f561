#include "core/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>

namespace ellice {

namespace {

std::atomic<double> given_limit = 0;  // 0: none

/// What a container may use, where this is one; else infinity by the machine's own memory.
double machine_memory() {
  const double own = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double of_container = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");  // a number, or "max"
  if (file >> of_container && of_container > 0) return std::min(own, of_container);
  return own;
}

}  // namespace

double memory_limit() {
  const double given = given_limit;
  return given > 0 ? given : 0.9 * machine_memory();
}

void set_memory_limit(double bytes) {
  given_limit = bytes;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(bytes);
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_DATA, &limit);
}

std::string memory_text(double bytes) {
  if (bytes < 1e9) return fmt::format("{:.0f} MB", std::max(1.0, bytes / 1e6));
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace ellice
