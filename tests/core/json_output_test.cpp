#include "core/json_output.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {
namespace {

/// Numbers that every writer of JSON spells alike, and texts with all that is escaped.
Json random_value(Random& random, int depth) {
  const auto kind = static_cast<int>(random.uniform() * (depth > 0 ? 9 : 7));
  switch (kind) {
    case 0:
      return nullptr;
    case 1:
      return random.uniform() < 0.5;
    case 2:
      return static_cast<std::int64_t>(random.uniform() * 2e6) - 1000000;
    case 3:
      return static_cast<std::uint64_t>(random.uniform() * 1e15);
    case 4:
      return std::floor(random.uniform() * 1000) + 0.5;
    case 5:
      return std::string(static_cast<std::size_t>(random.uniform() * 40), 'a');
    case 6: {
      std::string text;
      for (int i = 0; i < 12; ++i) {
        const double draw = random.uniform();
        text += draw < 0.1 ? "θ̂" : draw < 0.2 ? "\U0001F600" : "";
        text += static_cast<char>(static_cast<int>(random.uniform() * 128));
      }
      return text;
    }
    default:
      break;
  }
  const int size = static_cast<int>(random.uniform() * 5);
  Json result = kind == 7 ? Json::array() : Json::object();
  for (int i = 0; i < size; ++i) {
    if (kind == 7) {
      result.push_back(random_value(random, depth - 1));
    } else {
      result["k" + std::to_string(static_cast<int>(random.uniform() * 1000)) + "\"é"] =
          random_value(random, depth - 1);
    }
  }
  return result;
}

nlohmann::json sorted(const Json& value) {
  return nlohmann::json::parse(value.dump());
}

TEST(JsonText, IsWhatTheJsonLibraryWrites) {
  Random random(11);
  int structured = 0;
  for (int i = 0; i < 2000; ++i) {
    const Json value = random_value(random, 4);
    structured += value.is_structured() && !value.empty() ? 1 : 0;
    EXPECT_EQ(compact_text(value), value.dump());
    EXPECT_EQ(canonical_text(value), sorted(value).dump());
    EXPECT_EQ(Json::parse(to_text(value)), value);
  }
  EXPECT_GT(structured, 200);
}

TEST(JsonText, IndentsStructuresAndKeepsScalarsOnALine) {
  const Json value = Json::parse(R"({"a":[1,2],"b":[null,{"x":[]}],"c":{},"d":[[1],[2,3]]})");
  EXPECT_EQ(to_text(value),
            "{\n"
            "  \"a\": [1, 2],\n"
            "  \"b\": [\n"
            "    null,\n"
            "    {\n"
            "      \"x\": []\n"
            "    }\n"
            "  ],\n"
            "  \"c\": {},\n"
            "  \"d\": [\n"
            "    [1],\n"
            "    [2, 3]\n"
            "  ]\n"
            "}\n");
}

TEST(JsonText, StandsAtAnyDepthAndBehindWhatIsThere) {
  std::string text = "x";
  JsonText out(text, JsonText::Style::indented, 2);
  out.begin_object();
  out.put("a", 1);
  out.end_object();
  EXPECT_EQ(text, "x{\n      \"a\": 1\n    }");

  std::string canonical = "before";
  JsonText sorted(canonical, JsonText::Style::canonical);
  sorted.begin_object();
  sorted.put("b", Vector(Vector::Constant(2, 0.25)));
  sorted.put("a", std::vector<std::string>{"q\"", "é"});
  sorted.put_if("c", std::optional<double>());
  sorted.put_if("0", std::optional<double>(-0.0));
  sorted.end_object();
  EXPECT_EQ(canonical, R"(before{"0":-0.0,"a":["q\"","é"],"b":[0.25,0.25]})");
}

TEST(JsonText, RefusesWhatIsNotUtf8) {
  std::string text;
  JsonText out(text, JsonText::Style::compact);
  EXPECT_THROW(out.text("\xff"), Error);
  EXPECT_THROW(out.text("plain, then \xc3"), Error);
}

TEST(JsonTree, IsTheTreeThatWasWritten) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const Json value = random_value(random, 4);
    JsonTree tree;
    write_json(tree, value);
    EXPECT_EQ(tree.take(), value);
  }
}

}  // namespace
}  // namespace ellice
