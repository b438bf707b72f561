#include "program.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "core/memory.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/version.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/solver/cbc.hpp"
#include "help_pages.hpp"
#include "interruption.hpp"

namespace ellice::cli {

namespace {

std::string version_text() {
  const Version& v = version();
  return fmt::format("ellice {} ({})\ncompiler  {}\nbuild     {}\npackages  {}", v.number, v.commit,
                     v.compiler, v.build, v.packages);
}

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::argument:
      return wrong_usage;
    case ErrorCode::input:
      return bad_input;
    case ErrorCode::cancelled:
      return interrupted_status();
    case ErrorCode::output:
    case ErrorCode::internal:
      break;
  }
  return internal_failure;
}

/// `ellice help VERB` is `ellice VERB --help`.
std::vector<const char*> with_help_last(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (words.size() > 1 && std::string_view(words[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  return words;
}

/// Throws Error{argument} with a suggestion for a verb that there is not.
void require_verb(const CommandLine& line, const std::string& name) {
  std::vector<std::string> names;
  for (const VerbText& verb : line.texts())
    if (!verb.name.empty()) names.push_back(verb.name);
  require(std::find(names.begin(), names.end(), name) != names.end(), "there is no verb \"{}\"; {}",
          name, suggestion(name, names));
}

/// What is made from the texts of all other verbs.
void add_help_verbs(CommandLine& line, Job& job) {
  Verb& program = line.program();
  auto word = std::make_shared<std::string>();
  program.add_subcommand("help", "the options of a verb, as its --help")
      ->add_option("verb", *word, "verb");
  Verb* const completion =
      program.add_subcommand("completion", "what a shell reads to complete verbs and options");
  completion->add_option("shell", *word, "shell")->required()->one_of({"bash", "zsh", "fish"});
  completion->footer(
      "Examples:\n"
      "  ellice completion bash > ~/.local/share/bash-completion/completions/ellice\n"
      "  ellice completion fish > ~/.config/fish/completions/ellice.fish");
  completion->callback([&line, &job, word] {
    job = [&line, word] {
      const std::vector<VerbText> texts = line.texts();
      write_file("-", *word == "bash"  ? bash_completion(texts)
                      : *word == "zsh" ? zsh_completion(texts)
                                       : fish_completion(texts));
      return done;
    };
  });
  Verb* const man = program.add_subcommand("man", "the manual page, whole or of one verb");
  man->add_option("verb", *word, "verb");
  man->footer("Examples:\n  ellice man explain | man -l -");
  man->callback([&line, &job, word] {
    job = [&line, word] {
      std::vector<VerbText> texts = line.texts();
      if (!word->empty()) {
        require_verb(line, *word);
        std::erase_if(texts, [&](const VerbText& verb) { return verb.name != *word; });
      }
      write_file("-", manual_page(texts, version().number));
      return done;
    };
  });
}

}  // namespace

int run_program(int argc, char** argv, const std::vector<ListedVerb>& verbs) {
  hold_standard_streams();
  use_cbc();
  const Console console(LogLevel::error);
  CommandLine line(
      "ellice",
      "Tells people what to change so that a model's no becomes a yes that lasts: for every model "
      "whose "
      "training objective is close to the best.",
      version_text(),
      "Examples:\n"
      "  ellice train --dataset lending -o m.json         train on the embedded data\n"
      "  ellice schema loans.csv --target approved --favourable yes -o loans.yaml\n"
      "  ellice train loans.csv --schema loans.yaml -o m.json\n"
      "  ellice verify m.json certificate.json            re-check a certificate\n"
      "\n"
      "`ellice help VERB` shows the options of a verb that most people need, `ellice VERB "
      "--help-all` all.\n"
      "Exit status: 0 done, 1 internal or write failure, 2 wrong usage, 3 bad input, 4 a "
      "certificate failed, 130 stopped by Ctrl-C, 143 by SIGTERM (129 by SIGHUP): within half a "
      "second, and what is finished is kept.");
  Verb& program = line.program();
  Job job;
  for (const ListedVerb& verb : verbs) {
    if (verb.add != nullptr) {
      verb.add(program, job);
    } else {
      program.add_subcommand(verb.name, verb.help)->callback([&job, name = verb.name] {
        job = [name]() -> ExitStatus {
          fail(ErrorCode::argument, "the verb {} must come first: `ellice {}`", name, name);
        };
      });
    }
  }
  add_help_verbs(line, job);
  const std::vector<const char*> words = with_help_last(argc, argv);
  try {
    if (argc > 2 && std::string_view(argv[1]) == "help" && argv[2][0] != '-')
      require_verb(line, argv[2]);
    if (const std::optional<int> status = line.parse(static_cast<int>(words.size()), words.data()))
      return *status;
    listen_for_signals();
    const StopScope scope(&stop_flag());
    return job();
  } catch (const Error& error) {
    console.error(error.code() == ErrorCode::cancelled ? "interrupted" : error.what());
    return exit_status(error.code());
  } catch (const std::bad_alloc&) {
    console.error(
        fmt::format("out of memory: {} may be used (--memory-limit)", memory_text(memory_limit())));
    return internal_failure;
  } catch (const std::exception& error) {
    console.error(fmt::format("internal failure: {}", error.what()));
    return internal_failure;
  }
}

}  // namespace ellice::cli
