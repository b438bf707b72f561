// Fewest changes, exactly, against the paper's greedy Algorithm 3 on its nine data sets: how many
// features change, how far, and how long that takes. Prints the table of docs/few_changes.md.
//
//   few_changes [data sets] [--epsilon 0.01] [--people 60]
//
// The people are declined rows in the order of the file. The greedy method is given its best case
// as well: the nearest point of the features let go so far, instead of the paper's gradient steps.
// Times are processor time on one thread.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "data/recipe.hpp"
#include "ellice/model/training.hpp"
#include "methods/greedy.hpp"
#include "search/exact_search.hpp"

namespace {

using namespace ellice;

struct Settings {
  std::vector<std::string> datasets = {};
  double epsilon = 0.01;
  std::size_t people = 60;
};

std::vector<Query> declined(const Model& model, const Dataset& data, std::size_t most) {
  std::vector<Query> queries;
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  for (Index i = 0; i < logits.size() && queries.size() < most; ++i) {
    if (logits(i) >= 0) continue;
    queries.push_back({.index = queries.size(), .raw = data.raw.row(i).transpose()});
  }
  return queries;
}

/// What one method does for each person.
struct Outcome {
  std::vector<Answer> answers = {};
  std::vector<double> milliseconds = {};

  [[nodiscard]] bool answered(std::size_t i) const { return is_certified(answers[i].status); }
};

Outcome ask(const Generator& generator, const std::vector<Query>& queries) {
  Outcome outcome;
  for (const Query& query : queries) {
    const std::clock_t start = std::clock();
    outcome.answers.push_back(generator.generate({query}, {.threads = 1}).front());
    outcome.milliseconds.push_back(1e3 * static_cast<double>(std::clock() - start) /
                                   CLOCKS_PER_SEC);
  }
  return outcome;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Changes (mean and most) and l2 over the people whom every method answers.
struct Means {
  double changes = 0;
  int most = 0;
  double length = 0;
};

Means means(const Outcome& outcome, const std::vector<std::size_t>& people) {
  Means result;
  for (const std::size_t i : people) {
    const Distance& distance = outcome.answers[i].distance;
    result.changes += distance.changed / static_cast<double>(people.size());
    result.length += distance.l2 / static_cast<double>(people.size());
    result.most = std::max(result.most, distance.changed);
  }
  return result;
}

/// Changes on average (at most), and the mean length.
std::string text(const Means& mean) {
  return fmt::format("{:.2f} ({}) | {:.2f}", mean.changes, mean.most, mean.length);
}

void compare(const std::string& name, const Settings& settings) {
  const Dataset data = load_recipe(name);
  const Model model = train(data, {.balance = true}, {.folds = 0}).model;
  const Problem problem{.model = &model, .epsilon = settings.epsilon};
  const std::vector<Query> queries = declined(model, data, settings.people);
  const Outcome fewest = ask(ExactSearch(problem, {.sparse = true}), queries);
  const Outcome nearest = ask(ExactSearch(problem), queries);
  const Outcome greedy = ask(GreedySearch(problem), queries);
  const Outcome best = ask(GreedySearch(problem, {.greedy_step = GreedyStep::quadratic}), queries);
  std::vector<std::size_t> everywhere;
  std::size_t found = 0;
  std::size_t proved = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (fewest.answers[i].status == Status::already_robust) continue;
    if (fewest.answered(i)) ++found;
    if (fewest.answers[i].status == Status::optimal) ++proved;
    if (fewest.answered(i) && nearest.answered(i) && greedy.answered(i) && best.answered(i)) {
      everywhere.push_back(i);
    }
  }
  fmt::print("| {} | {} | {}/{}/{} | {} | {} | {} | {} | {:.2f}/{:.2f}/{:.1f} |\n", name,
             model.schema().features.size(), found, proved, everywhere.size(),
             text(means(fewest, everywhere)), text(means(greedy, everywhere)),
             text(means(best, everywhere)), text(means(nearest, everywhere)),
             quantile(fewest.milliseconds, 0.5), quantile(fewest.milliseconds, 0.9),
             quantile(fewest.milliseconds, 1));
  std::fflush(stdout);
}

Settings read(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const bool has_value = i + 1 < count;
    if (argument == "--epsilon" && has_value) {
      settings.epsilon = std::atof(arguments[++i]);
    } else if (argument == "--people" && has_value) {
      settings.people = static_cast<std::size_t>(std::atoi(arguments[++i]));
    } else {
      settings.datasets.push_back(argument);
    }
  }
  if (settings.datasets.empty()) {
    settings.datasets = recipe_names();
    std::erase(settings.datasets, "lending");
  }
  return settings;
}

}  // namespace

int main(int count, char** arguments) {
  const Settings settings = read(count, arguments);
  fmt::print(
      "| data | features | answered/proved/by all | fewest | l2 | greedy | l2 | greedy, nearest | "
      "l2 | nearest | l2 | ms of fewest: median/90 %/most |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& name : settings.datasets) compare(name, settings);
  return 0;
}
