// The methods of others, as published and corrected, on three of the paper's data sets with every
// column numeric: what they answer, and what it costs. Prints the table of docs/baselines.md.
//
//   baseline_comparison [people per data set, 40] [one data set]

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/recipe.hpp"
#include "ellice/model/training.hpp"
#include "ellice/solver/cbc.hpp"
#include "methods/delta_rows.hpp"
#include "methods/proplace.hpp"
#include "methods/roar.hpp"
#include "methods/trex.hpp"

namespace {

using namespace ellice;

struct Case {
  std::string name = {};
  Model model = {};
  RowMatrix raw = {};  // the rows that the model was fitted on
  std::vector<Query> queries = {};
  double delta = 0;  // a tenth of the largest for which some row is robust
};

Case make_case(const std::string& name, const std::vector<int>& hidden, std::size_t people) {
  Case result{.name = hidden.empty() ? name + ", linear"
                                     : fmt::format("{}, {}", name, fmt::join(hidden, "-"))};
  const Dataset data = with_numeric_columns(load_recipe(name));
  TrainingOptions options{.folds = 0, .store_rows = true};
  Selection selection{.balance = true};
  if (!hidden.empty()) {
    options.model = NetworkKind::mlp;
    options.network.hidden = hidden;
    selection.validation = 0.2;
  }
  result.model = train(data, selection, options).model;
  const Dataset fitted = select_rows(data, apply_selection(data, selection).fit);
  result.raw = fitted.raw;
  for (Index i = 0; i < fitted.rows() && result.queries.size() < people; ++i) {
    if (result.model.logit(result.model.rows->encoded.row(i).transpose()) < 0)
      result.queries.push_back({.index = result.queries.size(), .raw = fitted.raw.row(i)});
  }
  return result;
}

double processor_seconds(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

using Maker = std::function<std::unique_ptr<Generator>()>;

void run(const Case& c, const std::string& method, Variant variant, const Maker& make) {
  const std::clock_t start = std::clock();
  const std::unique_ptr<Generator> generator = make();
  const double preparation = processor_seconds(start);
  const std::clock_t begun = std::clock();
  const std::vector<Answer> answers = generator->generate(c.queries, {.threads = 1});
  const double seconds = processor_seconds(begun);
  int accepted = 0;
  int certified = 0;
  double distance = 0;
  for (const Answer& answer : answers) {
    if (!answer.counterfactual || answer.logit < 0) continue;
    ++accepted;
    certified += is_certified(answer.status) ? 1 : 0;
    distance += answer.distance.l2;
  }
  fmt::print(
      "| {} | {} | {} | {:.3f} | {:.0f} | {}/{} | {} | {} |\n", c.name, method, enum_name(variant),
      preparation, static_cast<double>(answers.size()) / std::max(seconds, 1e-6), accepted,
      answers.size(), certified, accepted > 0 ? fmt::format("{:.2f}", distance / accepted) : "-");
  std::fflush(stdout);
}

void compare(const std::string& name, const std::vector<int>& hidden, std::size_t people) {
  const Case c = make_case(name, hidden, people);
  const Problem problem{.model = &c.model,
                        .epsilon = 0.01 * c.model.training.objective,
                        .constraints = {.range = RangePolicy::off}};
  const RowMatrix& encoded = c.model.rows->encoded;
  for (const Variant variant : {Variant::published, Variant::corrected}) {
    const TrexOptions trex{.variant = variant, .tau = 0.6};
    run(c, "trex", variant, [&] { return std::make_unique<Trex>(problem, c.raw, trex); });
    run(c, "trex-i", variant, [&] { return std::make_unique<TrexContinuous>(problem, trex); });
    const double delta = 0.1 * largest_deltas(problem, encoded, Variant::corrected).maxCoeff();
    run(c, fmt::format("delta {:.3g}", delta), variant, [&] {
      return std::make_unique<DeltaRows>(problem, c.raw,
                                         DeltaOptions{.variant = variant, .delta = delta});
    });
    run(c, fmt::format("proplace {:.3g}", delta), variant, [&] {
      return std::make_unique<Proplace>(problem, c.raw,
                                        ProplaceOptions{.variant = variant, .delta = delta});
    });
    run(c, "roar 0.07", variant, [&] {
      return std::make_unique<Roar>(problem, RoarOptions{.variant = variant, .delta = 0.07},
                                    &encoded);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  use_cbc();
  const auto people = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 40);
  fmt::print(
      "| data, model | method | variant | preparation, s | answers per s | accepted by the model | "
      "certified | mean l2 |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string name : {"diabetes", "banknote", "german"}) {
    if (!find_dataset_file(name) || (argc > 2 && name != argv[2])) continue;
    for (const std::vector<int>& hidden : {std::vector<int>{}, {16}, {32, 32}}) {
      // Cutting sets of two hidden layers take seconds per answer.
      compare(name, hidden, hidden.size() < 2 ? people : std::min<std::size_t>(people, 5));
    }
  }
  return 0;
}
