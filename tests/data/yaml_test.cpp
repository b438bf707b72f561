// The reader of YAML ends on every text, and says of a bad one what is wrong with it. A test that
// hangs is one that fails: CTest ends it.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "data/yaml_entry.hpp"
#include "ellice/core/error.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

constexpr std::array<std::string_view, 4> written = {
    R"({"lock": ["purpose"], "bounds": {"income": [20000, null]}})",
    R"(target: {column: approved, favourable: "yes"}
features:
  income:  {kind: numeric, min: 0, unit: "EUR/year"}
  purpose: {kind: categorical, levels: [boat, car, 'a home']}
constraints: ["debt <= 0.4 * income"]
)",
    "name: quick\nfolds: {count: 4, run: [1]}\ntext: |\n  a\n  b\nother: >-\n  c\n",
    "- a\n- &x {b: [1, 2]}\n- *x\n- ? c\n  : d\n"};

/// What means something in YAML, and a little that does not.
constexpr std::string_view signs = ",,,:[]{}-?&*!|>'\"%@`#\n\n  \t0a~.=";

std::string mutated(std::string text, std::mt19937_64& random) {
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : random() % end; };
  const std::size_t edits = 1 + below(6);
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t place = below(text.size() + 1);
    const char sign = signs[below(signs.size())];
    switch (below(5)) {
      case 0:
        text.insert(place, 1, sign);
        break;
      case 1:
        text.erase(place, 1 + below(4));
        break;
      case 2:
        text.insert(place, std::string(below(40), sign));
        break;
      case 3:
        text.insert(place, text.substr(below(text.size()), below(30)));
        break;
      default:
        text.resize(place);
    }
  }
  return text;
}

TEST(Yaml, EndsOnEveryMutatedText) {
  std::mt19937_64 random(20);
  int read = 0;
  int refused = 0;
  for (int k = 0; k < 20000; ++k) {
    const std::string text = mutated(std::string(written[random() % written.size()]), random);
    try {
      const YamlDocument document(text, "m.yaml");
      (void)document.top();
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input) << text;
      EXPECT_TRUE(std::string_view(error.what()).starts_with("m.yaml:")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(Yaml, SaysWhereSomethingFollowsTheDocument) {
  for (const std::string_view text : written) {
    EXPECT_NO_THROW(YamlDocument(std::string(text), "m.yaml"));
  }
  for (const char* const rest : {",", ",,", " ,\n", "\n,\n", " x", "\n---\n- 1\n"}) {
    expect_input_error([&] { YamlDocument(std::string(written[0]) + rest, "m.yaml"); },
                       {"m.yaml:", "after the end of the document", "comma"});
  }
  expect_input_error([] { YamlDocument("a: 1\nb: {c: 2},\n", "m.yaml"); }, {"m.yaml:2: "});
}

TEST(Yaml, RefusesWhatIsNestedWithoutEnd) {
  for (const char sign : {'[', '{'}) {
    expect_input_error([&] { YamlDocument(std::string(100'000, sign), "m.yaml"); }, {"m.yaml:1"});
  }
}

}  // namespace
}  // namespace ellice
