#include "support/recourse_cases.hpp"

#include "ellice/data/lending.hpp"

namespace ellice::problem_zoo {

Model numeric_model(Index columns, std::uint64_t seed, const std::function<void(Schema&)>& change,
                    double l2) {
  Dataset data = numeric_dataset(random_rows(400, columns, seed));
  if (change) change(data.schema);
  return train(data, {}, {.l2 = l2, .folds = 0}).model;
}

const Model& lending_model() {
  static const Model model = train(lending_dataset(600, 1), {}, {.folds = 0}).model;
  return model;
}

Problem true_problem(const Model& model, double epsilon) {
  return {.model = &model, .set = {.kind = SetKind::true_set}, .epsilon = epsilon};
}

std::vector<Query> queries_of(const Dataset& data, Index count) {
  std::vector<Query> queries;
  for (Index i = 0; i < std::min(count, data.rows()); ++i) {
    queries.push_back({.index = static_cast<std::size_t>(i), .raw = data.raw.row(i)});
  }
  return queries;
}

std::vector<Query> random_queries(const Model& model, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Query> queries;
  for (std::size_t i = 0; i < count; ++i) {
    queries.push_back(
        {.index = i,
         .raw = random.normal_vector(static_cast<Index>(model.schema().features.size()))});
  }
  return queries;
}

std::set<std::string> changed(const Answer& answer) {
  std::set<std::string> names;
  for (const Change& change : answer.changes) names.insert(change.feature);
  return names;
}

}  // namespace ellice::problem_zoo
