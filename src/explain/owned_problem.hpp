#pragma once

// The problem of a request with all that it refers to: what explaining, tracing, calibrating and
// choosing ε begin with.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/explain/explain_request.hpp"
#include "methods/method_table.hpp"
#include "request/problem.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

/// Throws Error{argument} for a model with many classes: `purpose` is not for it.
void require_one_logit(const Model& model, std::string_view purpose);

/// The problem of a request, its ε still open, with all that it refers to.
class OwnedProblem {
 public:
  /// Throws Error{argument} for what cannot be asked of the model, naming the field.
  explicit OwnedProblem(ExplainRequest request);
  OwnedProblem(const OwnedProblem&) = delete;
  OwnedProblem& operator=(const OwnedProblem&) = delete;
  OwnedProblem(OwnedProblem&&) = delete;
  OwnedProblem& operator=(OwnedProblem&&) = delete;
  ~OwnedProblem() = default;

  [[nodiscard]] const ExplainRequest& request() const { return request_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// As the request asks it: with its rules and weights, where it has any.
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const { return model_; }
  [[nodiscard]] const Model& model() const { return *model_; }

  /// The request's rows, else those of the model file, else null.
  [[nodiscard]] const TrainingRows* rows() const { return rows_.get(); }
  [[nodiscard]] FittedRows fitted() const { return rows_ ? rows_->fitted.view() : FittedRows{}; }
  /// ellice::require_rows() of these.
  void require_rows(std::string_view purpose, RowsOf needed) const;

  /// ε by a rule, the selection effect included where there is one.
  [[nodiscard]] double resolve(const EpsilonRule& rule, const Execution& execution = {}) const;
  /// Several of them, rising, each once.
  [[nodiscard]] std::vector<double> resolve(const std::vector<EpsilonRule>& rules,
                                            const Execution& execution = {}) const;
  /// What a person should know before: that the rows are those of other data.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Declined people among the rows, as many as a rule looks at; none where no rule does.
  [[nodiscard]] std::vector<Query> people() const;

 private:
  ExplainRequest request_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const TrainingRows> rows_;
  Problem problem_;
};

/// The method that a request names or leaves to choose. Throws Error{argument} where it cannot do
/// what is asked of it, or lacks rows.
[[nodiscard]] const Method& supported_method(const OwnedProblem& owned);

}  // namespace ellice
