#include "request/model_rules.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

LinearRule in_model_space(const Rule& rule, const Encoder& encoder) {
  LinearRule result{.coefficients = Vector::Zero(encoder.columns())};
  double bound = rule.bound;
  double size = std::abs(rule.bound);
  for (const auto& [name, coefficient] : rule.terms) {
    const Index column = encoder.first_column(*encoder.schema().find(name));
    result.coefficients(column) = coefficient * encoder.scale()(column);
    bound -= coefficient * encoder.mean()(column);
    size += std::abs(coefficient * encoder.mean()(column));
  }
  result.tolerance = 1e-13 * size;
  if (rule.relation != Rule::Relation::at_least) result.upper = bound;
  if (rule.relation != Rule::Relation::at_most) result.lower = bound;
  return result;
}

namespace {

bool contradict(const std::vector<const Rule*>& rules, const Encoder& encoder) {
  const Index d = encoder.columns();
  IntersectionProblem problem{.query = Vector::Zero(d),
                              .lower = Vector::Constant(d, -infinity),
                              .upper = Vector::Constant(d, infinity)};
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Feature& feature = encoder.schema().features[j];
    if (!feature.is_number()) continue;
    const Index column = encoder.first_column(j);
    const auto coordinate = [&](double raw) {
      return (raw - encoder.mean()(column)) / encoder.scale()(column);
    };
    if (feature.min) problem.lower(column) = coordinate(*feature.min);
    if (feature.max) problem.upper(column) = coordinate(*feature.max);
    for (std::size_t k = 0; k < feature.allowed.size(); ++k) {
      const double value = coordinate(std::get<double>(feature.allowed[k]));
      if (k == 0) problem.lower(column) = problem.upper(column) = value;
      problem.lower(column) = std::min(problem.lower(column), value);
      problem.upper(column) = std::max(problem.upper(column), value);
    }
    if (problem.lower(column) > problem.upper(column)) return false;  // said elsewhere
  }
  for (const Rule* rule : rules) problem.rules.push_back(in_model_space(*rule, encoder));
  return find_common_point(problem).status == CommonPoint::Status::none;
}

}  // namespace

void require_consistent_rules(const Encoder& encoder) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : encoder.schema().constraints) rules.push_back(&rule);
  if (rules.empty() || !contradict(rules, encoder)) return;
  // Drops one after another for good while the rest still contradicts itself.
  for (std::size_t k = 0; k < rules.size();) {
    std::vector<const Rule*> rest = rules;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    if (!rest.empty() && contradict(rest, encoder)) {
      rules = std::move(rest);
    } else {
      ++k;
    }
  }
  std::vector<std::string> texts;
  for (const Rule* rule : rules) texts.push_back(fmt::format("\"{}\"", rule->text));
  require_input(rules.size() > 1,
                "no row within the schema's ranges keeps the rule {}; change one of them",
                texts.front());
  fail(ErrorCode::input,
       "no row within the schema's ranges keeps the rules {} together; change one of them",
       fmt::join(texts, " and "));
}

}  // namespace ellice
