#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "ellice/core/error.hpp"
#include "ellice/core/version.hpp"
#include "ellice/data/schema.hpp"
#include "verb.hpp"

namespace {

using namespace ellice;
using namespace ellice::cli;

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
      return 130;  // the shell's convention for Ctrl-C
    case ErrorCode::output:
    case ErrorCode::internal:
      break;
  }
  return internal_failure;
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
  if (!chosen.empty()) return error.what();
  if (unknown.empty()) return fmt::format("a verb is needed: {}", fmt::join(verbs, ", "));
  return fmt::format("there is no verb \"{}\"; {}", unknown.front(),
                     suggestion(unknown.front(), verbs));
}

int run(int argc, char** argv) {
  const Console console(LogLevel::error);
  CLI::App program(
      "Tells people what to change so that a model's no becomes a yes that lasts: for every model "
      "whose "
      "training objective is close to the best.",
      "ellice");
  program.set_version_flag("--version", version_text());
  program.require_subcommand(1);
  program.footer(
      "Examples:\n"
      "  ellice train --dataset lending -o m.json         train on the embedded data\n"
      "  ellice schema loans.csv --target approved --favourable yes -o loans.yaml\n"
      "  ellice train loans.csv --schema loans.yaml -o m.json\n"
      "  ellice verify m.json certificate.json            re-check a certificate\n"
      "\n"
      "`ellice VERB --help` shows the options of a verb.\n"
      "Exit status: 0 done, 1 internal or write failure, 2 wrong usage, 3 bad input, 4 a "
      "certificate failed.");
  Job job;
  add_demo(program, job);
  add_schema(program, job);
  add_train(program, job);
  add_explain(program, job);
  add_verify(program, job);
  add_frontier(program, job);
  add_epsilon(program, job);
  add_calibrate(program, job);
  add_evaluate(program, job);
  add_study(program, job);
  add_options(program, job);
  try {
    program.parse(argc, argv);
    catch_interrupt();
    return job();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    console.error(fmt::format("{}; see `ellice {}--help`", usage_fault(program, error),
                              program.get_subcommands().empty()
                                  ? ""
                                  : program.get_subcommands().front()->get_name() + " "));
    return wrong_usage;
  } catch (const Error& error) {
    console.error(error.what());
    return exit_status(error.code());
  } catch (const std::bad_alloc&) {
    console.error("out of memory");
    return internal_failure;
  } catch (const std::exception& error) {
    console.error(fmt::format("internal failure: {}", error.what()));
    return internal_failure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
