#include "sets/contest.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <functional>
#include <limits>

#include "certificate/certifier.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "model/softmax_objective.hpp"
#include "sets/sampling.hpp"
#include "support/class_cases.hpp"
#include "support/messages.hpp"
#include "support/numeric_dataset.hpp"

namespace ellice {
namespace {

using problem_zoo::class_dataset;
using problem_zoo::class_model;
using problem_zoo::softmax_options;
using problem_zoo::winning;
using testing_support::expect_input_error;
using testing_support::expect_words;
using testing_support::message_of;

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// (e_y − e_c) ⊗ h̃.
Vector contrast(const Model& model, Index winner, Index rival, const Vector& z) {
  const Vector h = with_one(model.network.features(z));
  Vector a = Vector::Zero(model.network.outputs() * h.size());
  a.segment(winner * h.size(), h.size()) = h;
  a.segment(rival * h.size(), h.size()) = -h;
  return a;
}

/// Its smallest value over {θ : ½(θ−θ̂)ᵀH(θ−θ̂) ≤ ε}, by a dense inverse in extended precision. H has
/// a ridge in all directions here, so that it is regular as it stands.
double plain_robust_margin(const Model& model, double epsilon, const Vector& a) {
  const LongMatrix inverse = LongMatrix(model.curvature.hessian.cast<long double>()).inverse();
  const LongVector long_a = a.cast<long double>();
  return static_cast<double>(model.network.head().cast<long double>().dot(long_a) -
                             std::sqrt(2 * epsilon * long_a.dot(inverse * long_a)));
}

RawRow row_of(const Vector& raw) {
  return {raw.begin(), raw.end()};
}

TEST(PairModels, GiveTheWorstDifferenceOverAllParameters) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {5}}) {
    const Model model = class_model(3, 4, 31, 1e-2, hidden);
    for (const Index winner : {0, 2}) {
      const Contest contest = make_contest(model, winner);
      const std::vector<Model> pairs = pair_models(model, contest, {});
      const auto set = make_set(model, winning(model, winner));
      const auto function = set->function();
      ASSERT_EQ(pairs.size(), 3U);
      ASSERT_EQ(function->parts(), 3);
      for (int trial = 0; trial < 20; ++trial) {
        const Vector z = Random(static_cast<std::uint64_t>(trial)).normal_vector(3);
        double smallest = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < 3; ++k) {
          const Vector a = contrast(model, winner, contest.rivals[k], z);
          const double expected = plain_robust_margin(model, 0.02, a);
          smallest = std::min(smallest, expected);
          const Vector h = with_one(pairs[k].network.features(z));
          EXPECT_NEAR(robust_logit(last_layer_set(pairs[k], 0.02), h), expected, 1e-11);
          const RobustScore score = function->value(static_cast<Index>(k), z);
          EXPECT_NEAR(score.robust(std::sqrt(0.04)), expected, 1e-11);
          EXPECT_NEAR(score.logit, model.network.head().dot(a), 1e-12);
        }
        EXPECT_NEAR(function->robust_logit(std::sqrt(0.04), z), smallest, 1e-11);
      }
    }
  }
}

TEST(PairModels, OfTwoClassesAreTheLogisticModelWithHalfTheRidge) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 32));
  const Model many = train(data, {}, softmax_options(0.02)).model;
  const Model two = train(data, {}, {.l2 = 0.01, .folds = 0}).model;
  const std::vector<Model> pairs = pair_models(many, make_contest(many, 1), {});
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_LT((pairs[0].network.head() - two.network.head()).norm(), 1e-9);
  EXPECT_LT((pairs[0].curvature.hessian - two.curvature.hessian).norm(), 1e-9);
  const Certifier of_many(many, winning(many, 1), 0.01, 0.2);
  const Certifier of_two(two, 0.01, 0.2);
  for (int trial = 0; trial < 40; ++trial) {
    const RawRow row = row_of(2 * Random(static_cast<std::uint64_t>(trial)).normal_vector(4));
    const Evaluation a = of_many.evaluate(row);
    const Evaluation b = of_two.evaluate(row);
    EXPECT_NEAR(a.logit, b.logit, 1e-9);
    EXPECT_NEAR(a.robust_logit, b.robust_logit, 1e-9);
    EXPECT_EQ(of_many.certify(row).has_value(), of_two.certify(row).has_value());
  }
}

TEST(PairModels, TakeAnotherDampingBeforeTheContraction) {
  const Model model = class_model(2, 3, 33);
  Model damped = model;
  damped.curvature.hessian.diagonal().array() += 0.1 - model.training.l2;
  const Vector z = Random(1).normal_vector(2);
  const auto expected = pair_models(damped, make_contest(damped, 1), {});
  const auto found = pair_models(model, make_contest(model, 1), 0.1);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_LT((expected[k].curvature.hessian - found[k].curvature.hessian).norm(), 1e-14);
  }
  // A bias without a penalty keeps none.
  TrainingOptions options = softmax_options();
  options.penalize_bias = false;
  const Model free_bias = train(class_dataset(120, 2, 3, 34), {}, options).model;
  const Matrix difference = damped_hessian(free_bias, 0.1) - free_bias.curvature.hessian;
  for (Index i = 0; i < 9; ++i) {
    EXPECT_NEAR(difference(i, i), i % 3 == 2 ? 0 : 0.1 - 1e-2, 1e-15);
  }
}

