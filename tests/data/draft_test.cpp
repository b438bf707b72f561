#include "data/draft.hpp"

#include <gtest/gtest.h>

#include "ellice/core/error.hpp"
#include "support/datasets.hpp"
#include "support/text_table.hpp"

namespace ellice {
namespace {

SchemaDraft draft(const std::string& text, const std::string& target = "y",
                  const std::string& favourable = "1") {
  CsvScanner source = text_table(text);
  return draft_schema(source, target, favourable);
}

std::string error_of(const std::string& text, const std::string& target,
                     const std::string& favourable) {
  try {
    (void)draft(text, target, favourable);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "no error";
}

bool has_note(const SchemaDraft& draft, const std::string& part) {
  return std::any_of(draft.notes.begin(), draft.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(DraftSchema, TellsKindsByTheValues) {
  const SchemaDraft found = draft(
      ",age,height,phone,smoker,colour,grade,name,y\n"
      "0,31,1.80,0,yes,red,B,ann,1\n"
      "1,42,1.75,1,no,green,A,bob,0\n"
      "2,31,1.62,1,no,blue,A,cid,0\n"
      "3,29,1.62,0,no,blue,A,dan,1\n");
  const Schema expected{
      .target = {.column = "y", .favourable = "1"},
      .drop = {"", "name"},
      .features = {
          {.name = "age", .kind = FeatureKind::integer},
          {.name = "height", .kind = FeatureKind::numeric},
          {.name = "phone", .kind = FeatureKind::binary, .levels = {"0", "1"}},
          {.name = "smoker", .kind = FeatureKind::binary, .levels = {"no", "yes"}},
          {.name = "colour", .kind = FeatureKind::categorical, .levels = {"blue", "green", "red"}},
          {.name = "grade", .kind = FeatureKind::binary, .levels = {"A", "B"}}}};
  EXPECT_EQ(found.schema, expected);
  EXPECT_TRUE(has_note(found, "\"\" is dropped"));
  EXPECT_TRUE(has_note(found, "\"name\" is dropped: text that differs in every row"));
  EXPECT_TRUE(has_note(found, "\"grade\": \"A\" counts as 0 and \"B\" as 1, by the alphabet"));
  EXPECT_FALSE(has_note(found, "\"smoker\""));
  EXPECT_EQ(parse_schema(to_yaml(found.schema), "draft"), found.schema);
}

TEST(DraftSchema, OrdersTwoNumbersBySizeAndTwoSpellingsOfOneNumberAreNotTwo) {
  const SchemaDraft found = draft("a,b,c,y\n10,1,1.0,1\n9,1.0,2.0,0\n10,1,1.0,1\n");
  EXPECT_EQ(found.schema.features[0].levels, (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(found.schema.features[1].kind, FeatureKind::integer);
  EXPECT_EQ(found.schema.features[2].levels, (std::vector<std::string>{"1.0", "2.0"}));
}

TEST(DraftSchema, TakesExactGroupsOfZeroAndOneAsOneCategory) {
  const SchemaDraft found = draft(
      "job_a,job_b,x_1,x_2,job_c,y\n"
      "1,0,1,0,0,1\n"
      "0,0,0,0,1,0\n"
      "0,1,0,1,0,0\n");
  ASSERT_EQ(found.schema.features.size(), 3U);  // x_1 and x_2 are both 0 in the second row
  EXPECT_EQ(found.schema.features[0].name, "job");
  EXPECT_EQ(found.schema.features[0].one_hot,
            (std::vector<std::string>{"job_a", "job_b", "job_c"}));
  EXPECT_EQ(found.schema.features[1].name, "x_1");
  EXPECT_EQ(found.schema.features[1].kind, FeatureKind::binary);
  EXPECT_TRUE(has_note(found, "\"job\": 3 columns"));
  EXPECT_EQ(parse_schema(to_yaml(found.schema), "draft"), found.schema);
}

TEST(DraftSchema, ChoosesThePolicyForEmptyCells) {
  EXPECT_EQ(draft("a,c,y\n1,p,1\n2,q,0\n5,r,0\n5,r,0\n").schema.missing, MissingPolicy::error);
  const SchemaDraft median = draft("a,c,y\n1,p,1\n ,q,0\n5,r,0\n3,r,0\n");
  EXPECT_EQ(median.schema.missing, MissingPolicy::median);
  EXPECT_EQ(median.schema.features[0].kind, FeatureKind::integer);
  EXPECT_TRUE(has_note(median, "\"a\" is empty in 1 of 4 rows"));
  EXPECT_EQ(draft("a,c,y\n1,p,1\n2,,0\n5,r,0\n5,s,0\n").schema.missing, MissingPolicy::level);
}

TEST(DraftSchema, NotesWhatDeservesALook) {
  std::string text = "id,city,income,only,empty,y\n";
  for (int i = 0; i < 2000; ++i) {
    text += fmt::format("k{},town{},{},x,,{}\n", i, i % 60, i == 7 ? "NA" : std::to_string(i % 900),
                        i % 3);
  }
  const SchemaDraft found = draft(text);
  EXPECT_EQ(found.schema.drop, (std::vector<std::string>{"id", "empty"}));
  EXPECT_TRUE(has_note(found, "\"id\" is dropped: text with more than 1000 distinct values"));
  EXPECT_TRUE(has_note(found, "\"city\" has 60 levels"));
  EXPECT_TRUE(has_note(found, "\"income\": 1999 of 2000 cells are numbers, but \"NA\" is not"));
  EXPECT_TRUE(has_note(found, "\"only\" has only one value"));
  EXPECT_TRUE(has_note(found, "\"empty\" is dropped: all its cells are empty"));
  EXPECT_TRUE(has_note(found, "target \"y\" has more than two values"));
}

TEST(DraftSchema, NotesATextAmongNumbersAlsoWhereThereAreTwoValues) {
  EXPECT_TRUE(has_note(draft("a,y\n1,0\nNA,1\n1,2\n"),
                       "\"a\": 2 of 3 cells are numbers, but \"NA\" is not"));
}

TEST(DraftSchema, RefusesATargetThatCannotBeUsed) {
  EXPECT_EQ(error_of("income,aproved\n1,yes\n2,no\n", "approved", "yes"),
            "table.csv: there is no column \"approved\" for the target; did you mean \"aproved\"?");
  EXPECT_EQ(error_of("a,y\n1,good\n2,bad\n", "y", "yes"),
            "table.csv: the target column \"y\" never holds \"yes\"; it holds: bad, good");
  EXPECT_EQ(error_of("a,y\n1,yes\n2,yes\n", "y", "yes"),
            "table.csv: the target column \"y\" holds only \"yes\"; a model needs two classes");
  EXPECT_EQ(error_of("a,y\n", "y", "yes"), "table.csv: the table has a header but no rows");
  EXPECT_EQ(error_of("y\n1\n0\n", "y", "1"),
            "table.csv: no column but the target can be a feature");
}

TEST(DraftSchema, StopsWhenToldTo) {
  CsvScanner source = text_table("a,y\n1,1\n2,0\n");
  EXPECT_THROW((void)draft_schema(source, "y", "1", [](const ProgressState&) { return false; }),
               Error);
}

struct Known {
  const char* name;
  const char* target;
  const char* favourable;
  std::size_t features;
  std::size_t groups;
};

TEST(DraftSchema, OfEachDataSetOfThePaperIsReadBackAsItself) {
  for (const Known& known :
       {Known{"australian", "y", "1", 14, 2}, Known{"banknote", "class", "1", 4, 0},
        Known{"compas", "two_year_recid", "1", 7, 0}, Known{"diabetes", "Outcome", "1", 8, 0},
        Known{"fico", "PoorRiskPerformance", "1", 23, 0}, Known{"german", "y", "1", 20, 15},
        Known{"iris", "species", "setosa", 20, 0}, Known{"parkinsons", "sex", "1", 21, 0},
        Known{"wine", "type", "white", 12, 0}}) {
    SCOPED_TRACE(known.name);
    ELLICE_NEEDS_DATASET(known.name);
    CsvReader reader(*find_dataset_file(known.name));
    const SchemaDraft found = draft_schema(reader, known.target, known.favourable);
    EXPECT_EQ(found.schema.features.size(), known.features);
    EXPECT_EQ(std::count_if(found.schema.features.begin(), found.schema.features.end(),
                            [](const Feature& feature) { return !feature.one_hot.empty(); }),
              static_cast<std::ptrdiff_t>(known.groups));
    EXPECT_EQ(parse_schema(to_yaml(found.schema), "draft"), found.schema);
    CsvReader again(*find_dataset_file(known.name));
    EXPECT_EQ(read_dataset(again, found.schema).raw.cols(), static_cast<Index>(known.features));
  }
}

}  // namespace
}  // namespace ellice
