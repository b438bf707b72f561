#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "certificate/certifier.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "sets/contest.hpp"
#include "sets/uncertainty_set.hpp"
#include "support/class_cases.hpp"
#include "support/network_model.hpp"
#include "support/oracles.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

struct Case {
  SetKind set;
  std::optional<double> damping;
  Activation activation;
  std::vector<InputGroup> groups = {};
};

const std::vector<InputGroup> of_features(4);

class NetworkCertificate : public testing::TestWithParam<Case> {
 protected:
  NetworkCertificate() {
    choice = {.kind = GetParam().set, .damping = GetParam().damping};
    if (choice.kind == SetKind::ensemble) choice.members = {&second, &third};
  }

  /// The first certificate among random rows; the threshold is low enough for many.
  [[nodiscard]] Certificate issue(double epsilon = 0.01, double threshold = -1) const {
    const Certifier certifier(model, choice, epsilon, threshold);
    for (std::uint64_t k = 0; k < 500; ++k) {
      if (const auto certificate = certifier.certify(row(k))) return *certificate;
    }
    ADD_FAILURE() << "no robust row";
    return {};
  }
  [[nodiscard]] static RawRow row(std::uint64_t k) {
    const Vector raw = Random(k).normal_vector(4);
    return {raw.begin(), raw.end()};
  }
  [[nodiscard]] Certificate through_file(const Json& json) const {
    return certificate_from_json(parse_json(to_text(json), "c.json"), model, "c.json");
  }

  // An additive one of seed 11 accepts nobody.
  Model model = network_model({7, 5}, GetParam().activation, GetParam().groups.empty() ? 11 : 4, 4,
                              0.1, GetParam().groups);
  Model second = network_model({6}, GetParam().activation, 12);
  Model third = network_model({}, Activation::identity, 13);
  SetChoice choice;
};

TEST_P(NetworkCertificate, HoldsAfterTheWayThroughItsFile) {
  const Verifier verifier(model, {&third, &second});
  const Certifier certifier(model, choice, 0.01, -1);
  int issued = 0;
  for (std::uint64_t k = 0; k < 400; ++k) {
    const auto certificate = certifier.certify(row(k));
    const Evaluation evaluation = certifier.evaluate(row(k));
    EXPECT_EQ(certificate.has_value(),
              evaluation.robust_logit >= -1 && evaluation.real_logit.value_or(0) >= -1);
    if (!certificate) continue;
    ++issued;
    EXPECT_EQ(evaluation.logit, certificate->logit);
    EXPECT_LE(evaluation.robust_logit, certificate->robust_logit);
    const Verification verification =
        verifier.verify(through_file(to_json(*certificate, model.schema())));
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
  }
  EXPECT_GT(issued, 5);
}

TEST_P(NetworkCertificate, AgreesWithTheFunctionsOfItsSet) {
  const auto set = make_set(model, choice);
  const auto function = set->function();
  const Certifier certifier(model, choice, 0.01, -1);
  for (std::uint64_t k = 0; k < 50; ++k) {
    const Evaluation evaluation = certifier.evaluate(row(k));
    const double g = function->robust_logit(std::sqrt(0.02), model.encoder.encode(row(k)));
    EXPECT_NEAR(evaluation.robust_logit, g, 1e-11 * (1 + std::abs(g)));
  }
}

TEST_P(NetworkCertificate, HoldsAtItsMargin) {
  const Verifier verifier(model, {&second, &third});
  int issued = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    const Evaluation evaluation = Certifier(model, choice, 0.01, -1e6).evaluate(row(k));
    const double lowest = std::min(evaluation.robust_logit, evaluation.real_logit.value_or(1e300));
    EXPECT_FALSE(Certifier(model, choice, 0.01, lowest + 1e-9).certify(row(k)));
    const auto certificate = Certifier(model, choice, 0.01, lowest - 1e-9).certify(row(k));
    ASSERT_TRUE(certificate);
    const Verification verification = verifier.verify(*certificate);
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
    ++issued;
  }
  EXPECT_EQ(issued, 100);
}

