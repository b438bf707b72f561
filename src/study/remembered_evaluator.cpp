#include "remembered_evaluator.hpp"

#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

class RememberedEvaluator final : public Evaluator {
 public:
  explicit RememberedEvaluator(EvaluatorPointer evaluator)
      : Evaluator(evaluator->summary()), evaluator_(std::move(evaluator)) {
    require(evaluator_->models() != nullptr, "{} seeks a model for each answer",
            enum_name(summary().kind));
  }

  [[nodiscard]] const StressSet* models() const override { return evaluator_->models(); }

  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& execution) const override {
    if (!summary().is_defined()) return std::nullopt;
    std::vector<std::string> keys;
    for (Index i = 0; i < points.rows(); ++i) {
      const Vector point = points.row(i).transpose();
      keys.emplace_back(reinterpret_cast<const char*>(point.data()),
                        static_cast<std::size_t>(point.size()) * sizeof(double));
    }
    ask(points, keys, execution);
    WorstScores result{.logits = Vector(points.rows())};
    const std::scoped_lock lock(mutex_);
    for (Index i = 0; i < points.rows(); ++i)
      result.logits(i) = logits_.at(keys[static_cast<std::size_t>(i)]);
    return result;
  }

 private:
  void ask(RowMatrixArg points, const std::vector<std::string>& keys,
           const Execution& execution) const {
    std::vector<Index> unseen;
    {
      const std::scoped_lock lock(mutex_);
      std::unordered_set<std::string_view> wanted;
      for (Index i = 0; i < points.rows(); ++i) {
        const std::string& key = keys[static_cast<std::size_t>(i)];
        if (!logits_.contains(key) && wanted.insert(key).second) unseen.push_back(i);
      }
    }
    if (unseen.empty()) return;
    // Two threads may ask for the same point: they get the same logit.
    const WorstScores scores = *evaluator_->worst(points(unseen, Eigen::all), execution);
    const std::scoped_lock lock(mutex_);
    for (std::size_t k = 0; k < unseen.size(); ++k)
      logits_.emplace(keys[static_cast<std::size_t>(unseen[k])],
                      scores.logits(static_cast<Index>(k)));
  }

  EvaluatorPointer evaluator_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, double> logits_;  // by the point's bytes
};

}  // namespace

EvaluatorPointer remembered(EvaluatorPointer evaluator) {
  return std::make_shared<RememberedEvaluator>(std::move(evaluator));
}

}  // namespace ellice
