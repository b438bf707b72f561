#include "program.hpp"

#include <exception>
#include <new>

#include "core/memory.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/version.hpp"
#include "ellice/solver/cbc.hpp"
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
      "`ellice VERB --help` shows the options of a verb.\n"
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
  try {
    if (const std::optional<int> status = line.parse(argc, argv)) return *status;
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