TEST_P(NetworkCertificate, LosesNoAlteredNumber) {
  const Certificate certificate = issue();
  const Verifier verifier(model, {&second, &third});
  const Json document = to_json(certificate, model.schema());
  const Json flat = document.flatten();
  int altered = 0;
  for (const auto& [path, value] : flat.items()) {
    if (!value.is_number() || path == "/version") continue;
    const double number = value.get<double>();
    for (const double other :
         {number * (1 + 1e-6) + (number == 0 ? 1e-6 : 0), -number - 1, number + 1}) {
      Json copy = document;
      copy[Json::json_pointer(path)] = other;
      ++altered;
      try {
        EXPECT_FALSE(verifier.verify(through_file(copy)).holds()) << path << " = " << other;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::input || error.code() == ErrorCode::argument);
      }
    }
  }
  EXPECT_GT(altered, 30);
}

TEST_P(NetworkCertificate, ForEpsilonZeroSpeaksOfTheBaseModel) {
  const Certificate certificate = issue(0);
  EXPECT_EQ(certificate.logit, certificate.robust_logit);
  if (certificate.real_logit) {
    EXPECT_EQ(*certificate.real_logit, certificate.logit);
  }
  EXPECT_TRUE(Verifier(model, {&second, &third}).verify(certificate).holds());
}

TEST_P(NetworkCertificate, ClaimsOnlyWhatIsProved) {
  const Certificate certificate = issue();
  EXPECT_EQ(certificate.claim.find("Rashomon"), std::string::npos);
  const auto says = [&](const std::string& words) {
    return certificate.claim.find(words) != std::string::npos;
  };
  const bool first_order = choice.kind == SetKind::full || choice.kind == SetKind::isotropic;
  EXPECT_EQ(says("To first order"), first_order);
  EXPECT_EQ(says("nothing is proved"), first_order);
  EXPECT_EQ(says("radius"), first_order);
  EXPECT_EQ(says("hidden layers are fixed"), !first_order);
  EXPECT_EQ(says("damping"), choice.kind == SetKind::full || choice.damping.has_value());
  EXPECT_EQ(says("To second order"), !first_order && !choice.damping);
  Model stopped = model;
  stopped.training.head_decrement = 0.002;
  EXPECT_EQ(claim_text(stopped, with_stated_damping(choice, model), 0.01, 0)
                    .find("0.002 above the minimum") != std::string::npos,
            choice.kind != SetKind::isotropic);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, NetworkCertificate,
    testing::Values(Case{SetKind::last_layer, {}, Activation::relu},
                    Case{SetKind::last_layer, {}, Activation::tanh},
                    Case{SetKind::last_layer, 0.1, Activation::sigmoid},
                    Case{SetKind::full, {}, Activation::relu},
                    Case{SetKind::full, 0.02, Activation::tanh},
                    Case{SetKind::full, {}, Activation::sigmoid},
                    Case{SetKind::isotropic, {}, Activation::relu},
                    Case{SetKind::ensemble, {}, Activation::relu},
                    Case{SetKind::ensemble, 0.1, Activation::tanh},
                    Case{SetKind::last_layer, {}, Activation::relu, of_features},
                    Case{SetKind::full, {}, Activation::relu, of_features},
                    Case{SetKind::full, {}, Activation::tanh, of_features},
                    Case{SetKind::isotropic, {}, Activation::relu, of_features},
                    Case{SetKind::ensemble, {}, Activation::relu, of_features}));

TEST(FirstOrderCertificate, StatesTheRealLogitAtTheWorstParameters) {
  const Model model = network_model({7, 5}, Activation::relu, 11);
  const GaussNewton& kept = *model.curvature.full;
  const Certifier certifier(model, {.kind = SetKind::full}, 0.02, -1e6);
  const RawRow row = {0.5, -0.2, 1.0, 0.3};
  const Vector x = model.encoder.encode(row);
  const Vector theta = parameter_vector(model.network);
  const Vector j = oracles::numerical_gradient(
      [&](const Vector& at) { return with_parameters(model.network, at).logit(x); }, theta);
  Matrix h = kept.vectors * kept.values.asDiagonal() * kept.vectors.transpose();
  h.diagonal().array() += kept.damping;
  const Vector v = h.inverse() * j;
  const Network worst = with_parameters(model.network, theta - std::sqrt(2 * 0.02 / j.dot(v)) * v);
  EXPECT_NEAR(*certifier.evaluate(row).real_logit, worst.logit(x), 1e-6);
}

