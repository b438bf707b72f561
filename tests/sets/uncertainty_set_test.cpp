#include "sets/uncertainty_set.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "sets/ellipsoid.hpp"
#include "solver/allocation_count.hpp"
#include "support/network_model.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

struct Case {
  std::vector<Index> hidden;
  Activation activation;
  SetKind set;
  std::optional<double> damping = {};
  std::vector<InputGroup> groups = {};
};

const std::vector<InputGroup> of_features = {{.columns = 1}, {.columns = 2}, {.columns = 1}};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const SetKind set : {SetKind::last_layer, SetKind::isotropic, SetKind::ensemble}) {
    result.push_back({{}, Activation::identity, set});
  }
  for (const Activation kind : {Activation::relu, Activation::tanh}) {
    for (const std::vector<Index>& hidden :
         std::vector<std::vector<Index>>{{6}, {7, 5}, {5, 6, 4}}) {
      for (const SetKind set :
           {SetKind::last_layer, SetKind::full, SetKind::isotropic, SetKind::ensemble}) {
        result.push_back({hidden, kind, set});
      }
      result.push_back({hidden, kind, SetKind::last_layer, 0.1});
      result.push_back({hidden, kind, SetKind::full, 0.03});
    }
    for (const SetKind set : {SetKind::last_layer, SetKind::full, SetKind::isotropic}) {
      result.push_back({{4}, kind, set, {}, of_features});
      result.push_back({{4, 3}, kind, set, {}, of_features});
    }
  }
  return result;
}

class EverySet : public testing::TestWithParam<std::size_t> {
 protected:
  EverySet() {
    choice.kind = at.set;
    choice.damping = at.damping;
    if (at.set == SetKind::ensemble) choice.members = {&second, &third};
    set = make_set(model, choice);
    function = set->function();
  }

  Case at = cases()[GetParam()];
  Model model = network_model(at.hidden, at.activation, GetParam() + 1, 4, 0.1, at.groups);
  Model second = network_model(at.hidden, at.activation, GetParam() + 101);  // other rows, so
  Model third = network_model({}, Activation::identity, GetParam() + 201);   // another encoder
  SetChoice choice;
  std::unique_ptr<UncertaintySet> set;
  std::unique_ptr<RobustFunction> function;
  Vector x = Random(300 + GetParam()).normal_vector(4);

  [[nodiscard]] const Model& member(Index k) const {
    return k == 0 ? model : *choice.members[static_cast<std::size_t>(k - 1)];
  }
  /// What member k sees of x: through original units.
  [[nodiscard]] Vector seen_by(Index k, const Vector& at_x) const {
    const Vector raw = at_x.cwiseProduct(model.encoder.scale()) + model.encoder.mean();
    return (raw - member(k).encoder.mean()).cwiseQuotient(member(k).encoder.scale());
  }
  /// The vector j and the matrix Σ⁻¹ with s² = jᵀΣj, dense.
  [[nodiscard]] double dense_spread(Index k) const {
    const Network& network = member(k).network;
    if (at.set == SetKind::last_layer || at.set == SetKind::ensemble) {
      const Vector j = with_one(network.features(seen_by(k, x)));
      Matrix h = member(k).curvature.hessian;
      if (at.damping) h.diagonal().array() += *at.damping - 1e-3;
      return std::sqrt(j.dot(h.inverse() * j));
    }
    const Vector j = oracles::numerical_gradient(
        [&](const Vector& theta) { return with_parameters(network, theta).logit(x); },
        parameter_vector(network));
    Matrix h = Matrix::Identity(j.size(), j.size());
    if (at.set == SetKind::full) {
      const GaussNewton& kept = *model.curvature.full;
      h *= at.damping.value_or(kept.damping);
      h += kept.vectors * kept.values.asDiagonal() * kept.vectors.transpose();
    }
    return std::sqrt(j.dot(h.inverse() * j));
  }
};

