#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/request/method_options.hpp"
#include "search/generator.hpp"

namespace ellice {

/// The options with the preset's values filled in; `optimizer` is gd or adam.
struct GradientSettings {
  GradientPreset preset = GradientPreset::corrected;
  Optimizer optimizer = Optimizer::adam;
  double alpha = 1;
  double beta = 0.5;
  double proximity = 0;
  double sparsity = 0;
  double step = 0.1;
  int max_steps = 1000;
  int patience = 100;
  double radius_factor = 1;
  double jitter = 0;
  bool operator==(const GradientSettings&) const = default;
};
[[nodiscard]] GradientSettings settings_of(const GradientOptions& options);

/// Why a method that projects every step cannot take a preset; empty where it can.
[[nodiscard]] std::string why_not_projected(const GradientOptions& options,
                                            std::string_view method);

/// The loss that is descended, x₀ the query, f the centre's and g the worst model's logit (with the
/// search's factor and jitter), t the threshold:
///
///   α·ln(1+e^{t−f(x)}) + β·ln(1+e^{t−g(x)}) + λ·‖x−x₀‖₂² + γ·‖x−x₀‖₁.
///
/// The gradient of |x| at 0 is taken as 0. One thread works with it.
class GradientObjective {
 public:
  /// `settings` is read for its weights and its radius_factor; the jitter is the set's.
  GradientObjective(const UncertaintySet& set, double epsilon, const GradientSettings& settings,
                    double threshold);
  /// With a function of the set that others use, too, and that must outlive this.
  GradientObjective(RobustFunction& function, double epsilon, const GradientSettings& settings,
                    double threshold);

  struct Value {
    double loss = 0;
    double robust_logit = 0;  // g, as the search sees it
    Vector robust_gradient = {};
    Vector gradient = {};  // of the loss
  };
  [[nodiscard]] Value evaluate(VectorArg query, VectorArg x);

 private:
  std::unique_ptr<RobustFunction> own_;  // may be absent
  RobustFunction* function_;
  GradientSettings settings_;
  double kappa_;
  double threshold_;
  Vector logit_gradient_, member_gradient_, spread_gradient_;
};

/// The paper's continuous method, for every model and set: the reference that the others are
/// compared with. Algorithm 1's optional refit of the last layer belongs to training; a linear
/// model's head is its minimiser already. The jitter belongs to the set last-layer and is ignored
/// for others. Features that the feasible set fixes or holds (immutable and
/// locked ones, whole numbers, levels) are masked out of the gradient in every preset; the authors
/// moved 0/1 columns like any other, which gives rows that cannot exist.
///
/// printed and as-run promise nothing: their rows are judged afterwards, certified or uncertified,
/// and are rounded to display_steps alone. corrected projects every step onto the query's ranges,
/// rounds to its grids, and returns the first point that is certified; otherwise not_found. Where
/// the query lies outside a range, it descends both into the range and at the query's own value and
/// returns the cheaper end.
class GradientSearch final : public Generator {
 public:
  /// `problem` must outlive the generator. Its cost is measured, not minimised.
  explicit GradientSearch(const Problem& problem, const GradientOptions& options = {});

  [[nodiscard]] const GradientSettings& settings() const { return settings_; }
  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  [[nodiscard]] Answer answer(const Query& query) const;
  /// In a branch of what the query may become.
  [[nodiscard]] Answer answer(const Query& query, const FeasibleSet& feasible) const;
  [[nodiscard]] GradientObjective objective() const;
  [[nodiscard]] Vector run_printed(const FeasibleSet& feasible) const;
  [[nodiscard]] Vector run_as_run(const FeasibleSet& feasible) const;
  void run_corrected(Answer& answer, const FeasibleSet& feasible) const;
  struct DescentEnd {
    bool accepted = false;
    double best_logit = 0;
    int steps = 0;
  };
  /// Inside one box; fills the answer with the first point that is accepted.
  [[nodiscard]] DescentEnd descend(Answer& answer, const FeasibleSet& feasible,
                                   const Box& box) const;

  const Problem* problem_;
  GradientSettings settings_;
  Assembler assembler_;
  std::unique_ptr<Model> jittered_;      // the model with the jitter in its H, where there is one
  std::unique_ptr<UncertaintySet> set_;  // that the search sees
  Box training_range_;                   // model space
};

}  // namespace ellice