#if __LDBL_MANT_DIG__ == 113
using Quadruple = long double;
#else
__extension__ using Quadruple = __float128;
#endif

/// min of f + Jᵀδ over ½δᵀ(UEUᵀ+λI)δ ≤ ε for one hidden layer of relu units, by the formulas and a
/// dense elimination in twice the precision of certificates. U is taken as it is stored.
Quadruple dense_worst(const Network& network, const GaussNewton& set, const Vector& x,
                      double epsilon) {
  const Layer& first = network.layers[0];
  const Layer& head = network.layers[1];
  std::vector<Quadruple> weights, biases, above;
  Quadruple logit = head.bias(0);
  for (Index j = 0; j < first.bias.size(); ++j) {
    Quadruple z = first.bias(j);
    for (Index i = 0; i < x.size(); ++i) z += Quadruple(first.weights(j, i)) * x(i);
    const Quadruple delta = z > 0 ? Quadruple(head.weights(0, j)) : 0;
    for (Index i = 0; i < x.size(); ++i) weights.push_back(delta * x(i));
    biases.push_back(delta);
    above.push_back(z > 0 ? z : 0);
    logit += delta * z;
  }
  std::vector<Quadruple> jacobian = std::move(weights);
  jacobian.insert(jacobian.end(), biases.begin(), biases.end());
  jacobian.insert(jacobian.end(), above.begin(), above.end());
  jacobian.push_back(1);
  const std::size_t p = jacobian.size();
  std::vector<std::vector<Quadruple>> rows(p, std::vector<Quadruple>(p + 1, 0));
  for (std::size_t a = 0; a < p; ++a) {
    for (std::size_t b = 0; b < p; ++b) {
      for (Index k = 0; k < set.values.size(); ++k)
        rows[a][b] += Quadruple(set.values(k)) * set.vectors(static_cast<Index>(a), k) *
                      set.vectors(static_cast<Index>(b), k);
    }
    rows[a][a] += set.damping;
    rows[a][p] = jacobian[a];
  }
  for (std::size_t a = 0; a < p; ++a) {  // positive definite: no pivoting
    for (std::size_t b = a + 1; b < p; ++b) {
      const Quadruple factor = rows[b][a] / rows[a][a];
      for (std::size_t c = a; c <= p; ++c) rows[b][c] -= factor * rows[a][c];
    }
  }
  Quadruple square = 0;
  for (std::size_t a = p; a-- > 0;) {
    for (std::size_t b = a + 1; b < p; ++b) rows[a][p] -= rows[a][b] * rows[b][p];
    rows[a][p] /= rows[a][a];
    square += jacobian[a] * rows[a][p];
  }
  return logit - Quadruple(std::sqrt(2 * static_cast<long double>(epsilon)) *
                           std::sqrt(static_cast<long double>(square)));
}

