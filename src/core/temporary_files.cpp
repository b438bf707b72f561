#include "core/temporary_files.hpp"

#include <unistd.h>

#include <mutex>
#include <set>

namespace ellice {

namespace {

std::mutex mutex;

/// Never destroyed: a thread may ask while the process ends.
std::set<std::string>& paths() {
  static auto* const all = new std::set<std::string>;
  return *all;
}

}  // namespace

void TemporaryFiles::add(const std::string& path) {
  const std::lock_guard lock(mutex);
  paths().insert(path);
}

void TemporaryFiles::forget(const std::string& path) {
  const std::lock_guard lock(mutex);
  paths().erase(path);
}

void TemporaryFiles::remove_all() {
  const std::lock_guard lock(mutex);
  for (const std::string& path : paths()) ::unlink(path.c_str());
  paths().clear();
}

}  // namespace ellice
