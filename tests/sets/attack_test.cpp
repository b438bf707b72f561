#include "ellice/sets/attack.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/certificate/certificate.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "support/network_model.hpp"

namespace ellice {
namespace {

/// (1/n) Σ log(1 + exp(−sf)) + (l2/2)‖θ‖², row by row.
double plain_objective(const Network& network, const RowMatrix& rows,
                       const std::vector<int>& labels, double l2) {
  double sum = 0;
  for (Index i = 0; i < rows.rows(); ++i) {
    const double f = network.logit(rows.row(i).transpose());
    sum += std::log1p(std::exp(labels[static_cast<std::size_t>(i)] == 1 ? -f : f));
  }
  return sum / static_cast<double>(rows.rows()) + l2 / 2 * parameter_vector(network).squaredNorm();
}

struct Attacked {
  problem_zoo::Labelled labelled = {};
  Model model = {};
  RowMatrix rows = {};
};

Attacked random_case(const std::vector<Index>& hidden) {
  Attacked result{.labelled = problem_zoo::random_rows(80, 4, 31),
                  .model = network_model(hidden, Activation::relu, 31)};
  result.rows = result.model.encoder.encode(result.labelled.features);
  return result;
}

TEST(Attack, StaysWithinTheBoundAndStatesWhatItFound) {
  for (const std::vector<Index>& hidden : std::vector<std::vector<Index>>{{}, {8}, {7, 5}}) {
    const Attacked at = random_case(hidden);
    const LabelledRows rows{.features = &at.rows, .labels = &at.labelled.labels};
    const double base =
        plain_objective(at.model.network, at.rows, at.labelled.labels, at.model.training.l2);
    double last = std::numeric_limits<double>::infinity();
    for (const double epsilon : {0.0, 0.001, 0.01, 0.1}) {
      const Vector x = at.rows.row(3);
      const Attack found = attack(at.model, rows, epsilon, x, -1e6);
      const Network network = with_parameters(at.model.network, found.parameters);
      const double excess =
          plain_objective(network, at.rows, at.labelled.labels, at.model.training.l2) - base;
      EXPECT_LE(excess, epsilon + 1e-12);
      EXPECT_NEAR(found.excess, excess, 1e-12);
      EXPECT_NEAR(found.logit, network.logit(x), 1e-12);
      EXPECT_FALSE(found.broken);
      EXPECT_EQ(found.direction == AttackDirection::none, epsilon == 0);
      EXPECT_LE(found.logit, last);
      last = found.logit;
      EXPECT_TRUE(attack(at.model, rows, epsilon, x, found.logit + 1e-9).broken);
    }
  }
}

TEST(Attack, ReachesTheWorstModelWhereTheSetIsExact) {
  // Squared loss, at its minimum: the ellipsoid is the set.
  const problem_zoo::Labelled labelled = problem_zoo::random_rows(200, 4, 17);
  const Model model = train(problem_zoo::numeric_dataset(labelled), {},
                            {.loss = LossKind::squared, .l2 = 1e-2, .folds = 0})
                          .model;
  const RowMatrix rows = model.encoder.encode(labelled.features);
  const Ellipsoid set = last_layer_set(model, 0.01);
  for (Index i = 0; i < 20; ++i) {
    const Vector x = rows.row(i);
    const double g = robust_logit(set, with_one(x));
    const Attack found =
        attack(model, {.features = &rows, .labels = &labelled.labels}, 0.01, x, -1e6);
    EXPECT_GE(found.logit, g - 1e-9);
    EXPECT_LE(found.logit, g + 1e-3 * std::abs(model.logit(x) - g));
  }
}

TEST(Attack, FindsMoreThanTheWorstPointOfTheLinearisedNetwork) {
  const Attacked at = random_case({7, 5});
  const LabelledRows rows{.features = &at.rows, .labels = &at.labelled.labels};
  int deeper = 0;
  for (Index i = 0; i < 20; ++i) {
    const Vector x = at.rows.row(i);
    const Attack lines = attack(at.model, rows, 0.02, x, -1e6, {.descent_steps = 0});
    const Attack all = attack(at.model, rows, 0.02, x, -1e6);
    EXPECT_LE(all.logit, lines.logit);
    deeper += all.direction == AttackDirection::descent ? 1 : 0;
  }
  EXPECT_GT(deeper, 10);
}

TEST(Attack, RefusesBadInput) {
  const Attacked at = random_case({5});
  const LabelledRows rows{.features = &at.rows, .labels = &at.labelled.labels};
  EXPECT_THROW((void)attack(at.model, rows, -1, at.rows.row(0).transpose(), 0), Error);
  EXPECT_THROW((void)attack(at.model, rows, NAN, at.rows.row(0).transpose(), 0), Error);
  EXPECT_THROW((void)attack(at.model, rows, 0.1, Vector::Zero(3), 0), Error);
  EXPECT_THROW((void)attack(at.model, {}, 0.1, at.rows.row(0).transpose(), 0), Error);
}

}  // namespace
}  // namespace ellice