// Weights that training let grow to 10⁵, and eigenvalues of 10¹² beside a damping of a tenth: of
// ‖J‖²/λ − Σ q·c² nothing was left, and U is orthonormal to 16 digits only.
TEST(FirstOrderCertificate, HoldsWhereCurvatureIsLargeAgainstItsDamping) {
  for (const std::uint64_t seed : testing_support::seeds(1, 60)) {
    Random random(seed);
    Model model = network_model({3}, Activation::relu, seed);
    Layer& first = model.network.layers[0];
    const double size = std::pow(10, 2 + 4 * random.uniform());
    first.weights *= size;
    first.bias *= size;
    model.network.layers[1].weights /= size;
    const Vector raw = random.normal_vector(4);
    const RawRow row(raw.begin(), raw.end());
    const Vector x = model.encoder.encode(row);
    // One eigenvector points nearly where the derivative does, which is along the units' values.
    GaussNewton& set = *model.curvature.full;
    const Index p = model.network.parameters();
    Matrix basis(p, 3);
    for (Index k = 0; k < 3; ++k) basis.col(k) = 1e-3 * random.normal_vector(p);
    basis.col(0).segment(p - 4, 3) = (first.weights * x + first.bias).cwiseMax(0.0);
    set.vectors = Eigen::HouseholderQR<Matrix>(basis).householderQ() * Matrix::Identity(p, 3);
    set.values = (Vector(3) << size * size * 100, size * size, 1).finished();
    const double epsilon = 0.03;
    const Quadruple worst = dense_worst(model.network, set, x, epsilon);
    const SetChoice choice{.kind = SetKind::full};
    const Evaluation found = Certifier(model, choice, epsilon, -1e9).evaluate(row);
    const auto exact = static_cast<double>(worst);
    EXPECT_NEAR(found.robust_logit, exact, 1e-9 * (1 + std::abs(exact))) << seed;
    // As near to the threshold as it may be: what is certified must hold.
    const Certifier tight(model, choice, epsilon, exact);
    const bool is_certified = tight.certify(row).has_value();
    EXPECT_TRUE(!is_certified || worst >= exact) << seed;
    const auto issued = Certifier(model, choice, epsilon, exact - 1).certify(row);
    ASSERT_TRUE(issued) << seed;
    EXPECT_TRUE(Verifier(model).verify(*issued).holds()) << seed;
  }
}

TEST(FirstOrderCertificate, IsNotIssuedOnAKink) {
  // The unit reads x0 − x1, which is 0 only up to rounding in the model's space.
  Model model = network_model({2}, Activation::relu, 4, 2);
  model.network.layers[0].weights << 1, 1, 0.5, 0.25;
  model.network.layers[0].bias << -3, 0.1;
  const Vector kink = (Vector(2) << 1, 2).finished();
  const RawRow at = model.encoder.decode(kink);
  const Vector z = model.encoder.encode(at);
  model.network.layers[0].bias(0) = -(z(0) + z(1));  // exactly 0 there, or one rounding beside
  const SetChoice full{.kind = SetKind::isotropic};
  const Certifier certifier(model, full, 0.01, -1e6);
  const auto certificate = certifier.certify(at);
  const long double unit = static_cast<long double>(z(0)) + z(1) + model.network.layers[0].bias(0);
  EXPECT_EQ(certificate.has_value(), unit != 0);
  RawRow beside = at;
  beside[0] = std::get<double>(at[0]) + 1e-3;
  EXPECT_TRUE(certifier.certify(beside));
}

// What the issuer refuses is refused where somebody writes it down all the same, and what it issues
// a little beside holds.
TEST(FirstOrderCertificate, IsRefusedOnAKinkByTheVerifier) {
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) {
    Model model = network_model({3, 2}, Activation::relu, seed);
    Random random(seed);
    const Vector raw = random.normal_vector(4);
    const RawRow at(raw.begin(), raw.end());
    const Vector z = model.encoder.encode(at);
    Layer& first = model.network.layers.front();
    const auto unit = static_cast<Index>(random.below(3));
    first.weights.row(unit).setZero();
    first.weights(unit, 1) = 1;
    first.bias(unit) = -z(1);  // what the unit reads is exactly 0
    const SetChoice choice{.kind = SetKind::isotropic};
    const Certifier certifier(model, choice, 0.01, -1e6);
    EXPECT_FALSE(certifier.certify(at)) << seed;
    RawRow beside = at;
    beside[1] = std::get<double>(at[1]) + std::pow(10, -2 - static_cast<double>(seed % 9));
    const std::optional<Certificate> issued = certifier.certify(beside);
    ASSERT_TRUE(issued) << seed;
    const Verifier verifier(model);
    EXPECT_TRUE(verifier.verify(*issued).holds()) << seed;

    Certificate forged = *issued;
    const Evaluation found = certifier.evaluate(at);
    forged.point = at;
    forged.encoded = z;
    forged.logit = found.logit;
    forged.robust_logit = found.robust_logit;
    forged.real_logit = found.real_logit;
    const Verification verification = verifier.verify(forged);
    ASSERT_EQ(verification.failures.size(), 1U) << seed;
    EXPECT_NE(verification.failures.front().find("kink"), std::string::npos);
  }
}

