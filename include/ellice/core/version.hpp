#pragma once

#include <string>

namespace ellice {

/// Where a program came from; stamped into what `ellice --version` prints.
struct Version {
  std::string number = {};    // semantic version
  std::string commit = {};    // of the sources; "unknown" outside a git checkout
  std::string compiler = {};  // name and version
  std::string build = {};     // build type and instruction set
  std::string packages = {};  // versions of the numerical packages in use
};

[[nodiscard]] const Version& version();

}  // namespace ellice
