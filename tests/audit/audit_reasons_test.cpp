#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "request/recourse_file.hpp"
#include "search/exact_search.hpp"
#include "support/hashes.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::numeric_model;
using problem_zoo::random_queries;
using problem_zoo::without_hashes;

/// A file with reasons, and the first of its answers that has some.
struct File {
  Json json = {};
  std::size_t declined = 0;
  std::size_t accepted = 0;
};

File file_with_reasons(const Model& model, const StoredRows* rows = nullptr) {
  Request request{.problem = {.model = &model, .epsilon = 0.01},
                  .rule = {.text = "test"},
                  .method = "exact",
                  .reference = make_reference(model, 0, rows)};
  std::vector<Answer> answers =
      ExactSearch(request.problem).generate(random_queries(model, 20, 3), {});
  add_reasons(answers, Reasoner(model, 0, *request.reference));
  RecourseWriter writer(request);
  std::string text = writer.begin();
  for (const Answer& answer : answers) text += writer.answer(answer);
  File file{.json = without_hashes(parse_json(text + writer.end(), "r.json"))};
  const auto place = [&](bool has_reasons) {
    const auto found = std::find_if(answers.begin(), answers.end(), [&](const Answer& answer) {
      return answer.reasons.has_value() == has_reasons;
    });
    EXPECT_NE(found, answers.end());
    return static_cast<std::size_t>(found - answers.begin());
  };
  file.declined = place(true);
  file.accepted = place(false);
  return file;
}

TEST(ReasonAudit, AcceptsWhatExplainWrites) {
  const Model model = numeric_model(6, 41);
  for (const AnswerAudit& audit : audit_recourse_file(file_with_reasons(model).json, model, "r"))
    EXPECT_TRUE(audit.holds()) << audit.failures.front();
}

TEST(ReasonAudit, FindsWhatWasAltered) {
  const Model model = numeric_model(6, 41);
  const File file = file_with_reasons(model);
  const auto expect_found = [&](std::string_view word, const std::function<void(Json&)>& change) {
    Json altered = file.json;
    change(altered["results"][file.declined]["reasons"]);
    const std::vector<std::string> failures =
        audit_recourse_file(altered, model, "r")[file.declined].failures;
    EXPECT_TRUE(std::any_of(failures.begin(), failures.end(),
                            [&](const std::string& failure) {
                              return failure.find("reasons") != std::string::npos &&
                                     failure.find(word) != std::string::npos;
                            }))
        << word << ": " << (failures.empty() ? "nothing was found" : failures.front());
  };
  expect_found("contribution", [](Json& reasons) {
    Json& contribution = reasons["items"][0]["contribution"];
    contribution = 1.001 * contribution.get<double>();
  });
  expect_found("value", [](Json& reasons) { reasons["items"][0]["value"] = 0.125; });
  expect_found("reference", [](Json& reasons) { reasons["items"][0]["reference"] = 0.125; });
  expect_found("text", [](Json& reasons) { reasons["items"][0]["text"] = "because"; });
  expect_found("no such feature", [](Json& reasons) { reasons["items"][0]["feature"] = "y"; });
  expect_found("order", [](Json& reasons) { std::swap(reasons["items"][0], reasons["items"][1]); });
  expect_found("counts more", [](Json& reasons) { reasons["items"].erase(0); });
  expect_found("order", [](Json& reasons) { reasons["items"].push_back(reasons["items"][0]); });
  expect_found("others", [](Json& reasons) { reasons["others"] = 7; });
  expect_found("logit", [](Json& reasons) { reasons["logit"] = -7; });
  expect_found("reference_logit", [](Json& reasons) { reasons["reference_logit"] = 7; });
  expect_found("residual", [](Json& reasons) { reasons["residual"] = 0.1; });
  expect_found("reference", [](Json& reasons) { reasons["reference"] = "the average"; });
}

TEST(ReasonAudit, FindsReasonsThatAreMissingOrOutOfPlace) {
  const Model model = numeric_model(6, 41);
  const File file = file_with_reasons(model);
  Json missing = file.json;
  missing["results"][file.declined].erase("reasons");
  EXPECT_FALSE(audit_recourse_file(missing, model, "r")[file.declined].holds());
  Json misplaced = file.json;
  misplaced["results"][file.accepted]["reasons"] = file.json["results"][file.declined]["reasons"];
  EXPECT_FALSE(audit_recourse_file(misplaced, model, "r")[file.accepted].holds());
  Json without = file.json;
  without.erase("reasons");
  EXPECT_FALSE(audit_recourse_file(without, model, "r")[file.declined].holds());
}

TEST(ReasonAudit, FindsAnotherReference) {
  const Model model = numeric_model(6, 41);
  Json file = file_with_reasons(model).json;
  file["reasons"]["encoded"][0] = 0.125;
  const std::size_t declined = file_with_reasons(model).declined;
  EXPECT_NE(audit_recourse_file(file, model, "r")[declined].failures.front().find("reference"),
            std::string::npos);
}

TEST(ReasonAudit, RecomputesTheMeanOfAcceptedRowsWhereRowsAreAtHand) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(400, 6, 41));
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
  const StoredRows rows{.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  StoredRows others = rows;
  others.encoded.array() += 0.25;
  const auto holds = [&](const StoredRows& stated, const StoredRows* given) {
    const File file = file_with_reasons(model, &stated);
    EXPECT_EQ(file.json["reasons"]["kind"], "accepted");
    return audit_recourse_file(file.json, model, "r", {}, given)[file.declined].holds();
  };
  EXPECT_TRUE(holds(rows, &rows));
  EXPECT_TRUE(holds(others, nullptr));  // taken as stated
  EXPECT_FALSE(holds(others, &rows));
  EXPECT_THROW((void)holds(rows, &others), Error);  // not those of the model
}

}  // namespace
}  // namespace ellice