TEST_P(EverySet, ValueIsThatOfDenseMatrices) {
  for (Index k = 0; k < function->parts(); ++k) {
    const RobustScore score = function->value(k, x);
    const double logit = member(k).network.logit(seen_by(k, x));
    EXPECT_NEAR(score.logit, logit, 1e-12 * (1 + std::abs(logit)));
    const double spread = dense_spread(k);
    EXPECT_NEAR(score.spread, spread, 1e-7 * spread);
  }
}

TEST_P(EverySet, GradientsAgreeWithDifferences) {
  Vector logit_gradient;
  Vector spread_gradient;
  for (Index k = 0; k < function->parts(); ++k) {
    const RobustScore score = function->gradient(k, x, logit_gradient, spread_gradient);
    const RobustScore value = function->value(k, x);
    EXPECT_NEAR(score.logit, value.logit, 1e-14 * (1 + std::abs(value.logit)));
    EXPECT_NEAR(score.spread, value.spread, 1e-12 * value.spread);
    const Vector logit = oracles::numerical_gradient(
        [&](const Vector& z) { return function->value(k, z).logit; }, x);
    const Vector spread = oracles::numerical_gradient(
        [&](const Vector& z) { return function->value(k, z).spread; }, x);
    EXPECT_LE((logit_gradient - logit).norm(), 1e-7 * (1 + logit.norm()));
    EXPECT_LE((spread_gradient - spread).norm(), 1e-7 * (1 + spread.norm()));
  }
}

TEST_P(EverySet, GradientsHoldWhereInputsAreZero) {
  x(1) = 0;
  x(3) = 0;
  Vector logit_gradient;
  Vector spread_gradient;
  (void)function->gradient(0, x, logit_gradient, spread_gradient);
  const Vector spread =
      oracles::numerical_gradient([&](const Vector& z) { return function->value(0, z).spread; }, x);
  EXPECT_LE((spread_gradient - spread).norm(), 1e-7 * (1 + spread.norm()));
}

TEST_P(EverySet, CurvatureIsThatOfRelu) {
  Vector ignored;
  Vector spread_gradient;
  Matrix root;
  for (Index k = 0; k < function->parts(); ++k) {
    (void)function->gradient(k, x, ignored, spread_gradient);
    if (!function->spread_root(k, root)) {
      EXPECT_TRUE(at.set == SetKind::full || at.set == SetKind::isotropic);
      continue;
    }
    const Matrix hessian = root.transpose() * root;
    if (at.activation == Activation::tanh && k < 2) continue;  // has more curvature than this part
    const Matrix expected = oracles::numerical_jacobian(
        [&](const Vector& z) {
          Vector gradient;
          (void)function->gradient(k, z, ignored, gradient);
          return gradient;
        },
        x);
    EXPECT_LE((hessian - expected).norm(), 1e-6 * (1 + expected.norm()));
  }
}

TEST_P(EverySet, RobustGradientIsThatOfTheWholeAndKinksFallBehindIt) {
  const double kappa = 0.4;
  Random random(GetParam() + 40);
  Vector logit_gradient, spread_gradient, gradient, normal;
  std::vector<Index> crossed, others;
  int seen = 0;
  for (int k = 0; k < 20; ++k) {
    const Vector row = random.normal_vector(4);
    (void)function->gradient(0, row, logit_gradient, spread_gradient);
    (void)function->robust_gradient(0, kappa, row, gradient);
    EXPECT_LT((gradient - (logit_gradient - kappa * spread_gradient)).norm(),
              1e-12 * (1 + logit_gradient.norm()));
    crossed.clear();
    function->crossed_units(0, 0.5 * random.normal_vector(4), crossed);
    for (const Index unit : crossed) {
      (void)function->robust_gradient(0, kappa, row, gradient);
      RobustFunction::UnitKink kink = function->unit_kink(0, unit, normal);
      if (kink.weight <= 0) continue;
      // Near the hyperplane, to it, and as far beyond it again.
      const Vector near = row - (1 - 1e-4) * kink.distance / normal.squaredNorm() * normal;
      const double here = function->robust_gradient(0, kappa, near, gradient).robust(kappa);
      kink = function->unit_kink(0, unit, normal);
      const Vector step = -2 * kink.distance / normal.squaredNorm() * normal;
      others.clear();
      function->crossed_units(0, step, others);
      const bool is_alone = others.size() == 1 && others.front() == unit;
      if (kink.weight <= 0 || !is_alone || step.norm() > 1e-3) continue;
      const double lost = kink.weight * kink.distance;
      const auto robust = [&](double share) {
        return function->value(0, near + share * step).robust(kappa);
      };
      const double close = 1e-2 * lost + 100 * step.squaredNorm();
      EXPECT_NEAR(robust(0.5), here + 0.5 * gradient.dot(step), close);
      EXPECT_NEAR(robust(1), here + gradient.dot(step) - lost, close);
      if (close < 0.1 * lost) ++seen;
    }
  }
  const bool has_kinks = at.activation == Activation::relu && !at.hidden.empty() &&
                         (at.set == SetKind::last_layer || at.set == SetKind::ensemble);
  EXPECT_EQ(seen > 0, has_kinks);
}

