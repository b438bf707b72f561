#include "quick_evaluators.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// Another evaluator's set.
class BorrowingEvaluator : public Evaluator {
 public:
  [[nodiscard]] const StressSet* models() const override { return evaluator_->models(); }

 protected:
  explicit BorrowingEvaluator(EvaluatorPointer evaluator)
      : Evaluator(evaluator->summary()), evaluator_(std::move(evaluator)) {
    require(evaluator_->models() != nullptr, "{} seeks a model for each answer",
            enum_name(summary().kind));
  }
  [[nodiscard]] const Evaluator& evaluator() const { return *evaluator_; }

 private:
  EvaluatorPointer evaluator_;
};

class DecidingEvaluator final : public BorrowingEvaluator {
 public:
  DecidingEvaluator(EvaluatorPointer evaluator, double threshold)
      : BorrowingEvaluator(std::move(evaluator)), threshold_(threshold) {}

  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& execution) const override {
    if (!summary().is_defined()) return std::nullopt;
    WorstScores result{
        .logits = Vector::Constant(points.rows(), std::numeric_limits<double>::infinity())};
    const auto blocks = static_cast<std::size_t>((points.rows() + point_block - 1) / point_block);
    parallel_for("stress test", blocks, execution, [&](std::size_t block) {
      const Index first = static_cast<Index>(block) * point_block;
      const Index count = std::min(point_block, points.rows() - first);
      decide(points.middleRows(first, count), result.logits.segment(first, count));
    });
    return result;
  }

 private:
  // Points that are shown to a model at a time, and models between two looks at who is left.
  static constexpr Index point_block = 4096;
  static constexpr std::size_t model_block = 16;

  void decide(RowMatrixArg points, Eigen::Ref<Vector> logits) const {
    std::vector<Index> left(static_cast<std::size_t>(points.rows()));
    std::iota(left.begin(), left.end(), Index{0});
    RowMatrix shown = points;
    const std::vector<StressModel>& all = models()->models;
    for (std::size_t k = 0; k < all.size() && !left.empty(); ++k) {
      const Vector scores = all[k].network.logits(shown);
      for (std::size_t i = 0; i < left.size(); ++i)
        logits(left[i]) = std::min(logits(left[i]), scores(static_cast<Index>(i)));
      if ((k + 1) % model_block != 0) continue;
      const std::size_t before = left.size();
      std::erase_if(left, [&](Index i) { return logits(i) < threshold_; });
      if (left.size() < before) shown = points(left, Eigen::all);
    }
  }

  double threshold_;
};

class RememberedEvaluator final : public BorrowingEvaluator {
 public:
  explicit RememberedEvaluator(EvaluatorPointer evaluator)
      : BorrowingEvaluator(std::move(evaluator)) {}

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
    const WorstScores scores = *evaluator().worst(points(unseen, Eigen::all), execution);
    const std::scoped_lock lock(mutex_);
    for (std::size_t k = 0; k < unseen.size(); ++k)
      logits_.emplace(keys[static_cast<std::size_t>(unseen[k])],
                      scores.logits(static_cast<Index>(k)));
  }

  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, double> logits_;  // by the point's bytes
};

}  // namespace

EvaluatorPointer deciding(EvaluatorPointer evaluator, double threshold) {
  return std::make_shared<DecidingEvaluator>(std::move(evaluator), threshold);
}

EvaluatorPointer remembered(EvaluatorPointer evaluator) {
  return std::make_shared<RememberedEvaluator>(std::move(evaluator));
}

}  // namespace ellice
