#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/generator.hpp"
#include "study/plan.hpp"
#include "study/study_fold.hpp"

namespace ellice {

/// The names that a plan may use for methods and their options.
[[nodiscard]] const std::vector<std::string>& study_methods();
[[nodiscard]] const std::vector<std::string>& study_options();

/// Whether the values of a method are ε, and not a τ or a δ.
[[nodiscard]] bool takes_epsilon(const std::string& method);

/// Whether a value stands for the evaluators' own ε, «target» or «target*1.1»: nothing is tuned
/// then, and every target has a run of its own.
[[nodiscard]] bool follows_target(const std::string& value);

/// Throws Error{input} naming the method for values and options that it does not understand, and
/// for values that follow the target beside others.
void check_method(const StudyMethod& method);

/// A method ready to answer; what its generator refers to lives here, too.
struct PreparedMethod {
  std::unique_ptr<Problem> problem = {};
  std::unique_ptr<Generator> generator = {};
  double seconds = 0;  // that preparing took
};

/// One method of a plan on one fold. What all values of its parameter share (the stabilities of
/// T:Rex, the largest δ of every row) is computed once; its time counts for every value, as if
/// each had been prepared alone.
class StudyMethodFactory {
 public:
  /// All must outlive it. Throws Error{argument} for options that do not fit the method.
  StudyMethodFactory(const StudyMethod& method, const StudyFold& fold, const StudyPlan& plan);
  ~StudyMethodFactory();

  /// A value is ε by any rule of EpsilonRule, τ or δ, as the method has it; a δ in percent
  /// and an ε «reach*0.5» are shares of the largest for which some training row is robust. `target`
  /// is what «target» means.
  [[nodiscard]] PreparedMethod prepare(const std::string& value,
                                       std::optional<double> target = {}) const;

 private:
  struct Shared;
  [[nodiscard]] double epsilon(const std::string& value, const SetChoice& set,
                               std::optional<double> target) const;
  /// τ or δ.
  [[nodiscard]] double parameter(const std::string& value) const;
  [[nodiscard]] std::unique_ptr<Generator> make(const Problem& problem,
                                                const std::string& value) const;

  const StudyMethod* method_;
  const StudyFold* fold_;
  const StudyPlan* plan_;
  SetChoice set_;
  double shrink_ = 1;
  std::unique_ptr<Shared> shared_;
};

}  // namespace ellice
