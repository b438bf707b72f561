#pragma once

// What the two programs have in common. `ellice` has the verbs that most people need;
// `ellice-study`, which few build, has all of them, and `ellice` hands over to it for the others.

#include <vector>

#include "verb.hpp"

namespace ellice::cli {

/// A verb of this program, or the name of one that only ellice-study has.
struct ListedVerb {
  void (*add)(Verb& program, Job& job) = nullptr;
  const char* name = "";  // without add
  const char* help = "";
};

/// Reads the command line and does what it asks; gives the exit status. The verbs stand in the
/// order of --help.
[[nodiscard]] int run_program(int argc, char** argv, const std::vector<ListedVerb>& verbs);

}  // namespace ellice::cli
