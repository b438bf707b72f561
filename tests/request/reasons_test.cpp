#include "ellice/request/reasons.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "ellice/request/answer.hpp"
#include "support/messages.hpp"
#include "support/mixed_model.hpp"
#include "support/refusal_case.hpp"

namespace ellice {
namespace {

using problem_zoo::mixed_case;
using problem_zoo::MixedCase;
using problem_zoo::refusal_case;
using problem_zoo::RefusalCase;
using testing_support::expect_words;
using testing_support::message_of;

RawRow row_of(const Model& model, const RowMatrix& raw, Index i) {
  const Vector row = raw.row(i);
  return model.encoder.values({row.data(), static_cast<std::size_t>(row.size())});
}

TEST(Reasons, AreThoseComputedByHand) {
  const RefusalCase refusal = refusal_case();
  const ReasonReference reference = make_reference(refusal.model, 0, &refusal.rows);
  EXPECT_EQ(describe(reference),
            "the average of the 3 training rows that the trained model accepts");
  const Reasons reasons = *Reasoner(refusal.model, 0, reference).of(refusal.person);
  EXPECT_NEAR(reasons.logit, -3, 1e-15);
  EXPECT_NEAR(reasons.reference_logit, 0.75, 1e-15);
  ASSERT_EQ(reasons.items.size(), 4U);
  const auto expect = [&](std::size_t i, const char* feature, double ref, double contribution,
                          const char* text) {
    EXPECT_EQ(reasons.items[i].feature, feature);
    EXPECT_NEAR(reasons.items[i].reference, ref, 1e-12 * std::abs(ref));
    EXPECT_NEAR(reasons.items[i].contribution, contribution, 1e-15);
    EXPECT_EQ(reasons.items[i].text, text);
  };
  expect(0, "debt", 10000.0 / 3, -7.0 / 3,
         "debt is 8 000 EUR; the average of accepted people is 3 333 EUR");
  expect(1, "grade", 4.0 / 3, -2.0 / 3,
         "grade is low; the average of accepted people is between middle and high");
  expect(2, "purpose", 1.0 / 3, -7.0 / 12, "purpose is boat, as for 33.3 % of accepted people");
  expect(3, "member", 1.0 / 3, -1.0 / 6, "member is no, as for 33.3 % of accepted people");
  EXPECT_EQ(reasons.others, 0);
}

TEST(Reasons, IncludeWhatCannotBeChanged) {
  RefusalCase refusal = refusal_case();
  refusal.model.network.set_head(Vector{{0, 0, 5, 0, 0, 0, -1}});
  const Reasoner reasoner(refusal.model, 0, make_reference(refusal.model, 0, &refusal.rows));
  const Reasons reasons = *reasoner.of(refusal.person);
  ASSERT_EQ(reasons.items.size(), 1U);  // nothing else counts at all
  EXPECT_EQ(reasons.items[0].feature, "member");
}

TEST(Reasons, AreNotGivenToPeopleWhomTheModelAccepts) {
  const RefusalCase refusal = refusal_case();
  const ReasonReference reference = make_reference(refusal.model, 0, &refusal.rows);
  const RawRow accepted = {2000.0, "high", "yes", "car"};
  EXPECT_FALSE(Reasoner(refusal.model, 0, reference).of(accepted));
  EXPECT_TRUE(Reasoner(refusal.model, 2, reference).of(accepted));  // 1.75 < 2
  std::vector<Answer> answers(3);
  answers[0].query = accepted;
  answers[1].query = refusal.person;  // the third could not be read
  add_reasons(answers, Reasoner(refusal.model, 0, reference));
  EXPECT_FALSE(answers[0].reasons);
  EXPECT_TRUE(answers[1].reasons);
  EXPECT_FALSE(answers[2].reasons);
}

TEST(Reasons, KeepTheSchemasOrderWhereTheyAreEqual) {
  Dataset data;
  for (const char* name : {"f", "b", "d", "a", "e", "c"}) data.schema.features.push_back({name});
  data.schema.target = {.column = "y", .favourable = "1"};
  data.raw = RowMatrix(2, 6);
  data.raw.row(0).setConstant(-1);
  data.raw.row(1).setConstant(1);
  data.labels = {0, 1};
  Model model{.encoder = Encoder::fit(data)};
  model.network = linear_network(Vector{{1, 1, 1, 1, 1, 1, 0}});
  const Reasoner reasoner(model, 0, make_reference(model, 0));
  const Reasons reasons = *reasoner.of(RawRow(6, -1.0));
  std::string order;
  for (const Reason& reason : reasons.items) order += reason.feature;
  EXPECT_EQ(order, "fbda");
  EXPECT_EQ(reasons.others, -2);
}

TEST(Reasons, AreTheLargestOnesAndAddUp) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const MixedCase mixed = mixed_case(seed, true);
    const Model& model = mixed.model;
    for (const StoredRows* rows : {&mixed.rows, static_cast<const StoredRows*>(nullptr)}) {
      const Reasoner reasoner(model, 0, make_reference(model, 0, rows));
      const Vector& from = reasoner.reference().point;
      int declined = 0;
      for (Index i = 0; i < mixed.raw.rows(); ++i) {
        const RawRow row = row_of(model, mixed.raw, i);
        const double logit = model.logit(model.encoder.encode(row));
        const std::optional<Reasons> reasons = reasoner.of(row);
        ASSERT_EQ(reasons.has_value(), logit < 0);
        if (!reasons) continue;
        ++declined;
        const Vector all = reasoner.contributions(row);
        EXPECT_NEAR(all.sum(), logit - model.logit(from), 1e-12);
        double sum = reasons->others;
        double last = -1e9;
        double least_listed = 0;
        for (const Reason& reason : reasons->items) {
          EXPECT_LT(reason.contribution, 0);
          EXPECT_GE(reason.contribution, last);
          EXPECT_EQ(reason.contribution,
                    all(static_cast<Index>(*model.schema().find(reason.feature))));
          last = least_listed = reason.contribution;
          sum += reason.contribution;
        }
        EXPECT_NEAR(sum, logit - reasons->reference_logit, 1e-12);
        const auto against = (all.array() < -1e-9).count();
        EXPECT_EQ(static_cast<Index>(reasons->items.size()), std::min<Index>(4, against));
        if (against > 4) {
          EXPECT_EQ((all.array() < least_listed).count(), 3);
        }
      }
      EXPECT_GT(declined, 10);
    }
  }
}

