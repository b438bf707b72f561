#pragma once

#include <string>

namespace ellice {

/// The temporary files and folders of this process that exist now: whoever ends it before its time
/// (a signal that the work did not hear) removes them first. Threads may call these at the same
/// time.
class TemporaryFiles {
 public:
  static void add(const std::string& path);
  static void forget(const std::string& path);
  static void remove_all();
};

}  // namespace ellice