TEST(FirstOrderCertificate, NeedsTheRealNetworkToReachTheThreshold) {
  // A negative logit of a relu network falls faster than linearly along its own derivative.
  int differ = 0;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const Model model = network_model({7, 5}, Activation::relu, 11 + k % 5);
    const Vector raw = Random(k).normal_vector(4);
    const RawRow row(raw.begin(), raw.end());
    const SetChoice choice{.kind = SetKind::isotropic};
    const Evaluation evaluation = Certifier(model, choice, 0.1, -1e6).evaluate(row);
    if (!(*evaluation.real_logit < evaluation.robust_logit - 1e-6)) continue;
    ++differ;
    const double between = (*evaluation.real_logit + evaluation.robust_logit) / 2;
    EXPECT_FALSE(Certifier(model, choice, 0.1, between).certify(row));
  }
  EXPECT_GT(differ, 0);
}

TEST(ContestCertificate, HoldsWhereNearlyNothingIsLeftOfTheLead) {
  // Who has no answer at ε gets one at the largest ε that he can have, where the robust logit is a
  // billionth: a difference of numbers that are known to their own rounding.
  int issued = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Model model = problem_zoo::class_model(4, 3, seed, 1e-6);
    const Verifier verifier(model);
    const SetChoice choice{.contest = make_contest(model, 2)};
    for (std::uint64_t k = 0; k < 40; ++k) {
      const Vector raw = 2 * Random(k).normal_vector(4);
      const RawRow row(raw.begin(), raw.end());
      if (Certifier(model, choice, 0, -1e6).evaluate(row).logit < 0.1) continue;
      double low = 0;
      double high = 100;
      for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        const bool holds = Certifier(model, choice, middle, -1e6).evaluate(row).robust_logit > 1e-9;
        (holds ? low : high) = middle;
      }
      const auto certificate = Certifier(model, choice, low, 0).certify(row);
      if (!certificate) continue;
      EXPECT_LT(certificate->robust_logit, 1e-6);
      const Verification verification = verifier.verify(*certificate);
      EXPECT_TRUE(verification.holds()) << verification.failures.front();
      ++issued;
    }
  }
  EXPECT_GT(issued, 20);
}

TEST(EnsembleCertificate, NeedsItsModelsToBeVerified) {
  const Model model = network_model({6}, Activation::relu, 21);
  const Model second = network_model({5}, Activation::relu, 22);
  const SetChoice choice{.kind = SetKind::ensemble, .members = {&second}};
  const auto certificate = Certifier(model, choice, 0.01, -1e6).certify({0.5, -0.2, 1.0, 0.3});
  ASSERT_TRUE(certificate);
  EXPECT_TRUE(Verifier(model, {&second}).verify(*certificate).holds());
  EXPECT_THROW((void)Verifier(model).verify(*certificate), Error);
  Certificate fewer = *certificate;
  fewer.members.clear();
  EXPECT_THROW((void)Verifier(model, {&second}).verify(fewer), Error);
}

TEST(EnsembleCertificate, ItsVerifiedLogitIsTheSmallestOfAllModels) {
  const Model model = network_model({6}, Activation::relu, 21);
  const Model second = network_model({5}, Activation::relu, 22);
  int other_is_worse = 0;
  for (const auto& [first, other] : {std::pair(&model, &second), std::pair(&second, &model)}) {
    const SetChoice choice{.kind = SetKind::ensemble, .members = {other}};
    const auto certificate = Certifier(*first, choice, 0.01, -1e6).certify({0.5, -0.2, 1.0, 0.3});
    ASSERT_TRUE(certificate);
    const double of_other = certificate->members.front().robust_logit;
    other_is_worse += of_other < certificate->robust_logit ? 1 : 0;
    EXPECT_NEAR(Verifier(*first, {other}).verify(*certificate).robust_logit,
                std::min(certificate->robust_logit, of_other), 1e-9);
  }
  EXPECT_EQ(other_is_worse, 1);
}

