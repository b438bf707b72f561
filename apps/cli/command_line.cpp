#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <sstream>
#include <type_traits>

#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/data/schema.hpp"

namespace ellice::cli {

namespace {

/// Why the text will not do as a number of type F in this range; empty if it will. CLI11 alone
/// would take -1 for a seed, by wrapping around, and cut off what exceeds the type.
template <class F>
std::string number_fault(const std::string& text, const Range& range) {
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

template <class F>
Check number_check(const Range& range) {
  return [range](const std::string& given) { return number_fault<F>(given, range); };
}

/// What is wrong with the command line, and what may have been meant. A verb or an option that
/// nobody knows comes first: whatever else is missing may be missing because of it.
std::string usage_fault(const CLI::App& program, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  const std::vector<std::string> unknown = program.remaining(true);
  std::vector<std::string> verbs;
  for (const CLI::App* const verb : program.get_subcommands({})) verbs.push_back(verb->get_name());
  if (!unknown.empty() && unknown.front().starts_with("--")) {
    std::vector<std::string> options;
    for (const CLI::Option* const option :
         (chosen.empty() ? &program : chosen.front())->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
    const std::string name = unknown.front().substr(0, unknown.front().find('='));
    return fmt::format("there is no option {}; {}", name, suggestion(name, options));
  }
  if (!chosen.empty() && error.get_exit_code() == int(CLI::ExitCodes::ArgumentMismatch)) {
    for (const CLI::Option* const option : chosen.front()->get_options()) {
      if (option->get_items_expected_max() == 1 && option->count() > 1)
        return fmt::format("{} stands {} times (\"{}\"); give it once", option->get_name(),
                           option->count(), fmt::join(option->results(), "\", \""));
    }
  }
  if (!chosen.empty()) return error.what();
  if (unknown.empty()) return fmt::format("a verb is needed: {}", fmt::join(verbs, ", "));
  return fmt::format("there is no verb \"{}\"; {}", unknown.front(),
                     suggestion(unknown.front(), verbs));
}

/// Refuses to write over a file that another argument names. `calibrate` completes its model file.
void keep_inputs(const CLI::App& verb) {
  const CLI::Option* const output = verb.get_option_no_throw("--output");
  if (output == nullptr || output->count() == 0 || verb.get_name() == "calibrate") return;
  const std::string path = output->results().front();
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return;
  for (const CLI::Option* other : verb.get_options()) {
    if (other == output) continue;
    for (const std::string& input : other->results()) {
      require(!std::filesystem::equivalent(input, path, unknown),
              "-o {} would replace a file that is read; name another one to write", path);
    }
  }
}

}  // namespace

std::string field_help(std::string_view text, const Range& range) {
  if (!std::isfinite(range.lower) && !std::isfinite(range.upper)) return std::string(text);
  return fmt::format("{} ({})", text, range.text());
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::group(const std::string& heading) {
  option_->group(heading);
  return this;
}

Option* Option::check(const Check& check) {
  option_->check(check);
  return this;
}

Option* Option::one_of(const std::vector<std::string>& names) {
  option_->check(CLI::Validator(
      [names](const std::string& value) {
        return std::find(names.begin(), names.end(), value) != names.end()
                   ? std::string()
                   : fmt::format("there is no \"{}\"; {}", value, suggestion(value, names));
      },
      fmt::format("{{{}}}", fmt::join(names, ","))));
  choices_ = names;
  return this;
}

Option* Option::between(int least, int most) {
  option_->check(CLI::Range(least, most));
  return this;
}

Option* Option::delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return this;
}

Option* Option::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}

Option* Option::default_str(const std::string& text) {
  option_->default_str(text);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

std::size_t Option::count() const {
  return option_->count();
}

OptionText Option::text() const {
  OptionText result{.help = option_->get_description(),
                    .group = option_->get_group(),
                    .choices = choices_,
                    .is_positional = option_->get_positional()};
  if (result.is_positional) {
    result.names.push_back(option_->get_name(true));
  } else {
    for (const std::string& name : option_->get_snames()) result.names.push_back("-" + name);
    for (const std::string& name : option_->get_lnames()) result.names.push_back("--" + name);
  }
  if (option_->get_items_expected_max() > 0) {
    result.value = option_->get_type_name();
    result.value.resize(std::min(result.value.size(), result.value.find(':')));
  }
  return result;
}

VerbText Verb::text() const {
  VerbText result{
      .name = app_->get_name(), .help = app_->get_description(), .footer = app_->get_footer()};
  for (const Option& option : options_) result.options.push_back(option.text());
  return result;
}

void Verb::hide_others() {
  for (Verb& verb : verbs_) verb.hide_others();
  if (principal_.empty()) return;
  std::size_t hidden = 0;
  for (Option& option : options_) {
    const OptionText text = option.text();
    const bool is_shown =
        text.is_positional ||
        std::any_of(text.names.begin(), text.names.end(), [&](const auto& name) {
          return std::find(principal_.begin(), principal_.end(), name) != principal_.end();
        });
    if (is_shown) {
      option.group("Options");
    } else {
      option.group("");
      ++hidden;
    }
  }
  app_->footer(fmt::format("{} more: `ellice {} --help-all`.\n\n{}", hidden, app_->get_name(),
                           app_->get_footer()));
}

Option* Verb::keep(CLI::Option* option) {
  for (const std::string& name : option->get_lnames()) remember_flag("--" + name);
  return &options_.emplace_back(*option);
}

Verb* Verb::add_subcommand(const std::string& name, const std::string& help) {
  return &verbs_.emplace_back(*app_->add_subcommand(name, help));
}

template <class T>
Option* Verb::add_option(const std::string& names, T& value, const std::string& help) {
  return keep(app_->add_option(names, value, help));
}

template <class T>
Option* Verb::add_field(const std::string& names, T& value, const Range& range,
                        const std::string& help) {
  Option* const option = add_option(names, value, help);
  if constexpr (IsOptional<T>::value) {
    return option->check(number_check<typename T::value_type>(range));
  } else {
    option->default_str(field_text(value));
    if constexpr (std::is_same_v<T, std::vector<int>>) {
      option->delimiter(',')->check(number_check<int>(range));
    } else if constexpr (std::is_arithmetic_v<T>) {
      option->check(number_check<T>(range));
    }
    return option;
  }
}

template Option* Verb::add_option(const std::string&, int&, const std::string&);
template Option* Verb::add_option(const std::string&, double&, const std::string&);
template Option* Verb::add_option(const std::string&, std::string&, const std::string&);
template Option* Verb::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option* Verb::add_option(const std::string&, std::vector<double>&, const std::string&);
template Option* Verb::add_option(const std::string&, std::vector<std::string>&,
                                  const std::string&);
template Option* Verb::add_field(const std::string&, int&, const Range&, const std::string&);
template Option* Verb::add_field(const std::string&, std::uint64_t&, const Range&,
                                 const std::string&);
template Option* Verb::add_field(const std::string&, double&, const Range&, const std::string&);
template Option* Verb::add_field(const std::string&, std::string&, const Range&,
                                 const std::string&);
template Option* Verb::add_field(const std::string&, std::optional<int>&, const Range&,
                                 const std::string&);
template Option* Verb::add_field(const std::string&, std::optional<double>&, const Range&,
                                 const std::string&);
template Option* Verb::add_field(const std::string&, std::vector<int>&, const Range&,
                                 const std::string&);

Option* Verb::add_choice(const std::string& names, const std::vector<std::string>& choices,
                         const std::function<void(const std::string&)>& take,
                         const std::string& help) {
  return keep(app_->add_option_function<std::string>(names, take, help))->one_of(choices);
}

Option* Verb::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep(app_->add_flag(names, value, help));
}

Option* Verb::add_flag_callback(const std::string& names, const std::function<void()>& call,
                                const std::string& help) {
  return keep(app_->add_flag_callback(names, call, help));
}

void Verb::footer(const std::string& text) {
  app_->footer(text);
}

void Verb::callback(const std::function<void()>& call) {
  app_->callback(call);
}

bool Verb::gives(const std::string& option) const {
  return app_->get_option(option)->count() > 0;
}

bool Verb::chose_subcommand() const {
  return !app_->get_subcommands().empty();
}

CommandLine::CommandLine(const std::string& name, const std::string& help,
                         const std::string& version, const std::string& footer)
    : app_(std::make_unique<CLI::App>(help, name)), program_(std::make_unique<Verb>(*app_)) {
  app_->set_help_flag("-h,--help", "shows this and ends");
  app_->set_help_all_flag("--help-all", "shows every option and ends");
  app_->set_version_flag("--version", version, "shows the version and ends");
  app_->require_subcommand(1);
  app_->footer(footer);
}

CommandLine::~CommandLine() = default;

std::vector<VerbText> CommandLine::texts() const {
  std::vector<VerbText> result = {program_->text()};
  result.front().name.clear();
  for (const Verb& verb : program_->verbs()) result.push_back(verb.text());
  return result;
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    for (const CLI::App* verb : app_->get_subcommands()) keep_inputs(*verb);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      if (error.get_name() == "CallForHelp") program_->hide_others();
      std::ostringstream text;
      const int status = app_->exit(error, text, text);
      write_file("-", text.str());
      return status;
    }
    const std::vector<CLI::App*> chosen = app_->get_subcommands();
    fail(ErrorCode::argument, "{}; see `{} {}--help`", usage_fault(*app_, error), app_->get_name(),
         chosen.empty() ? "" : chosen.front()->get_name() + " ");
  }
}

}  // namespace ellice::cli