TEST(Reasons, OfALinearModelExistWhereverAcceptedRowsAreTheReference) {
  const Dataset data = lending_dataset(800, 1);
  const Model model = train(data, {}, {.folds = 0}).model;
  const StoredRows rows{.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  const Reasoner reasoner(model, 0, make_reference(model, 0, &rows));
  EXPECT_GE(model.logit(reasoner.reference().point), 0);
  for (Index i = 0; i < data.rows(); ++i) {
    const std::optional<Reasons> reasons = reasoner.of(row_of(model, data.raw, i));
    EXPECT_TRUE(!reasons || !reasons->items.empty());
  }
}

TEST(Reasons, AreTheSameForAnyNumberOfThreads) {
  const MixedCase mixed = mixed_case(4, false);
  const Reasoner reasoner(mixed.model, 0, make_reference(mixed.model, 0, &mixed.rows));
  std::vector<Answer> one(static_cast<std::size_t>(mixed.raw.rows()));
  for (Index i = 0; i < mixed.raw.rows(); ++i) {
    one[static_cast<std::size_t>(i)].query = row_of(mixed.model, mixed.raw, i);
  }
  std::vector<Answer> many = one;
  add_reasons(one, reasoner, {.threads = 1});
  add_reasons(many, reasoner, {.threads = 4});
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].reasons.has_value(), many[i].reasons.has_value());
    if (!one[i].reasons) continue;
    EXPECT_EQ(to_text(to_json(*one[i].reasons)), to_text(to_json(*many[i].reasons)));
  }
}

TEST(ReasonReference, OfALinearModelIsTheWeightedMeanOfItsRows) {
  const Dataset data = lending_dataset(600, 3);
  for (const bool penalize_bias : {true, false}) {
    for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
      const Model model =
          train(data, {}, {.loss = loss, .penalize_bias = penalize_bias, .folds = 0}).model;
      const RowMatrix encoded = model.encoder.encode(data.raw);
      Vector expected = Vector::Zero(encoded.cols());
      double mass = 0;
      for (Index i = 0; i < encoded.rows(); ++i) {
        const Vector z = encoded.row(i);
        const double p = 1 / (1 + std::exp(-model.logit(z)));
        const double weight = loss == LossKind::squared ? 1 : p * (1 - p);
        expected += weight * z;
        mass += weight;
      }
      expected /= mass;
      const ReasonReference reference = make_reference(model, 0);
      EXPECT_EQ(reference.kind,
                loss == LossKind::squared ? ReferenceKind::average : ReferenceKind::borderline);
      EXPECT_LT((reference.point - expected).cwiseAbs().maxCoeff(), 1e-9);
      const std::size_t housing = *model.schema().find("housing");
      EXPECT_NEAR(
          reference.point
              .segment(model.encoder.first_column(housing), model.encoder.column_count(housing))
              .sum(),
          1, 1e-9);
    }
  }
}

TEST(ReasonReference, IsTheCentreWhereNothingElseIsKnown) {
  const RefusalCase refusal = refusal_case();
  const ReasonReference reference = make_reference(refusal.model, 0);
  EXPECT_EQ(reference.kind, ReferenceKind::centre);
  EXPECT_TRUE(reference.point.isApprox(Vector{{0, 0, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3}}));
  const Reasons reasons = *Reasoner(refusal.model, 0, reference).of(refusal.person);
  EXPECT_EQ(reasons.items[0].text,
            "debt is 8 000 EUR; the average of the training rows is 4 000 EUR");
  EXPECT_EQ(reasons.items.back().text, "member is no, compared with an even mix of its 2 levels");
  // Nobody reaches this threshold, so that accepted rows have no mean.
  EXPECT_EQ(make_reference(refusal.model, 9, &refusal.rows).kind, ReferenceKind::centre);
}

TEST(ReasonReference, ReadsBackFromItsJson) {
  const RefusalCase refusal = refusal_case();
  for (const StoredRows* rows : {&refusal.rows, static_cast<const StoredRows*>(nullptr)}) {
    const ReasonReference reference = make_reference(refusal.model, 0, rows);
    const Json json = to_json(reference);
    const ReasonReference read = reference_from_json(JsonObject(json, "r.json"), refusal.model);
    EXPECT_EQ(read.kind, reference.kind);
    EXPECT_EQ(read.rows, reference.rows);
    EXPECT_EQ(read.point, reference.point);
  }
}

TEST(Reasons, AreRefusedForSeveralOutputs) {
  RefusalCase refusal = refusal_case();
  refusal.model.network.layers.back().weights = Matrix::Ones(3, 6);
  EXPECT_FALSE(Reasoner::supports(refusal.model));
  expect_words(message_of(ErrorCode::argument,
                          [&] { return Reasoner(refusal.model, 0, {.point = Vector::Zero(6)}); }),
               {"one logit"});
}

}  // namespace
}  // namespace ellice
