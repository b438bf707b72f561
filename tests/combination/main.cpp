// Random combinations of schemas, models, people, constraints, options, sets and methods, each
// explained, verified, evaluated and compared (docs/reliability.md).

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include "combination/files.hpp"
#include "combination/isolate.hpp"
#include "combination/known.hpp"
#include "combination/reduce.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/request/answer.hpp"
#include "methods/method_table.hpp"

namespace ellice::combination {
namespace {

constexpr std::string_view usage =
    "usage: combination [--seed S] [--count N | --seeds A,B,…] [--out FOLDER] [--seconds T] "
    "[--show]\n"
    "                   [--all]\n"
    "\n"
    "Runs the cases of the seeds S, S+1, …, S+N-1, or of those listed. Each kind of failure is "
    "made smaller and "
    "written\n"
    "as files into FOLDER/SEED once; FOLDER is «failures» beside the program unless given. --show\n"
    "writes the files of all cases and runs none. --all counts known faults as failures, too. T:\n"
    "processor seconds after which a case is ended.\n"
    "ELLICE_COMBINATION_COUNT in the environment is there instead of N, and ELLICE_SEED is added "
    "to S.\n";

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t count = 200;
  std::vector<std::uint64_t> seeds = {};  // instead of a range
  std::filesystem::path out = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                              "failures";  // where things are built, and not where one stands
  bool shows = false;
  bool with_known = false;
  Limits limits = {};
};

std::uint64_t whole(const std::string& text) {
  double value = 0;
  require(parse_number(text, value) && value >= 0, "found \"{}\", expected a whole number", text);
  return static_cast<std::uint64_t>(value);
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (words[k] == "--all" || words[k] == "--show") {
      (words[k] == "--all" ? arguments.with_known : arguments.shows) = true;
      continue;
    }
    require(k + 1 < words.size(), "{}", usage);
    const std::string& value = words[k + 1];
    if (words[k] == "--seed") {
      arguments.seed = whole(value);
    } else if (words[k] == "--count") {
      arguments.count = whole(value);
    } else if (words[k] == "--seeds") {
      std::istringstream list(value);
      for (std::string one; std::getline(list, one, ',');) arguments.seeds.push_back(whole(one));
    } else if (words[k] == "--out") {
      arguments.out = value;
    } else if (words[k] == "--seconds") {
      arguments.limits.seconds = static_cast<unsigned>(whole(value));
    } else {
      fail(ErrorCode::argument, "{}", usage);
    }
    ++k;
  }
  if (const char* text = std::getenv("ELLICE_COMBINATION_COUNT")) arguments.count = whole(text);
  if (const char* text = std::getenv("ELLICE_SEED")) arguments.seed += whole(text);
  return arguments;
}

bool has_kind(const Verdict& verdict, const std::string& kind) {
  for (const Failure& failure : verdict.failures) {
    if (failure.kind == kind) return true;
  }
  return false;
}

/// What was met, what failed, and which kinds were written down.
class Report {
 public:
  explicit Report(const Arguments& arguments) : arguments_(&arguments) {}

  void add(std::uint64_t seed, const Verdict& verdict) {
    for (const auto& [what, times] : verdict.tally) tally_[what] += times;
    for (const Failure& failure : verdict.failures) {
      const KnownFault* known = find_known(failure.kind);
      if (known != nullptr && !arguments_->with_known) {
        tally_["known: " + known->reason] += 1;
        continue;
      }
      ++kinds_[failure.kind];
      if (kinds_[failure.kind] == 1) write_down(seed, failure);
    }
  }

  [[nodiscard]] int conclude() const {
    for (const auto& [what, times] : tally_) std::cout << fmt::format("{:>9}  {}\n", times, what);
    for (const auto& [kind, times] : kinds_)
      std::cout << fmt::format("FAILED {:>6}  {}\n", times, kind);
    const std::string missing = what_is_missing();
    if (!missing.empty()) std::cout << fmt::format("FAILED: nothing was seen of {}\n", missing);
    return kinds_.empty() && missing.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  void write_down(std::uint64_t seed, const Failure& failure) const {
    std::cout << fmt::format("seed {}: {}\n  {}\n", seed, failure.kind, failure.text.substr(0, 600))
              << std::flush;
    const Case small = reduced(draw_case(seed), [&](const Case& given) {
      return has_kind(judge_apart(given, arguments_->limits), failure.kind);
    });
    const std::filesystem::path folder = arguments_->out / std::to_string(seed);
    write_case(small, folder);
    std::cout << fmt::format("  files in {}\n", folder.string());
    for (const Run& run : small.runs)
      std::cout << fmt::format("  ellice {}\n", command_of(small, run));
    std::cout << std::flush;
  }

  /// A test of many cases must have met every method, set and status.
  [[nodiscard]] std::string what_is_missing() const {
    if (arguments_->count < 1000 || !arguments_->seeds.empty()) return {};
    std::vector<std::string> wanted = {"verified",
                                       "certified rows checked",
                                       "pairs of methods",
                                       "evaluated",
                                       "evaluations compared with certificates",
                                       "runs for the declined alone",
                                       "plans of a trade-off that is shown",
                                       "paces within a horizon"};
    for (const Method& method : methods())
      wanted.push_back(fmt::format("answers: {}", method.name));
    for (const std::string_view name : EnumNames<SetKind>::names)
      wanted.push_back(fmt::format("set: {}", name));
    for (const std::string_view name : EnumNames<Status>::names)
      wanted.push_back(fmt::format("status: {}", name));
    std::vector<std::string> missing;
    for (const std::string& what : wanted) {
      if (!tally_.contains(what)) missing.push_back(what);
    }
    return fmt::format("{}", fmt::join(missing, ", "));
  }

  const Arguments* arguments_;
  Tally tally_;
  std::map<std::string, std::uint64_t> kinds_;
};

int run(const Arguments& arguments) {
  if (arguments.shows) {
    for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.count; ++seed)
      write_case(draw_case(seed), arguments.out / std::to_string(seed));
    return EXIT_SUCCESS;
  }
  Report report(arguments);
  for (const std::uint64_t seed : arguments.seeds)
    report.add(seed, judge_apart(draw_case(seed), arguments.limits));
  if (!arguments.seeds.empty()) return report.conclude();
  judge_range(arguments.seed, 1, arguments.count, arguments.limits,
              [&](std::uint64_t seed, const Verdict& verdict) { report.add(seed, verdict); });
  return report.conclude();
}

}  // namespace
}  // namespace ellice::combination

int main(int argc, char** argv) {
  try {
    return ellice::combination::run(ellice::combination::parse({argv + 1, argv + argc}));
  } catch (const ellice::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