struct Issued {
  Model model = {};
  Certificate certificate = {};
};

/// The first random row that is robust for the class.
Issued issue(Model model, const SetChoice& choice, double epsilon, double margin = 0) {
  const Certifier certifier(model, choice, epsilon, margin);
  for (std::uint64_t trial = 0; trial < 500; ++trial) {
    const auto certificate = certifier.certify(row_of(
        3 * Random(trial).normal_vector(static_cast<Index>(model.schema().features.size()))));
    if (certificate) return {.model = std::move(model), .certificate = *certificate};
  }
  ADD_FAILURE() << "no robust row";
  return {};
}

Certificate through_file(const Json& json, const Model& model) {
  return certificate_from_json(parse_json(to_text(json), "c.json"), model, "c.json");
}

TEST(ContestCertificate, NamesAWorstModelForEachRivalThatLiesOnTheBoundary) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}}) {
    const Model fitted = class_model(3, 4, 35, 1e-2, hidden);
    const auto [model, certificate] = issue(fitted, winning(fitted, 3), 0.01);
    EXPECT_EQ(certificate.target, "c3");
    EXPECT_TRUE(certificate.acceptable.empty());
    EXPECT_TRUE(certificate.worst_model.size() == 0);
    ASSERT_EQ(certificate.rivals.size(), 3U);
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < 3; ++k) {
      const RivalCertificate& rival = certificate.rivals[k];
      EXPECT_EQ(rival.name, model.decision.classes[k]);
      const Vector a = contrast(model, 3, static_cast<Index>(k), certificate.encoded);
      EXPECT_NEAR(rival.worst_model.dot(a), rival.robust_logit, 1e-12);
      EXPECT_NEAR(rival.robust_logit, plain_robust_margin(model, 0.01, a), 1e-12);
      const Vector step = rival.worst_model - model.network.head();
      EXPECT_NEAR(step.dot(model.curvature.hessian * step) / 2, 0.01, 1e-12);
      smallest = std::min(smallest, rival.robust_logit);
    }
    EXPECT_EQ(certificate.robust_logit, smallest);
    EXPECT_GT(smallest, 0);
  }
}

TEST(ContestCertificate, IsTrueForEverySampledModel) {
  const Model fitted = class_model(3, 4, 36);
  const auto [model, certificate] = issue(fitted, winning(fitted, 1), 0.02, 0.1);
  const Ellipsoid set(model.network.head(), model.curvature.hessian, 0.02);
  const RowMatrix samples = sample_boundary(set, 5000, Random(3));
  const Vector h = with_one(certificate.encoded);
  for (Index i = 0; i < samples.rows(); ++i) {
    const Vector theta = samples.row(i);
    for (const Index rival : {0, 2, 3}) {
      ASSERT_GE((theta.segment(4, 4) - theta.segment(4 * rival, 4)).dot(h), 0.1);
    }
  }
}

TEST(ContestCertificate, HoldsAfterTheWayThroughItsFile) {
  TrainingOptions bare = softmax_options(0);  // H without the gauge term is singular
  TrainingOptions free_bias = softmax_options(1e-2);
  free_bias.penalize_bias = false;
  const std::vector<Model> models = {class_model(3, 4, 37), class_model(3, 3, 38, 1e-2, {6}),
                                     train(class_dataset(240, 3, 3, 39, 0.6), {}, bare).model,
                                     train(class_dataset(240, 3, 3, 40), {}, free_bias).model};
  for (const Model& fitted : models) {
    for (const std::optional<double> damping : {std::optional<double>(), std::optional(0.1)}) {
      SetChoice choice = winning(fitted, 2);
      choice.damping = damping;
      const auto [model, certificate] = issue(fitted, choice, 0.005, 0.05);
      const Certificate read = through_file(to_json(certificate, model.schema()), model);
      const Verification verification = Verifier(model).verify(read);
      EXPECT_TRUE(verification.holds()) << verification.failures.front();
      EXPECT_NEAR(verification.robust_logit, certificate.robust_logit, 1e-12);
      EXPECT_EQ(to_text(to_json(read, model.schema())),
                to_text(to_json(certificate, model.schema())));
    }
  }
}

TEST(ContestCertificate, LeavesAcceptableClassesOutOfTheContest) {
  const Model fitted = class_model(2, 4, 41);
  SetChoice choice{.contest = make_contest(fitted, 1, {1, 3})};
  EXPECT_EQ(choice.contest->rivals, (std::vector<Index>{0, 2}));
  const auto [model, certificate] = issue(fitted, choice, 0.01);
  EXPECT_EQ(certificate.acceptable, (std::vector<std::string>{"c1", "c3"}));
  ASSERT_EQ(certificate.rivals.size(), 2U);
  expect_words(certificate.claim, {"each of the classes c0, c2", "one of c1, c3"});
  EXPECT_TRUE(
      Verifier(model).verify(through_file(to_json(certificate, model.schema()), model)).holds());
}

