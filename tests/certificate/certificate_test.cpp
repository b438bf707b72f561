#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "certificate/certifier.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "sets/sampling.hpp"
#include "support/datasets.hpp"
#include "support/numeric_dataset.hpp"

namespace ellice {
namespace {

struct Issued {
  Model model = {};
  Certificate certificate = {};
};

/// The first row of the embedded data that is robust.
Issued issue(double epsilon = 0.01) {
  const Dataset data = lending_dataset(400, 1);
  Issued result{.model = train(data, {}, {.folds = 0}).model};
  const Certifier certifier(result.model, epsilon, 0);
  for (Index i = 0; i < data.rows(); ++i) {
    const Vector raw = data.raw.row(i);
    auto certificate = certifier.certify(
        result.model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())}));
    if (certificate) {
      result.certificate = *certificate;
      return result;
    }
  }
  ADD_FAILURE() << "no robust row";
  return result;
}

/// Through text and back, as `ellice verify` reads it.
Certificate through_file(const Json& json, const Model& model) {
  return certificate_from_json(parse_json(to_text(json), "c.json"), model, "c.json");
}

TEST(Certificate, HoldsAfterTheWayThroughItsFile) {
  const auto [model, certificate] = issue();
  const Certificate read = through_file(to_json(certificate, model.schema()), model);
  const Verification verification = Verifier(model).verify(read);
  EXPECT_TRUE(verification.holds()) << verification.failures.front();
  EXPECT_NEAR(verification.robust_logit, certificate.robust_logit,
              1e-12 * std::abs(certificate.robust_logit));
}

TEST(Certificate, IsTrueForEverySampledModel) {
  const auto [model, certificate] = issue(0.02);
  const Ellipsoid set = last_layer_set(model, certificate.epsilon);
  const Vector scores = sample_boundary(set, 20000, Random(3)) * with_one(certificate.encoded);
  EXPECT_GE(scores.minCoeff(), certificate.robust_logit);
  EXPECT_GE(certificate.robust_logit, certificate.threshold);
}

TEST(Certificate, IsNotIssuedBelowTheThreshold) {
  const auto [model, certificate] = issue();
  const double g = certificate.robust_logit;
  EXPECT_TRUE(Certifier(model, certificate.epsilon, g - 1e-9).certify(certificate.point));
  EXPECT_FALSE(Certifier(model, certificate.epsilon, g + 1e-9).certify(certificate.point));
  EXPECT_FALSE(Certifier(model, certificate.epsilon, g).certify(certificate.point))
      << "equality is within rounding and proves nothing";
}

// Below the threshold by more than rounding there is none, above it by twice a certificate's margin
// there is one, however large the terms are that cancel.
TEST(Certificate, IsNotRefusedForTheRoundingOfDoubles) {
  problem_zoo::Labelled rows = problem_zoo::random_rows(200, 6, 43);
  Model model = train(problem_zoo::numeric_dataset(rows), {}, {.folds = 0}).model;
  for (const double size : {1.0, 1e8}) {
    model.network.layers.front().bias(0) = -size;
    model.network.layers.front().weights(0, 0) = size;
    for (Index i = 0; i < 50; ++i) {
      RawRow point;
      for (const double value : rows.features.row(i)) point.emplace_back(value);
      const LongVector z = model.encoder.encode(point).cast<long double>();
      const LongVector head = model.network.head().cast<long double>();
      const long double logit = head.head(6).dot(z) + head(6);
      const long double scale =
          head.head(6).cwiseProduct(z).cwiseAbs().sum() + std::abs(head(6)) + std::abs(logit);
      const Certifier above(model, 0, static_cast<double>(logit - 3e-12L * scale));
      EXPECT_TRUE(above.certify(point)) << i;
      const Certifier below(model, 0, static_cast<double>(logit + 1e-14L * scale));
      EXPECT_FALSE(below.certify(point)) << i;
    }
  }
}

TEST(Certificate, ForEpsilonZeroSpeaksOfTheBaseModel) {
  const auto [model, certificate] = issue(0);
  EXPECT_EQ(certificate.logit, certificate.robust_logit);
  EXPECT_EQ(certificate.worst_model, model.network.head());
  EXPECT_TRUE(Verifier(model).verify(certificate).holds());
}

