#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "certificate/certifier.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "model/objective.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {
namespace {

struct TrueIssued {
  Model model = {};
  StoredRows rows = {};
  Certificate certificate = {};
};

/// The first row of the embedded data that is robust over the true set, and not by far.
TrueIssued issue_over_true_set(TrainingOptions options = {}, double epsilon = 0.01) {
  const Dataset data = lending_dataset(400, 1);
  options.folds = 0;
  options.store_rows = true;
  TrueIssued result{.model = train(data, {}, options).model};
  result.rows = *result.model.rows;
  result.model.rows.reset();
  const Certifier certifier(result.model, {.kind = SetKind::true_set, .rows = &result.rows},
                            epsilon, 0);
  for (Index i = 0; i < data.rows(); ++i) {
    const Vector raw = data.raw.row(i);
    const RawRow row =
        result.model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
    const auto certificate = certifier.certify(row);
    if (certificate && certificate->robust_logit < 1) {
      result.certificate = *certificate;
      return result;
    }
  }
  ADD_FAILURE() << "no robust row";
  return result;
}

/// A factor of its own for each column of the embedded data's encoding.
TrainingOptions with_factors(bool penalize_bias) {
  TrainingOptions options{.l2 = 0.01, .penalize_bias = penalize_bias};
  const Index columns = train(lending_dataset(400, 1), {}, {.folds = 0}).model.encoder.columns();
  for (Index j = 0; j < columns; ++j)
    options.penalty_factors.push_back(0.1 * std::pow(1.7, static_cast<double>(j)));
  return options;
}

Verification verify(const TrueIssued& issued, const Certificate& certificate) {
  const Json json =
      parse_json(to_text(to_json(certificate, issued.model.schema())), "certificate.json");
  return Verifier(issued.model, {}, &issued.rows)
      .verify(certificate_from_json(json, issued.model, "certificate.json"));
}

TEST(TrueCertificate, HoldsAfterTheWayThroughItsFile) {
  TrainingOptions network{.model = NetworkKind::mlp, .refit = true};
  network.network.hidden = {6};
  network.network.epochs = 40;
  for (const TrainingOptions& options :
       {TrainingOptions{}, TrainingOptions{.loss = LossKind::squared},
        TrainingOptions{.penalize_bias = false}, network,
        TrainingOptions{.class_weight = ClassWeight::balanced}, with_factors(true),
        with_factors(false)}) {
    const TrueIssued issued = issue_over_true_set(options);
    const Verification verification = verify(issued, issued.certificate);
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
    EXPECT_NEAR(verification.robust_logit, issued.certificate.robust_logit, 1e-10);
    EXPECT_FALSE(verification.breaking_model);
    const bool is_network = issued.model.network.layers.size() > 1;
    EXPECT_EQ(issued.certificate.claim.find("hidden layers fixed") != std::string::npos, is_network)
        << issued.certificate.claim;
  }
}

TEST(TrueCertificate, TamperingIsFound) {
  const TrueIssued issued = issue_over_true_set();
  const std::vector<std::pair<const char*, std::function<void(Certificate&)>>> changes = {
      {"epsilon", [](Certificate& c) { c.epsilon *= 1.01; }},
      {"smaller epsilon", [](Certificate& c) { c.epsilon *= 0.99; }},
      {"logit", [](Certificate& c) { c.logit += 1e-6; }},
      {"robust_logit", [](Certificate& c) { c.robust_logit += 1e-6; }},
      {"worst_model", [](Certificate& c) { c.worst_model(0) += 1e-3; }},
      {"threshold", [](Certificate& c) { c.threshold = 2; }},
      {"claim", [](Certificate& c) { c.claim += " And more."; }},
      {"set", [](Certificate& c) { c.set = SetKind::last_layer; }},
  };
  for (const auto& [name, change] : changes) {
    Certificate tampered = issued.certificate;
    change(tampered);
    EXPECT_FALSE(verify(issued, tampered).holds()) << name;
  }
}

TEST(TrueCertificate, AFailureCarriesTheModelThatBreaksTheRow) {
  const TrueIssued issued = issue_over_true_set();
  Certificate tampered = issued.certificate;
  tampered.threshold = issued.certificate.robust_logit + 0.1;
  const Verification verification = verify(issued, tampered);
  ASSERT_TRUE(verification.breaking_model);
  const Vector x = with_one(issued.certificate.encoded);
  EXPECT_LT(verification.breaking_model->dot(x), tampered.threshold);
  const Objective objective(issued.rows.encoded, issued.rows.labels, LossKind::logistic, {});
  EXPECT_LE(objective.value(*verification.breaking_model),
            objective.value(issued.model.network.head()) + tampered.epsilon + 1e-15);
}

TEST(TrueCertificate, NeedsTheWeightsOfItsModel) {
  const TrueIssued issued =
      issue_over_true_set({.penalize_bias = false, .class_weight = ClassWeight::balanced});
  ASSERT_TRUE(verify(issued, issued.certificate).holds());
  const auto is_refused = [&](const StoredRows& rows) {
    try {
      return !Verifier(issued.model, {}, &rows).verify(issued.certificate).holds();
    } catch (const Error&) {
      return true;
    }
  };
  StoredRows other = issued.rows;
  EXPECT_FALSE(is_refused(other));
  other.weights *= 2;  // means stay
  EXPECT_FALSE(is_refused(other));
  for (const double factor : {1.001, 0.5, -1.0}) {
    other = issued.rows;
    other.weights(3) *= factor;
    EXPECT_TRUE(is_refused(other)) << factor;
  }
  other.weights = Vector::Ones(other.weights.size());
  EXPECT_TRUE(is_refused(other));
  other.weights.resize(0);
  EXPECT_TRUE(is_refused(other));
}

TEST(TrueCertificate, NeedsTheRowsOfItsModel) {
  const TrueIssued issued = issue_over_true_set();
  EXPECT_THROW((void)Verifier(issued.model).verify(issued.certificate), Error);
  StoredRows other = issued.rows;
  other.labels[0] = 1 - other.labels[0];
  try {
    (void)Verifier(issued.model, {}, &other).verify(issued.certificate);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
  }
  EXPECT_THROW(Certifier(issued.model, {.kind = SetKind::true_set}, 0.01, 0), Error);
  EXPECT_THROW(
      Certifier(issued.model, {.kind = SetKind::true_set, .damping = 0.1, .rows = &issued.rows},
                0.01, 0),
      Error);
  EXPECT_THROW(Certifier(issued.model, {.kind = SetKind::true_set, .rows = &other}, 0.01, 0),
               Error);
}

TEST(TrueCertificate, AHeadThatStoppedEarlyIsRefused) {
  const Dataset data = lending_dataset(400, 1);
  TrainingOptions options{.model = NetworkKind::mlp, .folds = 0, .store_rows = true};
  options.network.hidden = {6};
  options.network.epochs = 3;
  const Model model = train(data, {}, options).model;
  try {
    const Certifier certifier(model, {.kind = SetKind::true_set}, 1e-4, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("`refit`"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ellice
