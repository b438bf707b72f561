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

constexpr std::array<std::string_view, 3> other_verbs = {"compare", "evaluate", "study"};

bool is_other(std::string_view word) {
  return std::find(other_verbs.begin(), other_verbs.end(), word) != other_verbs.end();
}

/// Where ellice-study stands, which knows all verbs.
std::string study_program() {
  std::error_code unknown;  // then the name alone is tried, and the message shows it
  return (std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / "ellice-study")
      .string();
}

bool is_for_study(int argc, char** argv) {
  if (argc < 2) return false;
  const std::string_view first = argv[1];
  if (first == "help") return argc > 2 && is_other(argv[2]);
  // Made from the texts of all verbs, if they are there.
  if (first == "man" || first == "completion") return ::access(study_program().c_str(), X_OK) == 0;
  return is_other(first);
}

/// Becomes ellice-study, which stands beside this program; returns only if that cannot be.
int hand_over(char** argv) {
  const std::string program = study_program();
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
  if (is_for_study(argc, argv)) return hand_over(argv);
  return run_program(argc, argv,
                     {{.add = add_demo},
                      {.add = add_schema},
                      {.add = add_train},
                      {.add = add_import},
                      {.add = add_explain},
                      {.add = add_verify},
                      {.name = "compare", .help = compare_help},
                      {.add = add_frontier},
                      {.add = add_shapes},
                      {.add = add_epsilon},
                      {.add = add_calibrate},
                      {.add = add_serve},
                      {.name = "evaluate", .help = evaluate_help},
                      {.name = "study", .help = study_help},
                      {.add = add_options}});
}
