#include "ellice/request/reason_codes.hpp"

#include <gtest/gtest.h>

#include "ellice/core/json.hpp"
#include "ellice/request/reasons.hpp"
#include "support/messages.hpp"
#include "support/refusal_case.hpp"

namespace ellice {
namespace {

using problem_zoo::refusal_case;
using problem_zoo::RefusalCase;
using testing_support::expect_input_error;

ReasonCodes parse(const std::string& text) {
  return parse_reason_codes(text, "codes.yaml", refusal_case().model.schema());
}

TEST(ReasonCodes, TakeTheMostSpecialEntryThatFits) {
  const ReasonCodes codes = parse(R"(debt:
  too_high: {code: "12", text: Debts are high}
  too_low:  {code: "13", text: Debts are low}
grade: {code: G, too_high: {code: G+}}
member: {code: M, text: Not a member}
purpose: {code: P, text: Purpose, levels: {boat: {code: P1, text: It is a boat}}}
)");
  const Schema schema = refusal_case().model.schema();
  const auto code = [&](std::size_t j, const Value& value, double reference) {
    return codes.find(schema.features[j], value, reference)->code;
  };
  EXPECT_EQ(code(0, 8000.0, 4000), "12");
  EXPECT_EQ(code(0, 2000.0, 4000), "13");
  EXPECT_EQ(code(1, "low", 1.2), "G");
  EXPECT_EQ(code(1, "high", 1.2), "G+");
  EXPECT_EQ(code(2, "no", 0.5), "M");
  EXPECT_EQ(code(3, "boat", 0.5), "P1");
  EXPECT_EQ(code(3, "car", 0.5), "P");
}

TEST(ReasonCodes, AreStatedWithTheReasons) {
  const RefusalCase refusal = refusal_case();
  const ReasonCodes codes =
      parse("debt: {too_high: {code: R1, text: Your debts are high}}\ngrade: {code: R2}\n");
  const Reasons reasons =
      *Reasoner(refusal.model, 0, make_reference(refusal.model, 0, &refusal.rows), codes)
           .of(refusal.person);
  EXPECT_EQ(reasons.items[0].code, "R1");
  EXPECT_EQ(reasons.items[0].text, "Your debts are high");
  EXPECT_EQ(reasons.items[1].code, "R2");  // no text of its own
  EXPECT_EQ(reasons.items[1].text,
            "grade is low; the average of accepted people is between middle and high");
  EXPECT_FALSE(reasons.items[2].code);
  const Json json = to_json(reasons);
  EXPECT_EQ(json["items"][0]["code"], "R1");
  EXPECT_FALSE(json["items"][2].contains("code"));
}

TEST(ReasonCodes, AreRefusedWithFileLineAndKey) {
  const auto refused = [](const char* text, std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return parse(text); }, words);
  };
  refused("debt: {code: a}\ndept: {code: b}\n",
          {"codes.yaml:2", "unknown feature \"dept\"", "did you mean \"debt\""});
  refused("debt: {text: high}\n", {"codes.yaml:1", "debt", "\"code\" is missing"});
  refused("debt: {too_hihg: {code: a}}\n", {"codes.yaml:1", "too_hihg", "too_high"});
  refused("debt:\n  too_high: {code: }\n", {"codes.yaml:2", "debt.too_high.code", "reason code"});
  refused("debt: {levels: {a: {code: b}}}\n", {"debt.levels", "no levels", "too_low"});
  refused("purpose:\n  too_low: {code: b}\n",
          {"codes.yaml:2", "purpose.too_low", "has no order", "levels"});
  refused("purpose: {levels: {ship: {code: b}}}\n", {"unknown level \"ship\"", "boat"});
  refused("debt: R1\n", {"codes.yaml:1", "debt", "found \"R1\"", "code and text"});
  refused("debt: {}\n", {"codes.yaml:1", "debt", "found a map", "too_high"});
  refused("- debt\n", {"codes.yaml:1", "found a list", "a map from feature"});
  refused("debt: {code: a}\ndebt: {code: b}\n", {"codes.yaml:2", "stands twice"});
  refused("debt: {code: [a\n", {"codes.yaml:", "not YAML"});
}

}  // namespace
}  // namespace ellice
