#include <unistd.h>

#include <memory>
#include <sstream>

#include "answer_sink.hpp"
#include "ellice/core/file.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/training.hpp"
#include "report/text_table.hpp"
#include "request/recourse_file.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

constexpr std::size_t training_rows = 2000;
constexpr std::uint64_t training_seed = 1;
constexpr std::uint64_t applicant_seed = 2;
constexpr Horizon horizon{.amount = 12, .per = Pace::Period::month};

struct DemoArguments {
  CommonOptions common = {};
  int people = 5;
  std::string epsilon = "1%";
  std::string output = "ellice-demo.html";
  std::string people_csv = "ellice-demo.csv";
};

struct Applicants {
  std::vector<Query> people = {};
  std::string csv = {};  // the same people, for `ellice explain`
};

/// New applicants whom the model turns down.
Applicants declined_people(const Model& model, int count) {
  const std::size_t rows = 50 * static_cast<std::size_t>(count) + 50;
  const Dataset data = lending_dataset(rows, applicant_seed);
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  std::istringstream lines(lending_csv(rows, applicant_seed));
  std::string line;
  std::getline(lines, line);
  Applicants result{.csv = line + "\n"};
  for (Index i = 0;
       std::getline(lines, line) && result.people.size() < static_cast<std::size_t>(count); ++i) {
    if (logits(i) >= model.decision.threshold) continue;
    result.people.push_back({.index = result.people.size(),
                             .raw = data.raw.row(i),
                             .id = fmt::format("applicant {}", i)});
    result.csv += line + "\n";
  }
  return result;
}

ExitStatus run_demo(const DemoArguments& arguments) {
  const Console console = begin(arguments.common);
  const Dataset data = lending_dataset(training_rows, training_seed);
  const TrainingResult trained = train(data, {}, {}, {.threads = arguments.common.threads});
  const auto model = std::make_shared<const Model>(trained.model);
  const Explainer explainer(
      {.model = model,
       .epsilon = arguments.epsilon,
       .rows = std::make_shared<const TrainingRows>(training_rows_of(data, *model)),
       .constraints = {.horizon = horizon},
       .display = true,
       .shows_trade_off = true});
  const Applicants applicants = declined_people(*model, arguments.people);
  const std::vector<Query>& people = applicants.people;
  std::vector<Answer> answers = explainer.explain(people, {.threads = arguments.common.threads});

  write_file(
      "-",
      fmt::format(
          "{} loan applications (made up), a logistic model that is right for {:.0f} % of them.\n"
          "{} people were declined. What would have to change within {} so that the answer is "
          "yes,\n"
          "and stays yes for every model whose training objective is within {} of the best "
          "({} = {})?\n\n",
          grouped(training_rows),
          100 * trained.summary.cross_validated_accuracy.value_or(trained.summary.train_accuracy),
          people.size(), to_text(horizon), arguments.epsilon, "epsilon",
          rounded(explainer.epsilon(), 3)));
  AnswerSink terminal(explainer, {.format = AnswerFormat::table,
                                  .has_id = true,
                                  .colour = ::isatty(STDOUT_FILENO) == 1,
                                  .trade_off = explainer.shows_trade_off()});
  terminal.add(terminal.part(answers, 1));
  terminal.finish();
  AnswerSink page(explainer, {.format = AnswerFormat::html,
                              .has_id = true,
                              .output = arguments.output,
                              .title = "Recourse for declined loan applications",
                              .answers_at = answers_at(explainer, arguments.common.threads),
                              .trade_off = explainer.shows_trade_off(),
                              .rows = explainer.request().rows});
  page.add(page.part(std::move(answers), 1));
  page.finish();
  write_file(arguments.people_csv, applicants.csv);
  console.info(fmt::format("\nwrote {}: the same people as cards, with pictures and certificates",
                           arguments.output));
  console.info(
      fmt::format("wrote {}: the same people as a table; go on with", arguments.people_csv));
  console.info("  ellice train --dataset lending -o m.json");
  console.info(fmt::format("  ellice explain m.json {} --epsilon {} --horizon \"{}\" --lock income",
                           arguments.people_csv, arguments.epsilon, to_text(horizon)));
  return done;
}

}  // namespace

void add_demo(Verb& program, Job& job) {
  auto arguments = std::make_shared<DemoArguments>();
  Verb& verb = *program.add_subcommand(
      "demo", "the whole job on embedded data: train, explain some declined people, draw a page");
  verb.add_option("--people", arguments->people, "how many people to explain")
      ->between(1, 1000)
      ->capture_default_str();
  verb.add_option("--epsilon", arguments->epsilon, "how far from the best a model may be")
      ->capture_default_str();
  verb.add_option("-o,--output", arguments->output, "page to write")->capture_default_str();
  verb.add_option("--csv", arguments->people_csv, "table of the people to write")
      ->capture_default_str();
  add_flags(verb, arguments->common);
  verb.footer("Example:\n  ellice demo");
  verb.callback([arguments, &job] { job = [arguments] { return run_demo(*arguments); }; });
}

}  // namespace ellice::cli
