// How wrong the ellipsoid is, and what the true set costs: linear models on the paper's nine data
// sets, every column numeric, and German Credit with its whole numbers and categories. Prints the
// table of docs/true_set.md.
//
//   true_set_comparison [people per data set, 60]

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "data/recipe.hpp"
#include "ellice/model/training.hpp"
#include "search/exact_search.hpp"
#include "sets/true_set.hpp"

namespace {

using namespace ellice;

/// People whom the model declines.
std::vector<Query> declined(const Model& model, const Dataset& data, std::size_t most) {
  std::vector<Query> queries;
  for (Index i = 0; i < data.rows() && queries.size() < most; ++i) {
    const Vector raw = data.raw.row(i);
    const RawRow row = model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
    if (model.logit(model.encoder.encode(row)) < model.decision.threshold)
      queries.push_back({.index = queries.size(), .raw = raw});
  }
  return queries;
}

struct Answers {
  std::vector<Answer> all = {};
  double milliseconds = 0;  // of processor time per answer
};

Answers answer(const Generator& generator, const std::vector<Query>& queries) {
  const std::clock_t start = std::clock();
  Answers result{.all = generator.generate(queries, {.threads = 1})};
  result.milliseconds = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC /
                        static_cast<double>(queries.size());
  return result;
}

bool has_row(const Answer& answer) {
  return answer.status == Status::optimal || answer.status == Status::certified;
}

void compare(const std::string& name, std::size_t people, bool as_numbers) {
  const Dataset data = as_numbers ? with_numeric_columns(load_recipe(name)) : load_recipe(name);
  const Model model = train(data, {.balance = true}, {.folds = 0, .store_rows = true}).model;
  const std::vector<Query> queries = declined(model, data, people);
  for (const bool share : {false, true}) {
    const double epsilon = share ? 0.1 * model.training.objective : 0.01;
    const Problem ellipsoid{
        .model = &model,
        .epsilon = epsilon,
        .threshold = model.decision.threshold,
        .constraints = {.range = as_numbers ? RangePolicy::off : RangePolicy::train}};
    Problem exact = ellipsoid;
    exact.set.kind = SetKind::true_set;
    const Answers approximate = answer(ExactSearch(ellipsoid), queries);
    const Answers exactly = answer(ExactSearch(exact), queries);
    const TrueSet set = true_set(model, *model.rows, epsilon);
    int found = 0;
    int broken = 0;
    int robust = 0;
    int optimal = 0;
    int both = 0;
    double ratio = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Answer& one = approximate.all[i];
      const Answer& other = exactly.all[i];
      robust += has_row(other) ? 1 : 0;
      optimal += other.status == Status::optimal ? 1 : 0;
      if (!has_row(one)) continue;
      ++found;
      const Vector x = with_one(one.certificate->encoded);
      broken += set.worst(x).attained < exact.threshold ? 1 : 0;
      if (!has_row(other)) continue;
      ++both;
      ratio += other.distance.l2 / one.distance.l2;
    }
    fmt::print("| {} | {} | {} | {:.4f} | {}/{} | {}/{} | {} | {} | {:.4f} | {:.2f} |\n",
               as_numbers ? name : name + ", its own kinds", model.training.rows,
               model.encoder.columns(), epsilon, broken, found, robust, queries.size(), optimal,
               both > 0 ? fmt::format("{:.3f}", ratio / both) : "-", approximate.milliseconds,
               exactly.milliseconds);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto people = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 60);
  fmt::print(
      "| data | rows | columns | ε | ellipsoid's answers that fail | robust answers found | proved "
      "nearest | distance true/ellipsoid | ms ellipsoid | ms true |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& name : recipe_names()) {
    if (name == "lending" || !find_dataset_file(name)) continue;
    if (load_recipe(name).schema.target.classes.empty()) compare(name, people, true);
  }
  if (find_dataset_file("german")) compare("german", std::min<std::size_t>(people, 20), false);
  return 0;
}
