#include "support/exact_answers.hpp"

#include <Eigen/LU>

#include "ellice/audit/audit.hpp"
#include "support/hashes.hpp"

namespace ellice::problem_zoo {

std::vector<Answer> solve(const Problem& problem, const std::vector<Query>& queries, int threads) {
  return ExactSearch(problem).generate(queries, {.threads = threads});
}

Json recourse_file(const Problem& problem, const std::vector<Answer>& answers,
                   const ExactOptions& options) {
  const Request request{.problem = problem,
                        .rule = {.text = "test"},
                        .method = "exact",
                        .method_options = Json{{"exact", fields_to_json(options)}}};
  RecourseWriter writer(request);
  std::string text = writer.begin();
  for (const Answer& answer : answers) text += writer.answer(answer);
  text += writer.end();
  return without_hashes(parse_json(text, "r.json"));
}

void expect_audited(const Problem& problem, const std::vector<Answer>& answers,
                    const ExactOptions& options) {
  const auto audits =
      audit_recourse_file(recourse_file(problem, answers, options), *problem.model, "r.json");
  ASSERT_EQ(audits.size(), answers.size());
  for (const AnswerAudit& audit : audits) {
    EXPECT_TRUE(audit.holds()) << audit.query_index << ": " << audit.failures.front();
  }
}

double plain_robust_logit(const Model& model, double epsilon, const Vector& z) {
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const LongMatrix inverse = LongMatrix(model.curvature.hessian.cast<long double>()).inverse();
  Eigen::Matrix<long double, Eigen::Dynamic, 1> x(z.size() + 1);
  x << z.cast<long double>(), 1.0L;
  const Eigen::Matrix<long double, Eigen::Dynamic, 1> theta =
      model.network.head().cast<long double>();
  return static_cast<double>(theta.dot(x) - std::sqrt(2 * epsilon * x.dot(inverse * x)));
}

}  // namespace ellice::problem_zoo
