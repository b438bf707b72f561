#pragma once

// The command line as the verbs see it. CLI11 reads it, and only command_line.cpp includes CLI11,
// which takes longer to compile than any of the verbs.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/core/fields.hpp"
#include "flag_text.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is that of CLI11
class App;
class Option;
}  // namespace CLI

namespace ellice::cli {

/// Why a text will not do as a value; empty if it will.
using Check = std::function<std::string(const std::string&)>;

/// What --help says of a field: its text and its range.
[[nodiscard]] std::string field_help(std::string_view text, const Range& range);

/// What there is to say of an option; manual pages and completions are made from it.
struct OptionText {
  std::vector<std::string> names = {};  // with their dashes; of a positional argument its name
  std::string value = {};               // what follows it; empty for flags
  std::string help = {};
  std::string group = {};
  std::vector<std::string> choices = {};
  bool is_positional = false;
};

struct VerbText {
  std::string name = {};
  std::string help = {};
  std::string footer = {};
  std::vector<OptionText> options = {};
};

/// A flag, an option or a positional argument of a verb, which owns it. The calls chain.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option* required();
  Option* type_name(const std::string& name);  // instead of TEXT in --help
  Option* group(const std::string& heading);   // under which --help lists it
  Option* check(const Check& check);
  Option* one_of(const std::vector<std::string>& names);
  Option* between(int least, int most);
  Option* delimiter(char delimiter);     // between several values in one argument
  Option* allow_extra_args(bool allow);  // several arguments after one flag
  Option* default_str(const std::string& text);
  Option* capture_default_str();  // the value that the variable has now

  [[nodiscard]] std::size_t count() const;  // how often it was given
  [[nodiscard]] OptionText text() const;

 private:
  friend class Verb;

  CLI::Option* option_;
  std::vector<std::string> choices_;
};

/// A verb, or the program itself, which has verbs. Variables that are bound must outlive it.
class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  Verb(Verb&&) = delete;
  Verb& operator=(Verb&&) = delete;
  ~Verb() = default;

  Verb* add_subcommand(const std::string& name, const std::string& help);

  /// T is a number, a text, an optional of them or a list: those that command_line.cpp lists.
  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& help);

  /// As add_option, with the field's range and its default, if it has one.
  template <class T>
  Option* add_field(const std::string& names, T& value, const Range& range,
                    const std::string& help);

  /// An option that takes one of the names and hands it on.
  Option* add_choice(const std::string& names, const std::vector<std::string>& choices,
                     const std::function<void(const std::string&)>& take, const std::string& help);

  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  Option* add_flag_callback(const std::string& names, const std::function<void()>& call,
                            const std::string& help);

  /// The options that --help shows, by their long names; --help-all shows the others, too. Without
  /// this call --help shows all.
  void principal(std::vector<std::string> names) { principal_ = std::move(names); }
  void footer(const std::string& text);
  void callback(const std::function<void()>& call);  // once this verb is what was asked for

  [[nodiscard]] bool gives(const std::string& option) const;  // whether the user wrote it
  [[nodiscard]] bool chose_subcommand() const;

  [[nodiscard]] VerbText text() const;
  [[nodiscard]] const std::deque<Verb>& verbs() const { return verbs_; }
  /// Leaves the principal options to --help.
  void hide_others();

 private:
  Option* keep(CLI::Option* option);

  CLI::App* app_;
  std::deque<Option> options_;
  std::deque<Verb> verbs_;
  std::vector<std::string> principal_;
};

/// The whole program's command line.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help, const std::string& version,
              const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  CommandLine(CommandLine&&) = delete;
  CommandLine& operator=(CommandLine&&) = delete;

  [[nodiscard]] Verb& program() { return *program_; }

  /// The program itself, without a name, and its verbs.
  [[nodiscard]] std::vector<VerbText> texts() const;

  /// Binds the variables and calls the verb's callback; an exit status where --help or --version
  /// was all that was asked. Throws Error{argument} saying what is wrong and what may have been
  /// meant.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Verb> program_;
};

}  // namespace ellice::cli
