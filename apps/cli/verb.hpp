#pragma once

// What the verbs have in common. Each verb is one file with one function that adds it to the
// program.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "console.hpp"
#include "ellice/core/fields.hpp"

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
  bool quiet = false;
  LogLevel log_level = LogLevel::info;

  static void fields(auto& self, auto&& visit) {
    visit("threads", self.threads, at_least(0),
          "threads to use, 0 for one per core; never changes a result");
    visit("seed", self.seed, any_value(), "seed of every random choice");
    visit("quiet", self.quiet, any_value(), "errors only on standard error");
    visit("log_level", self.log_level, any_value(), "what is said on standard error");
  }
  [[nodiscard]] Console console() const { return Console(quiet ? LogLevel::error : log_level); }
};

enum class OutputFormat { table, json };

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::OutputFormat> {
  static constexpr std::array<std::string_view, 2> names = {"table", "json"};
};

namespace ellice::cli {

/// What a verb leaves for main() to run once the command line is understood.
using Job = std::function<ExitStatus()>;

/// Why the text will not do as a number of type F in this range; empty if it will. CLI11 alone
/// would take -1 for a seed, by wrapping around, and cut off what exceeds the type.
template <class F>
[[nodiscard]] std::string number_fault(const std::string& text, const Range& range) {
  F value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && range.contains(static_cast<double>(value))) return "";
  std::string expected = std::is_integral_v<F> ? "a whole number" : "a finite number";
  if (std::isfinite(range.lower) || std::isfinite(range.upper)) {
    expected += " " + range.text();
  } else if (std::is_unsigned_v<F>) {
    expected += fmt::format(" from 0 to {}", std::numeric_limits<F>::max());
  }
  return fmt::format("found \"{}\", expected {}", text, expected);
}

/// An option whose values are the names of an enum.
template <class E>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, E& value, const std::string& help) {
  const std::vector<std::string> names(EnumNames<E>::names.begin(), EnumNames<E>::names.end());
  return app
      .add_option_function<std::string>(
          flag, [&value](const std::string& chosen) { value = *enum_from_name<E>(chosen); }, help)
      ->check(CLI::IsMember(names))
      ->default_str(std::string(enum_name(value)));
}

/// One option per field of `options`: --max-iterations for max_iterations, --[no-]balance for a
/// flag. `group` is the heading under which --help lists them.
template <class T>
void add_flags(CLI::App& app, T& options, const std::vector<std::string_view>& skip = {},
               const std::string& group = "Options") {
  T::fields(options, [&]<class F>(std::string_view name, F& value, const Range& range,
                                  std::string_view text) {
    if (std::find(skip.begin(), skip.end(), name) != skip.end()) return;
    std::string flag = "--" + std::string(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    std::string help(text);
    if (std::isfinite(range.lower) || std::isfinite(range.upper)) {
      help += fmt::format(" ({})", range.text());
    }
    CLI::Option* option = nullptr;
    if constexpr (std::is_same_v<F, bool>) {
      option = app.add_flag(fmt::format("{},!--no-{}", flag, flag.substr(2)), value, help)
                   ->default_str(value ? "true" : "false");
    } else if constexpr (std::is_enum_v<F>) {
      option = add_choice(app, flag, value, help);
    } else if constexpr (std::is_same_v<F, std::vector<int>>) {
      option = app.add_option(flag, value, help)->delimiter(',')->default_str(field_text(value));
      option->check([range](const std::string& given) { return number_fault<int>(given, range); });
    } else if constexpr (IsOptional<F>::value) {
      option = app.add_option(flag, value, help);
      option->check([range](const std::string& given) {
        return number_fault<typename F::value_type>(given, range);
      });
    } else {
      option = app.add_option(flag, value, help)->default_str(field_text(value));
      if constexpr (std::is_arithmetic_v<F>) {
        option->check([range](const std::string& given) { return number_fault<F>(given, range); });
      }
    }
    option->group(group);
  });
}

/// --format table|json for a verb whose result has both forms.
inline void add_format(CLI::App& app, OutputFormat& format) {
  add_choice(app, "--format", format, "form of the result");
}

void add_calibrate(CLI::App& program, Job& job);
void add_demo(CLI::App& program, Job& job);
void add_epsilon(CLI::App& program, Job& job);
void add_evaluate(CLI::App& program, Job& job);
void add_explain(CLI::App& program, Job& job);
void add_frontier(CLI::App& program, Job& job);
void add_schema(CLI::App& program, Job& job);
void add_study(CLI::App& program, Job& job);
void add_train(CLI::App& program, Job& job);
void add_verify(CLI::App& program, Job& job);
void add_options(CLI::App& program, Job& job);

}  // namespace ellice::cli