/// What a member decides by need not lie in its set: each row is held against it.
TEST(EnsembleCertificate, HoldsRowsAgainstWhatItsMembersDecideBy) {
  const Model model = network_model({6}, Activation::relu, 21);
  Model second = network_model({5}, Activation::relu, 22);
  const RawRow row = {0.5, -0.2, 1.0, 0.3};
  second.deployed = Deployed{.head = second.network.head(),
                             .threshold = -1e6,
                             .margin = 1e-3,
                             .offsets = Vector::Zero(second.encoder.columns())};
  second.decision.threshold = -1e6 + 1e-3;
  const SetChoice choice{.kind = SetKind::ensemble, .members = {&second}};
  const auto certificate = Certifier(model, choice, 0.01, -1e6).certify(row);
  ASSERT_TRUE(certificate);
  EXPECT_NE(certificate->claim.find("deployed parameters of model 2"), std::string::npos);
  EXPECT_TRUE(Verifier(model, {&second}).verify(*certificate).holds());

  // The same set, and another decision: by parameters far off, or from a higher score on.
  Model declines = second;
  declines.deployed->head.tail(1)(0) -= 2e6;
  Model asks_more = second;
  asks_more.deployed->threshold = 1e3;
  asks_more.decision.threshold = 1e3 + 1e-3;
  for (Model* other : {&declines, &asks_more}) {
    const SetChoice with{.kind = SetKind::ensemble, .members = {other}};
    EXPECT_FALSE(Certifier(model, with, 0.01, -1e6).certify(row));
    const Verification verdict = Verifier(model, {other}).verify(*certificate);
    EXPECT_FALSE(verdict.holds());
    EXPECT_TRUE(std::any_of(
        verdict.failures.begin(), verdict.failures.end(),
        [](const std::string& failure) { return failure.find("deployed") != std::string::npos; }));
  }
}

TEST(NetworkCertificateFile, RefusesWhatBelongsToAnotherSet) {
  const Model model = network_model({6}, Activation::relu, 21);
  const auto json = [&](SetKind kind) {
    const Certifier certifier(model, {.kind = kind}, 0.01, -1e6);
    return to_json(*certifier.certify({0.5, -0.2, 1.0, 0.3}), model.schema());
  };
  const std::vector<std::tuple<SetKind, std::string, std::function<void(Json&)>>> damages = {
      {SetKind::full, "damping", [](Json& c) { c.erase("damping"); }},
      {SetKind::full, "damping", [](Json& c) { c["damping"] = 0; }},
      {SetKind::full, "real_logit", [](Json& c) { c.erase("real_logit"); }},
      {SetKind::full, "predicted_logit", [](Json& c) { c["predicted_logit"] = 0; }},
      {SetKind::full, "worst_model",
       [](Json& c) {
         c["worst_model"] = {1, 2};
       }},
      {SetKind::full, "members", [](Json& c) { c["members"] = Json::array(); }},
      {SetKind::isotropic, "damping", [](Json& c) { c["damping"] = 1; }},
      {SetKind::last_layer, "real_logit", [](Json& c) { c["real_logit"] = 1; }},
      {SetKind::last_layer, "worst_model", [](Json& c) { c["worst_model"].push_back(1); }},
      {SetKind::last_layer, "members", [](Json& c) { c["set"] = "ensemble"; }},
  };
  for (const auto& [kind, named, damage] : damages) {
    Json bad = json(kind);
    damage(bad);
    try {
      (void)certificate_from_json(bad, model, "c.json");
      ADD_FAILURE() << named << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input);
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    }
  }
}

TEST(DeadNetwork, CanBeCertifiedAndVerified) {
  Model model = network_model({6, 4}, Activation::relu, 2);
  for (std::size_t l = 0; l < 2; ++l) model.network.layers[l].bias.setConstant(-1000);
  for (const SetKind kind : {SetKind::last_layer, SetKind::full, SetKind::isotropic}) {
    const auto certificate =
        Certifier(model, {.kind = kind}, 0.01, -1e6).certify({0.5, -0.2, 1.0, 0.3});
    ASSERT_TRUE(certificate);
    const Verification verification = Verifier(model).verify(*certificate);
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
  }
}

}  // namespace
}  // namespace ellice