TEST(Certificate, HoldsForIllConditionedModels) {
  // Nearly collinear columns and almost no penalty: cond(H) about 10¹⁰.
  problem_zoo::Labelled rows = problem_zoo::random_rows(300, 4, 41);
  rows.features.col(3) = rows.features.col(2) + 1e-5 * rows.features.col(0);
  const Model model =
      train(problem_zoo::numeric_dataset(rows), {}, {.l2 = 1e-11, .folds = 0}).model;
  ASSERT_GT(spectrum(model.curvature.hessian).condition(), 1e8);
  const Certifier certifier(model, 1e-4, -1e6);
  const Verifier verifier(model);
  for (Index i = 0; i < 50; ++i) {
    const RawRow row = {rows.features(i, 0), rows.features(i, 1), rows.features(i, 2),
                        rows.features(i, 3)};
    const auto certificate = certifier.certify(row);
    ASSERT_TRUE(certificate);
    const Verification verification = verifier.verify(*certificate);
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
  }
}

TEST(Certificate, HoldsAtItsMarginWhateverTheConditionOfH) {
  // Full sets of 0/1 columns beside the bias: only the penalty keeps H from being singular.
  const Dataset data = lending_dataset(400, 1);
  for (const double l2 : {1e-6, 1e-9, 1e-12}) {
    const Model model = train(data, {}, {.l2 = l2, .folds = 0}).model;
    ASSERT_EQ(model.curvature.shift, 0);
    const Verifier verifier(model);
    for (Index i = 0; i < 50; ++i) {
      const Vector raw = data.raw.row(i);
      const RawRow row = model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
      const double g = Certifier(model, 0.01, -1e6).certify(row)->robust_logit;
      const Vector terms = model.network.head().cwiseProduct(with_one(model.encoder.encode(row)));
      const double scale = 3 * terms.cwiseAbs().sum() + 2 * std::abs(g);  // penalty and t included
      const auto certificate = Certifier(model, 0.01, g - 1.1e-12 * scale).certify(row);
      ASSERT_TRUE(certificate);
      const Verification verification = verifier.verify(*certificate);
      EXPECT_TRUE(verification.holds()) << l2 << ": " << verification.failures.front();
      EXPECT_NEAR(verification.robust_logit, g, 1e-14 * scale);
    }
  }
}

/// Calls `change` for every number of a JSON document, one at a time, on a fresh copy.
void for_each_number(const Json& document,
                     const std::function<void(const Json&, const std::string&)>& check) {
  const Json flat = document.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (!value.is_number() || path == "/version") continue;
    const double number = value.get<double>();
    for (const double altered :
         {number * (1 + 1e-6) + (number == 0 ? 1e-6 : 0), -number - 1, number + 1}) {
      Json copy = document;
      copy[Json::json_pointer(path)] = altered;
      check(copy, path);
    }
  }
}

TEST(Verifier, FindsEverySingleAlteredNumber) {
  const auto [model, certificate] = issue();
  const Verifier verifier(model);
  int altered = 0;
  for_each_number(to_json(certificate, model.schema()),
                  [&, &m = model](const Json& copy, const std::string& path) {
                    ++altered;
                    try {
                      EXPECT_FALSE(verifier.verify(through_file(copy, m)).holds())
                          << path << " = " << copy[Json::json_pointer(path)];
                    } catch (const Error& error) {  // an integer that is no longer whole
                      EXPECT_EQ(error.code(), ErrorCode::input);
                    }
                  });
  EXPECT_GT(altered, 100);
}

TEST(Verifier, FindsAnotherLevelAndAnotherClaim) {
  const auto [model, certificate] = issue();
  const Verifier verifier(model);
  for (std::size_t j = 0; j < model.schema().features.size(); ++j) {
    const Feature& feature = model.schema().features[j];
    if (feature.is_number()) continue;
    Certificate altered = certificate;
    const auto& level = std::get<std::string>(certificate.point[j]);
    altered.point[j] = feature.levels[feature.levels[0] == level ? 1 : 0];
    EXPECT_FALSE(verifier.verify(altered).holds()) << feature.name;
  }
  Certificate altered = certificate;
  altered.claim += " Guaranteed.";
  EXPECT_FALSE(verifier.verify(altered).holds());
  altered = certificate;
  altered.threshold -= 1;  // weaker, and not what the claim says
  EXPECT_FALSE(verifier.verify(altered).holds());
}