TEST(ContestCertificate, SaysWhatIsProved) {
  const Model model = class_model(2, 3, 42);
  expect_words(claim_text(model, winning(model, 2), 0.01, 0),
               {"class c2 a score", "larger than that of every other class", "To second order"});
  expect_words(claim_text(model, winning(model, 2), 0.01, 0.5), {"larger by at least 0.5"});
}

TEST(Verifier, FindsEverySingleAlteredNumberOfManyClasses) {
  const Model fitted = class_model(2, 3, 43);
  const auto [model, certificate] = issue(fitted, winning(fitted, 0), 0.01, 0.1);
  const Verifier verifier(model);
  const Json good = to_json(certificate, model.schema());
  int altered = 0;
  const Json flat = good.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (!value.is_number() || path == "/version") continue;
    const double number = value.get<double>();
    for (const double other : {number * (1 + 1e-6) + (number == 0 ? 1e-6 : 0), number + 1}) {
      Json copy = good;
      copy[Json::json_pointer(path)] = other;
      ++altered;
      EXPECT_FALSE(verifier.verify(through_file(copy, model)).holds()) << path << " = " << other;
    }
  }
  EXPECT_GT(altered, 50);
}

TEST(Verifier, FindsOtherClassesAndMissingRivals) {
  const Model fitted = class_model(2, 3, 44);
  const auto [model, certificate] = issue(fitted, winning(fitted, 0), 0.01);
  const Verifier verifier(model);
  const std::vector<std::function<void(Certificate&)>> frauds = {
      [](Certificate& c) { c.target = "c1"; },
      [](Certificate& c) { c.rivals.pop_back(); },
      [](Certificate& c) { std::swap(c.rivals[0], c.rivals[1]); },
      [](Certificate& c) { std::swap(c.rivals[0].name, c.rivals[1].name); },
      [](Certificate& c) {
        c.acceptable = {"c0", "c2"};
      },
      [](Certificate& c) {
        c.acceptable = {"c0", "c2"};
        c.rivals.pop_back();  // what would be right for another question
      },
      [](Certificate& c) { c.claim += " Guaranteed."; },
      [](Certificate& c) { c.threshold = 0.001; },
  };
  for (std::size_t k = 0; k < frauds.size(); ++k) {
    Certificate altered = certificate;
    frauds[k](altered);
    EXPECT_FALSE(verifier.verify(altered).holds()) << k;
  }
  const Json good = to_json(certificate, model.schema());
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> damages = {
      {"target", [](Json& c) { c["target"] = "c9"; }},
      {"rivals", [](Json& c) { c.erase("rivals"); }},
      {"class", [](Json& c) { c["rivals"][0]["class"] = "rose"; }},
      {"worst_model", [](Json& c) { c["rivals"][0]["worst_model"].erase(0); }},
      {"acceptable",
       [](Json& c) {
         c["acceptable"] = {"c0", "c9"};
       }},
      {"worst_model",
       [](Json& c) {
         c["worst_model"] = {1, 2, 3};
       }},
  };
  for (const auto& [named, damage] : damages) {
    Json bad = good;
    damage(bad);
    expect_input_error([&, &m = model] { return certificate_from_json(bad, m, "c.json"); },
                       {"c.json", named});
  }
}

TEST(SetChoice, OfManyClassesIsTheLastLayerOrTheTrueSetWithAContest) {
  const Model many = class_model(2, 3, 45);
  const auto refusal = [&](const Model& model, const SetChoice& choice) {
    return message_of(ErrorCode::argument, [&] {
      validate(choice, model);
      return 0;
    });
  };
  for (const SetKind kind : {SetKind::full, SetKind::isotropic, SetKind::ensemble}) {
    SetChoice choice = winning(many, 1);
    choice.kind = kind;
    expect_words(refusal(many, choice), {"3 classes", "`set: last-layer`"});
  }
  expect_words(refusal(many, {}), {"which one is to win"});
  expect_words(refusal(many, {.kind = SetKind::true_set}), {"which one is to win"});
  expect_words(refusal(many, {.contest = make_contest(many, 0, {0, 1, 2})}), {"nothing to ask"});
  const Model two =
      train(problem_zoo::numeric_dataset(problem_zoo::random_rows(60, 2, 46)), {}, {.folds = 0})
          .model;
  expect_words(refusal(two, {.contest = Contest{.winner = 0, .rivals = {1}}}), {"softmax"});
  expect_words(message_of(ErrorCode::argument, [&] { return find_class(many, "c5"); }),
               {"\"c5\"", "c0"});
}

}  // namespace
}  // namespace ellice
