#include "search/comparison.hpp"

#include "ellice/core/error.hpp"
#include "search/allowed_row.hpp"

namespace ellice {

FeasibleSet feasible_set(const Problem& problem, const Query& query, Rounding rounding) {
  static const std::vector<std::optional<double>> no_steps;
  return {problem.model->encoder, problem.constraints, query.index, query.raw,
          rounding == Rounding::none ? no_steps : problem.display_steps};
}

Vector decode_freely(const FeasibleSet& feasible, VectorArg z) {
  const Encoder& encoder = feasible.encoder();
  Vector raw = encoder.raw(encoder.decode(z));
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Index first = encoder.first_column(j);
    const Index count = encoder.column_count(j);
    if (z.segment(first, count) == feasible.query().segment(first, count))
      raw[static_cast<Index>(j)] = feasible.query_raw()[static_cast<Index>(j)];
  }
  return raw;
}

void round_as_displayed(const Problem& problem, const FeasibleSet& feasible, Vector& raw) {
  for (std::size_t j = 0; j < problem.display_steps.size(); ++j) {
    const Feature& feature = feasible.encoder().schema().features[j];
    const bool is_free =
        feature.kind == FeatureKind::numeric && !feature.step && feature.allowed.empty();
    double& value = raw(static_cast<Index>(j));
    if (!is_free || !problem.display_steps[j] || value == feasible.ranges()[j].query) continue;
    value = FeatureRange{.step = problem.display_steps[j]}.nearest(value);
  }
}

void return_query(const Assembler& assembler, Answer& answer, const FeasibleSet& feasible) {
  assembler.take(answer, feasible.query_raw(), feasible);
  answer.message = "nothing was found, and the query itself is returned, as in the paper's runs";
}

void keep_query(const Assembler& assembler, Answer& answer, const FeasibleSet& feasible) {
  if (assembler.already_robust(answer, feasible)) return;
  assembler.take(answer, feasible.query_raw(), feasible);
  answer.message = "the query meets the method's own rule and stays as it is; " + answer.message;
}

namespace {

void answer_published(const Problem& problem, const Assembler& assembler, const SpaceMethod& method,
                      Answer& answer, const FeasibleSet& feasible) {
  const std::optional<Vector> point = method.published(answer.query_index, feasible);
  if (!point) {
    return_query(assembler, answer, feasible);
    return;
  }
  Vector row = decode_freely(feasible, *point);
  round_as_displayed(problem, feasible, row);
  assembler.take(answer, row, feasible);
  if (feasible.held().empty()) return;
  if (!answer.message.empty()) answer.message += "; ";
  answer.message +=
      fmt::format("{} moved like numbers, as in the paper's runs, to the nearest value",
                  fmt::join(feasible.held(), ", "));
}

}  // namespace

std::vector<Answer> answer_in_space(const Problem& problem, const Assembler& assembler,
                                    Variant variant, const SpaceMethod& method,
                                    const std::vector<Query>& queries, const Execution& execution) {
  std::vector<Answer> answers(queries.size());
  parallel_for(method.progress, queries.size(), execution, [&](std::size_t i) {
    const bool corrected = variant == Variant::corrected;
    const FeasibleSet feasible =
        feasible_set(problem, queries[i], corrected ? Rounding::as_displayed : Rounding::none);
    Answer& answer = answers[i] = assembler.begin(queries[i], feasible);
    if (!corrected) {
      answer_published(problem, assembler, method, answer, feasible);
    } else if (method.is_enough(feasible.query())) {
      keep_query(assembler, answer, feasible);
    } else {
      method.corrected(answer, feasible);
    }
  });
  return answers;
}

std::vector<SearchStage> search_stages(const FeasibleSet& feasible) {
  const Encoder& encoder = feasible.encoder();
  SearchStage moving{.boxes = feasible.boxes()};
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    const Feature& feature = encoder.schema().features[j];
    if (!feasible.ranges()[j].held) continue;
    if (is_category(feature)) {
      moving.held.push_back(feature.name);
      continue;
    }
    const Index column = encoder.first_column(j);
    for (Box& box : moving.boxes) {
      box.lower(column) = feasible.relaxed().lower(column);
      box.upper(column) = feasible.relaxed().upper(column);
    }
  }
  if (moving.held.size() == feasible.held().size()) return {moving};
  return {moving, {.boxes = feasible.boxes(), .held = feasible.held()}};
}

}  // namespace ellice