TEST_P(EverySet, BatchIsThePointsOneByOneForAnyNumberOfThreads) {
  RowMatrix rows(150, 4);
  for (Index i = 0; i < rows.rows(); ++i) {
    rows.row(i) = Random(static_cast<std::uint64_t>(i)).normal_vector(4);
  }
  const Vector one = robust_logits(*set, 0.02, rows);
  EXPECT_EQ(robust_logits(*set, 0.02, rows, {.threads = 3}), one);
  for (Index i = 0; i < rows.rows(); ++i) {
    EXPECT_EQ(one(i), function->robust_logit(std::sqrt(0.04), rows.row(i).transpose()));
  }
}

TEST_P(EverySet, WhatWasAskedBeforeNeverChangesAValue) {
  // More points than a function can remember regions of, and the first ones again.
  Vector logit_gradient;
  Vector spread_gradient;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Vector point = 3 * Random(seed % 250).normal_vector(4);
    const auto fresh = set->function();
    for (Index k = 0; k < function->parts(); ++k) {
      EXPECT_EQ(function->value(k, point).spread, fresh->value(k, point).spread);
      Vector fresh_logit;
      Vector fresh_spread;
      const RobustScore expected = fresh->gradient(k, point, fresh_logit, fresh_spread);
      EXPECT_EQ(function->gradient(k, point, logit_gradient, spread_gradient).spread,
                expected.spread);
      EXPECT_EQ(logit_gradient, fresh_logit);
      EXPECT_EQ(spread_gradient, fresh_spread);
    }
  }
}

TEST_P(EverySet, NeverAllocatesWhereItWasBefore) {
  Vector logit_gradient;
  Vector spread_gradient;
  // Of several sizes, by part and by how many units are on: what they need is the caller's.
  std::vector<Matrix> roots(static_cast<std::size_t>(10 * function->parts()));
  const Vector first = x;
  const auto walk = [&] {
    x = first;
    for (int i = 0; i < 10; ++i, x *= -0.9) {
      for (Index k = 0; k < function->parts(); ++k) {
        (void)function->value(k, x);
        (void)function->gradient(k, x, logit_gradient, spread_gradient);
        (void)function->spread_root(k, roots[static_cast<std::size_t>(10 * k + i)]);
      }
    }
  };
  walk();
  const auto before = allocation_count();
  if (!before) GTEST_SKIP() << "skipped: another allocator is in charge";
  walk();
  EXPECT_EQ(allocation_count(), before);
}

INSTANTIATE_TEST_SUITE_P(Cases, EverySet, testing::Range(std::size_t{0}, cases().size()));

/// J in all parameters, by plain differences of the logit.
Vector parameter_derivative(const Network& network, const Vector& x) {
  return oracles::numerical_gradient(
      [&](const Vector& theta) { return with_parameters(network, theta).logit(x); },
      parameter_vector(network));
}

class SampledFullSet : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(DenseAndAdditive, SampledFullSet, testing::Bool());

