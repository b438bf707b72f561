#include "core/temporary_files.hpp"

#include <filesystem>
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
  for (const std::string& path : paths()) {
    // Of a folder more than once: other threads may still write into it.
    std::error_code error;
    for (int i = 0; i < 3; ++i) std::filesystem::remove_all(path, error);
  }
  paths().clear();
}

}  // namespace ellice