TEST(Verifier, RefusesTheCertificateOfAnotherModel) {
  const auto [model, certificate] = issue();
  const Model other = train(lending_dataset(400, 2), {}, {.folds = 0}).model;
  const Json json = to_json(certificate, model.schema());
  try {
    (void)certificate_from_json(json, other, "c.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    EXPECT_NE(std::string(error.what()).find("another model"), std::string::npos);
  }
  EXPECT_THROW((void)Verifier(other).verify(certificate), Error);
}

TEST(Certificate, RefusesDamagedFiles) {
  const auto [model, certificate] = issue();
  const Json good = to_json(certificate, model.schema());
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> damages = {
      {"point.age", [](Json& c) { c["point"].erase("age"); }},
      {"point", [](Json& c) { c["point"]["shoe_size"] = 42; }},
      {"encoded", [](Json& c) { c["encoded"].erase(0); }},
      {"worst_model", [](Json& c) { c["worst_model"].push_back(1); }},
      {"set", [](Json& c) { c["set"] = "everything"; }},
      {"epsilon", [](Json& c) { c["epsilon"] = -1; }},
      {"claim", [](Json& c) { c.erase("claim"); }},
      {"purpose", [](Json& c) { c["point"]["purpose"] = "yacht"; }},
      {"version", [](Json& c) { c["version"] = 7; }},
      {"surprise", [](Json& c) { c["surprise"] = 1; }},
  };
  for (const auto& [named, damage] : damages) {
    Json bad = good;
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

TEST(ClaimText, SaysWhatIsExactAndWhatIsNot) {
  Model model = issue().model;
  EXPECT_NE(claim_text(model, {.kind = SetKind::last_layer}, 0.01, 0).find("To second order"),
            std::string::npos);
  model.training.loss_kind = LossKind::squared;
  EXPECT_NE(claim_text(model, {.kind = SetKind::last_layer}, 0.01, 0).find("exactly the models"),
            std::string::npos);
  model.curvature.shift = 1e-8;
  EXPECT_NE(claim_text(model, {.kind = SetKind::last_layer}, 0.01, 0).find("shift of 1e-08"),
            std::string::npos);
}

// Off the optimum the ellipsoid is not of the models within ε of it, to no order.
TEST(ClaimText, OffTheOptimumSpeaksOfNoModelsNearIt) {
  Model model = issue().model;
  for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
    model.training.loss_kind = loss;
    model.training.head_decrement = 0.005;
    const std::string text = claim_text(model, {.kind = SetKind::last_layer}, 0.01, 0);
    EXPECT_NE(text.find(" θ̂ itself is 0.005 above the minimum of the objective: these are not the "
                        "models whose training objective is within 0.01 of the optimum, but an "
                        "ellipsoid around θ̂ by the objective's curvature; models outside it are "
                        "not covered."),
              std::string::npos)
        << text;
    for (const char* words : {"To second order", "exactly", "the objective."})
      EXPECT_EQ(text.find(words), std::string::npos) << text;
    const std::string damped =
        claim_text(model, {.kind = SetKind::last_layer, .damping = 0.5}, 0.01, 0);
    EXPECT_NE(damped.find("these are not the models"), std::string::npos) << damped;
    EXPECT_NE(damped.find(" θ̂ itself is 0.005 above the minimum of the objective."),
              std::string::npos);
    model.training.head_decrement = 0.0001;  // of ε a hundredth
    EXPECT_EQ(claim_text(model, {.kind = SetKind::last_layer}, 0.01, 0).find("above the minimum"),
              std::string::npos);
  }
}

class CertificateOnPaperData : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Nine, CertificateOnPaperData, testing::ValuesIn(paper_datasets()),
                         [](const auto& instance) { return instance.param; });

TEST_P(CertificateOnPaperData, EveryRobustRowGetsOneThatVerifies) {
  ELLICE_NEEDS_DATASET(GetParam());
  const Dataset data = load_recipe(GetParam());
  const Model model = train(data, {.balance = true}, {.folds = 0}).model;
  const double epsilon = 0.01 * model.training.objective;
  const Certifier certifier(model, epsilon, 0);
  const Verifier verifier(model);
  const Vector batch =
      robust_logits(last_layer_set(model, epsilon), model.encoder.encode(data.raw));
  int issued = 0;
  for (Index i = 0; i < data.rows() && issued < 40; ++i) {
    const Vector raw = data.raw.row(i);
    const auto certificate =
        certifier.certify(model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())}));
    EXPECT_EQ(certificate.has_value(), batch(i) >= 0);
    if (!certificate) continue;
    ++issued;
    EXPECT_NEAR(certificate->robust_logit, batch(i), 1e-11 * (1 + std::abs(certificate->logit)));
    const Verification verification =
        verifier.verify(through_file(to_json(*certificate, model.schema()), model));
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
  }
  EXPECT_GT(issued, 0);
}

}  // namespace
}  // namespace ellice