TEST_P(SampledFullSet, HoldsForEverySampledNetworkAndIsAttained) {
  const Model model = GetParam() ? network_model({5, 4}, Activation::relu, 5, 4, 0.1, of_features)
                                 : network_model({7, 5}, Activation::relu, 5);
  const GaussNewton& kept = *model.curvature.full;
  const Vector x = Random(8).normal_vector(4);
  const Vector j = parameter_derivative(model.network, x);
  Matrix h = kept.vectors * kept.values.asDiagonal() * kept.vectors.transpose();
  h.diagonal().array() += kept.damping;
  const double epsilon = 0.05;
  const Eigen::LLT<Matrix> factor(h);
  const auto set = make_set(model, {.kind = SetKind::full});
  const double g = set->function()->robust_logit(std::sqrt(2 * epsilon), x);
  const double f = model.logit(x);
  for (std::uint64_t k = 0; k < 5000; ++k) {
    const Vector u = Random(k).normal_vector(j.size()).normalized();
    const Vector step = std::sqrt(2 * epsilon) * factor.matrixU().solve(u);
    ASSERT_NEAR(step.dot(h * step) / 2, epsilon, 1e-12);
    EXPECT_GE(f + j.dot(step), g);
  }
  const Vector v = factor.solve(j);
  const Vector worst = -std::sqrt(2 * epsilon / j.dot(v)) * v;
  EXPECT_NEAR(worst.dot(h * worst) / 2, epsilon, 1e-10);
  EXPECT_NEAR(f + j.dot(worst), g, 1e-7 * (1 + std::abs(g)));
}

TEST(FullSet, IsNeverSmallerForFewerPairs) {
  const Model all = network_model({6, 6}, Activation::relu, 9, 4, 1e-9);
  const auto exact = make_set(all, {.kind = SetKind::full});
  const auto exact_function = exact->function();
  double last_rank = static_cast<double>(all.curvature.full->values.size());
  for (const double share : {0.01, 0.1, 0.5, 5.0}) {
    const Model fewer = network_model({6, 6}, Activation::relu, 9, 4, share);
    EXPECT_LT(fewer.curvature.full->values.size(), last_rank);
    last_rank = static_cast<double>(fewer.curvature.full->values.size());
    const auto cut = make_set(fewer, {.kind = SetKind::full});
    const auto function = cut->function();
    for (std::uint64_t k = 0; k < 50; ++k) {
      const Vector x = Random(k).normal_vector(4);
      EXPECT_GE(function->value(0, x).spread, exact_function->value(0, x).spread * (1 - 1e-12));
    }
  }
}

TEST(FullSet, SpreadStaysPositiveWhereRoundingWouldCancelIt) {
  // One eigenvalue of 10¹⁶ along J itself: ‖J‖²/λ and what is subtracted agree in all digits.
  Model model = network_model({5}, Activation::relu, 3);
  const Vector x = Random(4).normal_vector(4);
  NetworkPass pass(model.network);
  (void)pass.forward(x);
  pass.backward();
  Vector j;
  pass.parameter_gradient(j);
  model.curvature.full->values = Vector::Constant(1, 1e16);
  model.curvature.full->vectors = j.normalized();
  const auto set = make_set(model, {.kind = SetKind::full});
  const double s = set->function()->value(0, x).spread;
  EXPECT_GE(s, j.norm() / std::sqrt(1e16 + 0.1) * (1 - 1e-12));
}

