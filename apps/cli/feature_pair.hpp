#pragma once

#include <string>

#include "ellice/core/error.hpp"

namespace ellice::cli {

struct FeaturePair {
  std::string feature = {};
  std::string value = {};
};

/// «F=value», split at the last '=': names of features may contain one, values do not.
[[nodiscard]] inline FeaturePair split_feature_pair(const std::string& flag,
                                                    const std::string& text,
                                                    const std::string& example) {
  const std::size_t at = text.rfind('=');
  require(at != std::string::npos && at > 0 && at + 1 < text.size(),
          "{}: found \"{}\", expected e.g. {}", flag, text, example);
  return {.feature = text.substr(0, at), .value = text.substr(at + 1)};
}

}  // namespace ellice::cli
