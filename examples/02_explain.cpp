// Finds the nearest change that every near-optimal model accepts, for some declined applicants of
// the embedded data, and says it in a sentence.

#include <cstdio>

#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "ellice/recourse/exact_search.hpp"
#include "ellice/report/sentence.hpp"

int main() {
  using namespace ellice;
  const Model model = train(lending_dataset(2000, 1), {}, {}).model;

  Problem problem{.model = &model, .epsilon = 0.01 * model.training.objective};
  problem.constraints.features["loan_amount"].locked = true;

  std::vector<Query> declined;
  const Dataset applicants = lending_dataset(100, 2);
  const Vector logits = model.network.logits(model.encoder.encode(applicants.raw));
  for (Index i = 0; i < logits.size() && declined.size() < 5; ++i) {
    if (logits(i) < 0) declined.push_back({.index = declined.size(), .raw = applicants.raw.row(i)});
  }

  const ExactSearch generator(problem);
  bool all_certified = true;
  for (const Recourse& answer : generator.generate(declined, {})) {
    std::printf("%zu: %s\n", answer.query_index, sentence(answer, model.schema()).c_str());
    all_certified = all_certified && is_certified(answer.status);
  }
  return all_certified ? 0 : 1;
}
