#include <exception>
#include <new>

#include "ellice/core/error.hpp"
#include "ellice/core/version.hpp"
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

int run(int argc, char** argv) {
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
      "certificate failed.");
  Verb& program = line.program();
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
    if (const std::optional<int> status = line.parse(argc, argv)) return *status;
    catch_interrupt();
    return job();
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
