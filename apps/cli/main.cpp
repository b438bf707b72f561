#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "program.hpp"

namespace {

using namespace ellice;
using namespace ellice::cli;

constexpr std::array<std::string_view, 2> other_verbs = {"evaluate", "study"};

/// Becomes ellice-study, which stands beside this program; returns only if that cannot be.
int hand_over(char** argv) {
  std::error_code unknown;  // then the name alone is tried, and the message shows it
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / "ellice-study")
          .string();
  ::execv(program.c_str(), argv);
  Console(LogLevel::error)
      .error(fmt::format(
          "`ellice {}` is done by the program {}, which cannot be run ({}): ./ellice of a checkout "
          "builds it, as does the target ellice_study_cli; an installed package has both",
          argv[1], program, std::strerror(errno)));
  return internal_failure;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::find(other_verbs.begin(), other_verbs.end(), argv[1]) != other_verbs.end()) {
    return hand_over(argv);
  }
  return run_program(argc, argv,
                     {{.add = add_demo},
                      {.add = add_schema},
                      {.add = add_train},
                      {.add = add_explain},
                      {.add = add_verify},
                      {.add = add_frontier},
                      {.add = add_epsilon},
                      {.add = add_calibrate},
                      {.name = "evaluate", .help = evaluate_help},
                      {.name = "study", .help = study_help},
                      {.add = add_options}});
}
