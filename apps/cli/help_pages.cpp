#include "help_pages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ellice::cli {

namespace {

std::string replaced(std::string text, const std::vector<std::pair<char, std::string_view>>& by) {
  std::string result;
  for (const char c : text) {
    const auto found =
        std::find_if(by.begin(), by.end(), [&](const auto& pair) { return pair.first == c; });
    if (found == by.end()) {
      result += c;
    } else {
      result += found->second;
    }
  }
  return result;
}

/// For roff: a backslash and a dash mean something everywhere, a dot and an apostrophe at the
/// beginning of a line.
std::string for_man(const std::string& text) {
  std::string result = replaced(text, {{'\\', "\\e"}, {'-', "\\-"}});
  for (std::size_t at = 0; at < result.size();
       at = result.find('\n', at), at += at < result.size()) {
    if (result[at] == '.' || result[at] == '\'') result.insert(at, "\\&");
  }
  return result;
}

std::string in_quotes(const std::string& text) {  // of a shell
  return "'" + replaced(text, {{'\'', "'\\''"}}) + "'";
}

/// Of a help text, what fits beside an option in a list.
std::string first_clause(const std::string& help) {
  return help.substr(0, std::min(help.find_first_of(";:("), help.size()));
}

void add_options(const VerbText& verb, std::string& page) {
  std::string group;
  for (const OptionText& option : verb.options) {
    if (option.is_positional) continue;
    if (option.group != group && option.group != "Options")
      page += fmt::format(".SS \"{}\"\n", for_man(option.group));
    group = option.group;
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back("\\fB" + for_man(name) + "\\fR");
    const std::string value = option.value.empty() ? "" : " \\fI" + for_man(option.value) + "\\fR";
    const std::string choices =
        option.choices.empty() ? "" : fmt::format(". One of: {}.", fmt::join(option.choices, ", "));
    page += fmt::format(".TP\n{}{}\n{}{}\n", fmt::join(names, ", "), value, for_man(option.help),
                        for_man(choices));
  }
}

std::vector<std::string> option_names(const VerbText& verb) {
  std::vector<std::string> result = {"--help", "--help-all"};
  for (const OptionText& option : verb.options) {
    if (!option.is_positional)
      result.insert(result.end(), option.names.begin(), option.names.end());
  }
  return result;
}

std::vector<std::string> verb_names(const std::vector<VerbText>& verbs) {
  std::vector<std::string> result;
  for (const VerbText& verb : verbs) {
    if (!verb.name.empty()) result.push_back(verb.name);
  }
  return result;
}

/// What a positional argument that is no file may be: verbs and shells.
std::vector<std::string> words_of(const VerbText& verb) {
  std::vector<std::string> result;
  for (const OptionText& option : verb.options) {
    if (option.is_positional)
      result.insert(result.end(), option.choices.begin(), option.choices.end());
  }
  return result;
}

}  // namespace

std::string manual_page(const std::vector<VerbText>& verbs, std::string_view version) {
  const bool is_whole = verbs.size() != 1;
  const VerbText& first = verbs.front();
  const std::string name = is_whole ? "ellice" : "ellice-" + first.name;
  std::string page =
      fmt::format(".TH \"{}\" 1 \"\" \"ellice {}\" \"User Commands\"\n", name, version);
  page += fmt::format(
      ".SH NAME\n{} \\- {}\n", for_man(name),
      is_whole ? "what to change so that a no becomes a yes that lasts" : for_man(first.help));
  page += ".SH SYNOPSIS\n";
  for (const VerbText& verb : verbs) {
    if (verb.name.empty()) continue;
    page += fmt::format(".B ellice {}\n[options]", for_man(verb.name));
    for (const OptionText& option : verb.options) {
      if (option.is_positional) page += fmt::format(" \\fI{}\\fR", for_man(option.names.front()));
    }
    page += "\n.br\n";
  }
  if (is_whole) page += fmt::format(".SH DESCRIPTION\n{}\n", for_man(first.help));
  for (const VerbText& verb : verbs) {
    if (verb.name.empty()) continue;
    page += is_whole
                ? fmt::format(".SH \"ELLICE {}\"\n{}\n", for_man(verb.name), for_man(verb.help))
                : std::string(".SH OPTIONS\n");
    add_options(verb, page);
    if (!verb.footer.empty()) page += fmt::format(".PP\n.nf\n{}\n.fi\n", for_man(verb.footer));
  }
  if (is_whole && !first.footer.empty())
    page += fmt::format(".SH EXAMPLES AND EXIT STATUS\n.nf\n{}\n.fi\n", for_man(first.footer));
  return page;
}