TEST(DeadNetwork, HasOnlyTheHeadsBiasToMove) {
  Model model = network_model({6, 4}, Activation::relu, 2);
  for (std::size_t l = 0; l < 2; ++l) model.network.layers[l].bias.setConstant(-1000);
  model.curvature.full->values.resize(0);
  model.curvature.full->vectors.resize(model.network.parameters(), 0);
  model.curvature.hessian = 1e-3 * Matrix::Identity(5, 5);
  const Vector x = Random(4).normal_vector(4);
  for (const auto& [kind, spread] :
       std::vector<std::pair<SetKind, double>>{{SetKind::last_layer, 1 / std::sqrt(1e-3)},
                                               {SetKind::full, 1 / std::sqrt(0.1)},
                                               {SetKind::isotropic, 1}}) {
    const auto set = make_set(model, {.kind = kind});
    const auto function = set->function();
    Vector logit_gradient;
    Vector spread_gradient;
    const RobustScore score = function->gradient(0, x, logit_gradient, spread_gradient);
    EXPECT_EQ(score.logit, model.network.layers.back().bias(0));
    EXPECT_NEAR(score.spread, spread, 1e-14 * spread);
    EXPECT_EQ(logit_gradient, Vector::Zero(4));
    EXPECT_EQ(spread_gradient, Vector::Zero(4));
    Matrix root;
    if (function->spread_root(0, root)) {
      EXPECT_EQ(root, Matrix::Zero(root.rows(), 4));
    }
  }
}

TEST(RobustLogits, AreTheLogitsForEpsilonZero) {
  const Model model = network_model({6}, Activation::relu, 2);
  const RowMatrix rows = Random(3).normal_vector(20).reshaped(5, 4);
  for (const SetKind kind : {SetKind::last_layer, SetKind::full, SetKind::isotropic}) {
    const auto set = make_set(model, {.kind = kind});
    EXPECT_LE((robust_logits(*set, 0, rows) - model.network.logits(rows)).norm(), 1e-13);
    EXPECT_THROW((void)robust_logits(*set, -1, rows), Error);
    EXPECT_THROW((void)robust_logits(*set, std::nan(""), rows), Error);
  }
}

TEST(LastLayerSet, OfALinearModelIsItsEllipsoid) {
  const Model model = network_model({}, Activation::identity, 6);
  const auto set = make_set(model, {});
  const RowMatrix rows = Random(3).normal_vector(40).reshaped(10, 4);
  EXPECT_LE(
      (robust_logits(*set, 0.03, rows) - robust_logits(last_layer_set(model, 0.03), rows)).norm(),
      1e-11);
}

TEST(DampedHessian, ReplacesThePenalty) {
  Model model = network_model({5}, Activation::relu, 6);
  const Matrix h = model.curvature.hessian;
  EXPECT_EQ(damped_hessian(model, {}), h);
  EXPECT_EQ(damped_hessian(model, 1e-3), h);
  Matrix difference = damped_hessian(model, 0.1) - h;
  EXPECT_LE((difference - 0.099 * Matrix::Identity(6, 6)).norm(), 1e-15);
  model.training.penalize_bias = false;
  difference = damped_hessian(model, 0.1) - h;
  EXPECT_EQ(difference(5, 5), 0);
}

TEST(SetChoice, IsRefusedWithTheReason) {
  const Model linear = network_model({}, Activation::identity, 1);
  const Model network = network_model({5}, Activation::relu, 1);
  Model bare = network;
  bare.curvature.full.reset();
  Model imported = bare;
  imported.origin = Origin{.kind = "onnx"};
  Model renamed = network_model({5}, Activation::relu, 1, 5);  // five features
  Model singular = network;
  singular.curvature.hessian.setZero();
  singular.curvature.hessian.diagonal().setConstant(1e-3);
  const std::vector<std::tuple<const Model*, SetChoice, std::string>> refused = {
      {&linear, {.kind = SetKind::full}, "hidden layers"},
      {&bare, {.kind = SetKind::full}, "train it again"},
      {&imported, {.kind = SetKind::full}, "was imported: use the last-layer"},
      {&network, {.damping = 0.0}, "must be > 0"},
      {&network, {.damping = std::nan("")}, "must be > 0"},
      {&network, {.kind = SetKind::isotropic, .damping = 1.0}, "no damping"},
      {&network, {.members = {&network}}, "need the ensemble set"},
      {&network, {.kind = SetKind::ensemble}, "at least one"},
      {&network, {.kind = SetKind::ensemble, .members = {&renamed}}, "another schema"},
      {&singular, {.damping = 1e-300}, "use a larger one"},
  };
  for (const auto& [model, choice, reason] : refused) {
    try {
      validate(choice, *model);
      ADD_FAILURE() << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::argument);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace ellice
