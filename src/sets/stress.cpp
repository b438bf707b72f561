#include "sets/stress.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "sets/stress_collection.hpp"

namespace ellice {

void check_stress_source(const StressSource& source, const StressOptions& options) {
  validate(options, "StressOptions");
  require(source.base != nullptr && !source.base->layers.empty(), "the stress set has no base");
  const LabelledRows& train = source.train;
  require(train.features != nullptr && train.labels != nullptr && train.features->rows() > 0,
          "the stress set has no training rows");
  require(train.features->rows() == static_cast<Index>(train.labels->size()),
          "{} training rows have {} labels", train.features->rows(), train.labels->size());
  require(train.features->cols() == source.base->inputs(),
          "the base reads {} columns, the training rows have {}", source.base->inputs(),
          train.features->cols());
}

void check_stress_bound(double bound) {
  require(std::isfinite(bound), "the bound of a stress set = {} must be finite", bound);
}

void check_network_options(const StressSource& source) {
  const std::vector<int>& hidden = source.network.hidden;
  const std::vector<Layer>& layers = source.base->layers;
  require(hidden.size() + 1 == layers.size(), "the base has {} hidden layers, its options say {}",
          layers.size() - 1, hidden.size());
  for (std::size_t l = 0; l < hidden.size(); ++l) {
    const Index units = layers[l].weights.rows() /
                        static_cast<Index>(std::max<std::size_t>(source.base->groups.size(), 1));
    require(hidden[l] == units, "hidden layer {} of the base has {} units, its options say {}",
            l + 1, units, hidden[l]);
  }
}

void collect_models(std::string_view stage, const StressSource& source,
                    const Collection& collection, const Execution& execution,
                    const MakeNetwork& make, StressSet& set) {
  struct Block {
    std::vector<StressModel> models = {};  // inside the bound
    std::vector<std::size_t> attempts = {};
  };
  std::size_t made = 0;
  while (set.models.size() < collection.count && made < collection.attempts) {
    check_stop();
    const std::size_t missing = collection.count - set.models.size();
    const std::size_t round =
        std::min(collection.attempts - made, std::max(missing, 4 * collection.block));
    std::vector<Block> blocks((round + collection.block - 1) / collection.block);
    parallel_for(stage, blocks.size(), execution, [&](std::size_t b) {
      NetworkObjective objective = training_objective(source);
      const std::size_t end = std::min(round, (b + 1) * collection.block);
      for (std::size_t i = b * collection.block; i < end; ++i) {
        StressModel model{.network = make(made + i)};
        model.objective = objective.value(model.network);
        // An objective that is not a number is outside every bound.
        if (!(model.objective <= set.bound)) continue;
        blocks[b].models.push_back(std::move(model));
        blocks[b].attempts.push_back(made + i);
      }
    });
    made += round;
    set.tried = made;
    for (Block& block : blocks) {
      for (std::size_t i = 0; i < block.models.size(); ++i) {
        if (set.models.size() == collection.count) return;
        set.models.push_back(std::move(block.models[i]));
        if (set.models.size() == collection.count) set.tried = block.attempts[i] + 1;
      }
    }
  }
}

double base_objective(const StressSource& source) {
  check_stress_source(source, {});
  return training_objective(source).value(*source.base);
}

StressSet make_stress_set(StressKind kind, const StressSource& source, double bound,
                          const StressOptions& options, const Random& seeds,
                          const Execution& execution) {
  switch (kind) {
    case StressKind::retrain:
      return retrain_set(source, bound, options, seeds, execution);
    case StressKind::noise:
      return noise_set(source, bound, options, seeds, execution);
    case StressKind::adversarial:
      return adversarial_set(source, bound, options, execution);
    case StressKind::bootstrap:
      break;
  }
  return within(bootstrap_set(source, options, seeds, execution), bound);
}

StressSet within(const StressSet& set, double bound) {
  require(bound <= set.bound, "a set of models with L <= {} does not hold all with L <= {}",
          set.bound, bound);
  StressSet result{.kind = set.kind, .tried = set.tried, .bound = bound, .noise = set.noise};
  std::copy_if(set.models.begin(), set.models.end(), std::back_inserter(result.models),
               [&](const StressModel& model) { return model.objective <= bound; });
  return result;
}

Matrix stress_logits(const StressSet& set, RowMatrixArg rows, const Execution& execution) {
  Matrix result(rows.rows(), static_cast<Index>(set.models.size()));
  parallel_for("stress test", set.models.size(), execution, [&](std::size_t k) {
    result.col(static_cast<Index>(k)) = set.models[k].network.logits(rows);
  });
  return result;
}

namespace {

void require_models(const StressSet& set) {
  require(!set.models.empty(), "the {} set is empty: it says nothing about any point",
          enum_name(set.kind));
}

}  // namespace

bool accepts_all(const StressSet& set, VectorArg x, double threshold) {
  require_models(set);
  return std::all_of(set.models.begin(), set.models.end(),
                     [&](const StressModel& model) { return model.network.logit(x) >= threshold; });
}

std::vector<bool> accepted_by_all(const StressSet& set, RowMatrixArg rows, double threshold,
                                  const Execution& execution) {
  require_models(set);
  const Matrix scores = stress_logits(set, rows, execution);
  std::vector<bool> result(static_cast<std::size_t>(rows.rows()));
  for (Index i = 0; i < rows.rows(); ++i) {
    result[static_cast<std::size_t>(i)] = (scores.row(i).array() >= threshold).all();
  }
  return result;
}

}  // namespace ellice