std::string bash_completion(const std::vector<VerbText>& verbs) {
  std::string text =
      "# Completion of ellice for bash; `ellice completion bash` prints it.\n"
      "_ellice() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
      "verb=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n";
  text += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W \"{} --help --version\" -- "
      "\"$cur\"))\n    return\n  fi\n  case \"$verb $prev\" in\n",
      fmt::join(verb_names(verbs), " "));
  for (const VerbText& verb : verbs) {
    for (const OptionText& option : verb.options) {
      if (option.is_positional || option.choices.empty()) continue;
      for (const std::string& name : option.names) {
        text +=
            fmt::format("    \"{} {}\") COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n",
                        verb.name, name, fmt::join(option.choices, " "));
      }
    }
  }
  text += "  esac\n  case \"$verb\" in\n";
  for (const VerbText& verb : verbs) {
    if (verb.name.empty()) continue;
    const std::vector<std::string> words = words_of(verb);
    text += fmt::format(
        "    {}) if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return; "
        "fi{} ;;\n",
        verb.name, fmt::join(option_names(verb), " "),
        words.empty() ? ""
                      : fmt::format("; COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return",
                                    fmt::join(words, " ")));
  }
  text +=
      "  esac\n  compopt -o filenames\n  COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
      "complete -F _ellice ellice\n";
  return text;
}

std::string zsh_completion(const std::vector<VerbText>& verbs) {
  const auto quoted = [](const std::string& help) {  // inside '…[…]'
    return replaced(first_clause(help), {{'\'', "'\\''"}, {'[', "\\["}, {']', "\\]"}});
  };
  std::string text =
      "#compdef ellice\n# Completion of ellice for zsh; `ellice completion zsh` prints it.\n"
      "_ellice() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbText& verb : verbs) {
    if (verb.name.empty()) continue;
    text += "    " + in_quotes(verb.name + ":" + replaced(verb.help, {{':', "\\:"}})) + "\n";
  }
  text +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe verb verbs\n    return\n  fi\n"
      "  local verb=$words[2]\n  shift words\n  ((CURRENT--))\n  case $verb in\n";
  for (const VerbText& verb : verbs) {
    if (verb.name.empty()) continue;
    text += fmt::format("    {})\n      _arguments '--help[shows help]' '--help-all[shows all]'",
                        verb.name);
    for (const OptionText& option : verb.options) {
      if (option.is_positional) continue;
      for (const std::string& name : option.names) {
        std::string value;
        if (!option.value.empty()) {
          value = fmt::format(":{}:{}", replaced(option.value, {{':', "\\:"}, {'\'', ""}}),
                              option.choices.empty()
                                  ? "_files"
                                  : fmt::format("({})", fmt::join(option.choices, " ")));
        }
        text += fmt::format(" \\\n        '{}[{}]{}'", name, quoted(option.help), value);
      }
    }
    const std::vector<std::string> words = words_of(verb);
    text += words.empty() ? " \\\n        '*:file:_files' ;;\n"
                          : fmt::format(" \\\n        '*:word:({})' ;;\n", fmt::join(words, " "));
  }
  text += "  esac\n}\n_ellice \"$@\"\n";
  return text;
}

std::string fish_completion(const std::vector<VerbText>& verbs) {
  std::string text = "# Completion of ellice for fish; `ellice completion fish` prints it.\n";
  const std::string all = fmt::format("{}", fmt::join(verb_names(verbs), " "));
  for (const VerbText& verb : verbs) {
    if (verb.name.empty()) continue;
    text +=
        fmt::format("complete -c ellice -f -n 'not __fish_seen_subcommand_from {}' -a {} -d {}\n",
                    all, verb.name, in_quotes(verb.help));
    const std::string here = fmt::format("'__fish_seen_subcommand_from {}'", verb.name);
    for (const OptionText& option : verb.options) {
      if (option.is_positional) continue;
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      std::string value;
      if (!option.choices.empty()) {
        value = fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
      } else if (!option.value.empty()) {
        value = " -r";
      }
      text += fmt::format("complete -c ellice -n {}{}{} -d {}\n", here, names, value,
                          in_quotes(first_clause(option.help)));
    }
    for (const std::string& word : words_of(verb))
      text += fmt::format("complete -c ellice -f -n {} -a {}\n", here, word);
  }
  return text;
}

}  // namespace ellice::cli
