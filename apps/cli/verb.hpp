#pragma once

// What the verbs have in common. Each verb is one file with one function that adds it to the
// program.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "command_line.hpp"
#include "console.hpp"
#include "core/memory.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/file.hpp"

namespace ellice::cli {

/// Exit statuses, a contract with scripts.
enum ExitStatus : int {
  done = 0,
  internal_failure = 1,
  wrong_usage = 2,
  bad_input = 3,
  not_certified = 4
};

/// Options that every verb takes.
struct CommonOptions {
  int threads = 0;
  std::uint64_t seed = 0;
  std::optional<double> memory_limit = {};
  bool quiet = false;
  LogLevel log_level = LogLevel::info;

  static void fields(auto& self, auto&& visit) {
    visit("threads", self.threads, at_least(0),
          "threads to use, 0 for one per core; never changes a result");
    visit("seed", self.seed, any_value(), "seed of every random choice");
    visit("memory_limit", self.memory_limit, at_least(0.25),
          "GB of memory that may be used (default: nine tenths of the machine's); training that "
          "needs more is refused before it begins");
    visit("quiet", self.quiet, any_value(), "errors only on standard error");
    visit("log_level", self.log_level, any_value(), "what is said on standard error");
  }
  [[nodiscard]] Console console() const { return Console(quiet ? LogLevel::error : log_level); }
};

/// What every verb begins with: its common options are checked and take effect.
[[nodiscard]] inline Console begin(const CommonOptions& common) {
  validate(common, "options");
  if (common.memory_limit) set_memory_limit(1e9 * *common.memory_limit);
  return common.console();
}

enum class OutputFormat { table, json };

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::OutputFormat> {
  static constexpr std::array<std::string_view, 2> names = {"table", "json"};
};

namespace ellice::cli {

/// What a verb leaves for main() to run once the command line is understood.
using Job = std::function<ExitStatus()>;

/// An option whose values are the names of an enum.
template <class E>
Option* add_choice(Verb& verb, const std::string& flag, E& value, const std::string& help) {
  const std::vector<std::string> names(EnumNames<E>::names.begin(), EnumNames<E>::names.end());
  return verb
      .add_choice(
          flag, names, [&value](const std::string& chosen) { value = *enum_from_name<E>(chosen); },
          help)
      ->default_str(std::string(enum_name(value)));
}

/// One option per field of `options`: --max-iterations for max_iterations, --[no-]balance for a
/// flag. `group` is the heading under which --help lists them.
template <class T>
void add_flags(Verb& verb, T& options, const std::vector<std::string_view>& skip = {},
               const std::string& group = "Options") {
  T::fields(options, [&]<class F>(std::string_view name, F& value, const Range& range,
                                  std::string_view text) {
    if (std::find(skip.begin(), skip.end(), name) != skip.end()) return;
    const std::string flag = field_flag(name);
    const std::string help = field_help(text, range);
    Option* option = nullptr;
    if constexpr (std::is_same_v<F, bool>) {
      option = verb.add_flag(flag + ",!--no-" + flag.substr(2), value, help)
                   ->default_str(value ? "true" : "false");
    } else if constexpr (std::is_enum_v<F>) {
      option = add_choice(verb, flag, value, help);
    } else {
      option = verb.add_field(flag, value, range, help);
    }
    option->group(group);
  });
}

/// --format table|json for a verb whose result has both forms.
inline void add_format(Verb& verb, OutputFormat& format) {
  add_choice(verb, "--format", format, "form of the result");
}

/// What is said of a file that was written to `output`: on standard output, unless that holds the
/// file itself.
inline void report_beside(const std::string& output, const std::string& text,
                          const Console& console) {
  if (output == "-") {
    console.info(text);
  } else {
    write_file("-", text);
  }
}

/// -o for a verb that writes one file, or to standard output.
inline void add_output(Verb& verb, std::string& output) {
  verb.add_option("-o,--output", output, "file to write, or - for standard output")
      ->capture_default_str();
}

inline constexpr const char* compare_help =
    "how far a new model is from the old one, and which promises it keeps";
inline constexpr const char* evaluate_help =
    "judge counterfactuals, ours or anybody's, by models that could be in force";
inline constexpr const char* study_help = "run the paper's experiments: tables and figures";

void add_calibrate(Verb& program, Job& job);
void add_compare(Verb& program, Job& job);
void add_demo(Verb& program, Job& job);
void add_epsilon(Verb& program, Job& job);
void add_evaluate(Verb& program, Job& job);
void add_explain(Verb& program, Job& job);
void add_frontier(Verb& program, Job& job);
void add_import(Verb& program, Job& job);
void add_schema(Verb& program, Job& job);
void add_serve(Verb& program, Job& job);
void add_shapes(Verb& program, Job& job);
void add_study(Verb& program, Job& job);
void add_train(Verb& program, Job& job);
void add_verify(Verb& program, Job& job);
void add_options(Verb& program, Job& job);

}  // namespace ellice::cli
