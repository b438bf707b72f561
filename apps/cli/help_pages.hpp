#pragma once

// What can be made from the texts of a command line: manual pages and completions of shells.

#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace ellice::cli {

/// The manual page ellice(1), or that of one verb, in the language of man.
[[nodiscard]] std::string manual_page(const std::vector<VerbText>& verbs, std::string_view version);

/// What a shell reads to complete verbs, options and their values.
[[nodiscard]] std::string bash_completion(const std::vector<VerbText>& verbs);
[[nodiscard]] std::string zsh_completion(const std::vector<VerbText>& verbs);
[[nodiscard]] std::string fish_completion(const std::vector<VerbText>& verbs);

}  // namespace ellice::cli
