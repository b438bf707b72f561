#include "data/draft.hpp"

#include <gtest/gtest.h>

#include "data/csv_detection.hpp"
#include "ellice/core/error.hpp"
#include "support/datasets.hpp"
#include "support/text_table.hpp"

namespace ellice {
namespace {

/// A table in memory with a format.
class FormattedTable final : public RowSource {
 public:
  FormattedTable(const std::string& text, const CsvFormat& format)
      : format_(format),
        scanner_("t.csv", reading(text), CsvScanner::default_buffer_size, format.separator) {}
  [[nodiscard]] const std::string& name() const override { return scanner_.name(); }
  [[nodiscard]] const std::vector<std::string>& header() const override {
    return scanner_.header();
  }
  bool next(std::span<const std::string_view>& cells) override { return scanner_.next(cells); }
  [[nodiscard]] std::string place() const override { return scanner_.place(); }
  [[nodiscard]] const CsvFormat& format() const override { return format_; }

 private:
  static CsvScanner::Read reading(const std::string& text) {
    return [text, given = std::size_t{0}](char* into, std::size_t size) mutable {
      const std::size_t count = text.copy(into, size, given);
      given += count;
      return count;
    };
  }
  CsvFormat format_;
  CsvScanner scanner_;
};

SchemaDraft draft(const std::string& text, const std::string& target = "y",
                  const std::string& favourable = "1") {
  CsvScanner source = text_table(text);
  return draft_schema(source, {.target = target, .favourable = favourable});
}

/// As the program does it, the format found out as well.
SchemaDraft draft_any(const std::string& text, const std::string& target = "y",
                      const std::string& favourable = "1", bool merge_levels = false) {
  const Detection found = detect_format(text, {}, "t.csv");
  FormattedTable source(text, found.format);
  return draft_schema(source, {.target = target,
                               .favourable = favourable,
                               .missing_values = found.missing_values,
                               .merge_levels = merge_levels});
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

/// «what: why» of everything that was guessed about a column.
std::string guesses(const SchemaDraft& draft, const std::string& column) {
  std::string text;
  for (const Guess& guess : draft.guesses) {
    if (guess.column != column) continue;
    text += fmt::format("{}: {}{}; ", guess.what, guess.why, guess.is_doubtful ? " ?" : "");
  }
  return text;
}

#define EXPECT_GUESS(draft, column, part) \
  EXPECT_NE(guesses(draft, column).find(part), std::string::npos) << guesses(draft, column)

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
          {.name = "age", .kind = FeatureKind::integer, .immutable = true},
          {.name = "height", .kind = FeatureKind::numeric},
          {.name = "phone", .kind = FeatureKind::binary, .levels = {"0", "1"}},
          {.name = "smoker", .kind = FeatureKind::binary, .levels = {"no", "yes"}},
          {.name = "colour", .kind = FeatureKind::categorical, .levels = {"blue", "green", "red"}},
          {.name = "grade", .kind = FeatureKind::binary, .levels = {"A", "B"}}}};
  EXPECT_EQ(found.schema, expected);
  EXPECT_GUESS(found, "", "dropped: the column has no name");
  EXPECT_GUESS(found, "name", "dropped: the name of a person");
  EXPECT_GUESS(found, "grade", "\"A\" counts as 0 and \"B\" as 1, by the alphabet");
  EXPECT_EQ(guesses(found, "smoker"), "");
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
  EXPECT_GUESS(found, "job", "one category: 3 columns");
  EXPECT_EQ(parse_schema(to_yaml(found.schema), "draft"), found.schema);
}

TEST(DraftSchema, ChoosesThePolicyForEmptyCells) {
  EXPECT_EQ(draft("a,c,y\n1,p,1\n2,q,0\n5,r,0\n5,r,0\n").schema.missing, MissingPolicy::error);
  const SchemaDraft median = draft("a,c,y\n1,p,1\n ,q,0\n5,r,0\n3,r,0\n");
  EXPECT_EQ(median.schema.missing, MissingPolicy::median);
  EXPECT_EQ(median.schema.features[0].kind, FeatureKind::integer);
  EXPECT_GUESS(median, "a", "empty cells: in 1 of 4 rows");
  EXPECT_EQ(draft("a,c,y\n1,p,1\n2,,0\n5,r,0\n5,s,0\n").schema.missing, MissingPolicy::level);
}

TEST(DraftSchema, NotesWhatDeservesALook) {
  std::string text = "id,city,income,only,empty,y\n";
  for (int i = 0; i < 2000; ++i) {
    text += fmt::format("k{},town{},{},x,,{}\n", i, i % 60, i == 7 ? "NA" : std::to_string(i % 900),
                        i % 3);
  }
  const SchemaDraft found = draft(text);
  EXPECT_EQ(found.schema.drop, (std::vector<std::string>{"id", "only", "empty"}));
  EXPECT_GUESS(found, "id", "dropped: an identifier");
  EXPECT_GUESS(found, "city", "allowed: 60 levels, of which plans may use the 20 most frequent");
  EXPECT_GUESS(found, "income", "1999 of 2000 cells are numbers, but \"NA\" is not");
  EXPECT_GUESS(found, "only", "dropped: it holds nothing but \"x\"");
  EXPECT_GUESS(found, "empty", "dropped: all its cells are empty");
  EXPECT_TRUE(has_note(found, "target \"y\" has more than two values"));
}

TEST(DraftSchema, NotesATextAmongNumbersAlsoWhereThereAreTwoValues) {
  EXPECT_GUESS(draft("a,y\n1,0\nNA,1\n1,2\n"), "a", "2 of 3 cells are numbers, but \"NA\" is not");
}

TEST(DraftSchema, RefusesATargetThatCannotBeUsed) {
  EXPECT_EQ(error_of("income,aproved\n1,yes\n2,no\n", "approved", "yes"),
            "table.csv: there is no column \"approved\" for the target; did you mean \"aproved\"?");
  EXPECT_EQ(error_of("a,y\n1,good\n2,bad\n", "y", "yes"),
            "table.csv: the target column \"y\" never holds \"yes\"; it holds: bad, good");
  EXPECT_EQ(error_of("a,y\n1,yes\n2,yes\n", "y", "yes"),
            "table.csv: the target column \"y\" holds only \"yes\"; a model needs two classes");
  EXPECT_EQ(error_of("a,y\n", "y", "yes"),
            "table.csv: the table has a header but no rows, expected at least two");
  EXPECT_EQ(error_of("y\n1\n0\n", "y", "1"),
            "table.csv: no column but the target can be a feature");
}

TEST(DraftSchema, StopsWhenToldTo) {
  CsvScanner source = text_table("a,y\n1,1\n2,0\n");
  EXPECT_THROW((void)draft_schema(source, {.target = "y", .favourable = "1"},
                                  [](const ProgressState&) { return false; }),
               Error);
}

/// A table of 40 people with one further column, whose cells repeat.
std::string with_column(const std::string& name, const std::vector<std::string>& cells) {
  std::string text = "filler;" + name + ";y\n";
  for (std::size_t i = 0; i < 40; ++i) {
    text += fmt::format("{};{};{}\n", (i * i) % 17, cells[i % cells.size()], i % 3 == 0 ? 1 : 0);
  }
  return text;
}

using Cells = std::vector<std::string>;

struct NameCase {
  const char* name;
  Cells cells;
  const char* guess;  // empty: none at all
};

TEST(DraftSchema, ProtectsByNamesInFourLanguages) {
  const Cells numbers = {"31", "42", "29", "57"};
  const Cells codes = {"1", "2", "3"};
  const std::vector<NameCase> cases = {
      {"age", numbers, "immutable: a person's age"},
      {"Age_cat", numbers, "immutable: a person's age"},
      {"ApplicantAge", numbers, "immutable"},
      {"Alter", numbers, "immutable"},
      {"Lebensalter", numbers, "immutable"},
      {"edad", numbers, "immutable"},
      {"âge", numbers, "immutable"},
      {"year_of_birth", numbers, "immutable"},
      {"Geburtsjahr", numbers, "immutable"},
      {"Geb.jahr", numbers, "immutable: a person's age"},
      {"GebDatum", numbers, "immutable: a person's age"},
      {"année de naissance", numbers, "immutable"},
      {"num_dependents", codes, "immutable: the people who depend"},
      {"Kinderzahl", codes, "immutable"},
      {"personnes_à_charge", codes, "immutable"},
      {"hijos", codes, "immutable"},
      {"credit_history", {"good", "bad", "late"}, "immutable: the past"},
      {"priors_count", codes, "immutable: the past"},
      {"current_charge_degree", codes, "immutable: the past"},
      {"juvenile_crimes", codes, "immutable: the past"},
      {"interest_rate", numbers, "immutable: what the lender sets"},
      {"Effektivzins", numbers, "immutable: what the lender sets"},
      {"taux d'intérêt", numbers, "immutable: what the lender sets"},
      {"Taux", numbers, "immutable: what the lender sets"},
      {"taux_endettement", numbers, ""},
      {"credit_score", numbers, "immutable: a judgement of others"},
      {"Bonitätsindex", numbers, "immutable: a judgement of others"},
      {"sex", codes, "protected: sex or gender"},
      {"Geschlecht", codes, "protected"},
      {"sexe", codes, "protected"},
      {"género", codes, "protected"},
      {"race", codes, "protected: origin"},
      {"nationality", codes, "protected: origin"},
      {"Staatsangehörigkeit", codes, "protected"},
      {"Nationalität", codes, "protected"},
      {"nationalité", codes, "protected"},
      {"nacionalidad", codes, "protected"},
      {"foreign_worker", codes, "protected"},
      {"ForeignWorker", codes, "protected"},
      {"maritalStatus", codes, "protected: marital status"},
      {"Familienstand", codes, "protected"},
      {"estado civil", codes, "protected"},
      {"situation_familiale", codes, "protected"},
      {"Religion", codes, "protected: belief"},
      {"disability", codes, "protected: health"},
      {"x1", {"male", "female"}, "protected: sex or gender, by its values"},
      {"title", {"Mr", "Mrs", "Dr"}, "protected: sex or gender"},
      {"Titel", {"Dr.", "Prof."}, "protected: sex or gender"},
      {"loan_title", {"car", "home", "other"}, ""},
      {"x5", {"Mr", "Mrs", "Miss"}, "protected: sex or gender, by its values"},
      {"x2", {"M", "W"}, "protected: sex or gender, by its values"},
      {"x3", {"male : single", "female : divorced", "male : married"}, "protected"},
      {"x4", {"ledig", "verheiratet", "geschieden"}, "protected: marital status, by its values"},
      {"tenure_years", numbers, "increase: time in a job"},
      {"Betriebszugehörigkeit", numbers, "increase"},
      {"antigüedad", numbers, "increase"},
      {"ancienneté", numbers, "increase"},
      {"education_years", numbers, "increase: education"},
      {"account_age", numbers, "increase: the time since"},
      {"MSinceOldestTradeOpen", numbers, "increase: the time since"},
      {"percentage", numbers, "unit %"},  // no age
      {"savings", numbers, ""},
      {"usage", numbers, ""},
      {"management", {"a", "b", "c"}, ""},
      {"sexton", {"a", "b", "c"}, ""},
  };
  for (const NameCase& row : cases) {
    SCOPED_TRACE(row.name);
    const SchemaDraft found = draft_any(with_column(row.name, row.cells));
    ASSERT_EQ(found.schema.features.size(), 2U);
    const Feature& feature = found.schema.features[1];
    const std::string guess = guesses(found, row.name);
    if (*row.guess == '\0') {
      EXPECT_EQ(guess, "");
      EXPECT_FALSE(feature.immutable);
    }
    EXPECT_NE(guess.find(row.guess), std::string::npos) << guess;
    EXPECT_EQ(feature.is_protected, guess.find("protected") != std::string::npos);
    EXPECT_EQ(feature.immutable, guess.find("protected") != std::string::npos ||
                                     guess.find("immutable") != std::string::npos);
    EXPECT_EQ(feature.direction == Direction::increase,
              guess.find("increase: ") != std::string::npos);
    EXPECT_EQ(parse_schema(to_yaml(found), "draft"), found.schema);
  }
}

TEST(DraftSchema, DropsWhatIsNoQuantityOfAPerson) {
  Cells ids;
  Cells names;
  Cells codes;
  Cells days;
  Cells remarks;
  Cells count;
  Cells rising;
  Cells keys;
  Cells marks;
  for (int i = 0; i < 40; ++i) {
    rising.push_back(std::to_string(20400 + 7 * i + i % 3));
    marks.push_back(fmt::format("b{}", i * 31 % 97));
    keys.push_back(i == 17 ? "" : fmt::format("K-{}", (i == 30 ? 3 : i) * 7919 % 9973));
    ids.push_back(std::to_string(4711 + (i * 37) % 997));
    names.push_back(fmt::format("Person {}", i % 38));
    codes.push_back(fmt::format("{:05}", 1000 + (i * 7919) % 90000));
    days.push_back(fmt::format("{:02}.{:02}.2024", 1 + i % 28, 1 + i % 12));
    remarks.push_back(fmt::format("called on day {} and asked about the rate", i % 30));
    count.push_back(std::to_string(i + 1));
  }
  const std::vector<NameCase> cases = {
      {"customer_id", ids, "dropped: an identifier"},
      {"Kundennummer", ids, "dropped: an identifier"},
      {"Nachname", names, "dropped: the name of a person"},
      {"PLZ", {"10115", "80331", "20095"}, "dropped: a postcode"},
      {"wohnort", codes, "dropped: codes of digits with leading zeros"},
      {"x", days, "dropped: dates"},
      {"x", {"2024-02-29", "2024-03-01T10:00", "2023-12-24 18:30"}, "dropped: dates"},
      {"gespräch", remarks, "dropped: free text"},
      {"x", count, "dropped: it counts the rows"},
      {"vorgang", rising, "dropped: whole numbers that rise from row to row"},
      {"vorgang", keys, "dropped: text that differs in nearly every row"},
      {"vorgang", marks, "dropped: text that differs in every row"},
      {"Bemerkung", {"ruft an", "ruft nicht an", "ruft an"}, "dropped: a remark about the row"},
      {"Vorname", {"Ada", "Jo", "Ada", "Ben"}, "dropped: the name of a person"},
      {"last_name", {"Li", "Wu", "Li", "Li"}, "dropped: the name of a person"},
      {"Name", {"Li", "Wu", "Li", "Li"}, "dropped: the name of a person"},
      {"x", {"7"}, "dropped: it holds nothing but \"7\""},
  };
  for (const NameCase& row : cases) {
    SCOPED_TRACE(row.name);
    const SchemaDraft found = draft_any(with_column(row.name, row.cells));
    EXPECT_EQ(found.schema.drop, Cells{row.name});
    EXPECT_GUESS(found, row.name, row.guess);
  }
  const SchemaDraft branch = draft_any(with_column("branch", {"01", "02", "03", "11"}));
  EXPECT_EQ(branch.schema.features[1].kind, FeatureKind::categorical);
  // A row may stand twice; not all that rises now and then is an identifier, nor every name that
  // of a person.
  rising[20] = rising[19];
  EXPECT_EQ(draft_any(with_column("vorgang", rising)).schema.drop, Cells{"vorgang"});
  for (std::size_t i = 0; i < rising.size(); i += 8) rising[i] = rising[(i + 9) % rising.size()];
  EXPECT_EQ(draft_any(with_column("vorgang", rising)).schema.drop, Cells{});
  EXPECT_EQ(draft_any(with_column("product_name", {"gold", "silver", "gold"})).schema.drop,
            Cells{});
  const SchemaDraft phone = draft_any(with_column("telephone", {"none", "yes"}));
  EXPECT_EQ(phone.schema.features[1].levels, (Cells{"none", "yes"}));
}

TEST(DraftSchema, KnowsLadders) {
  const std::vector<std::pair<Cells, Cells>> cases = {
      {{"bachelor", "none", "school", "master"}, {"none", "school", "bachelor", "master"}},
      {{"Hoch", "niedrig", "mittel"}, {"niedrig", "mittel", "Hoch"}},
      {{"bac", "licence", "aucun"}, {"aucun", "bac", "licence"}},
      {{"very good", "fair", "good", "poor"}, {"poor", "fair", "good", "very good"}},
      {{"< 1 year", "unemployed", ">= 7 years", "1 - 4 years", "4 - 7 years"},
       {"unemployed", "< 1 year", "1 - 4 years", "4 - 7 years", ">= 7 years"}},
      {{"1 <= ... < 4 years", "... < 1 year", ".. >= 7 years", "4 <= ... < 7 years"},
       {"... < 1 year", "1 <= ... < 4 years", "4 <= ... < 7 years", ".. >= 7 years"}},
      {{"18-25", "26-40", "41+"}, {"18-25", "26-40", "41+"}},
  };
  for (const auto& [cells, levels] : cases) {
    const SchemaDraft found = draft_any(with_column("x", cells));
    EXPECT_EQ(found.schema.features[1].kind, FeatureKind::ordinal) << levels.front();
    EXPECT_EQ(found.schema.features[1].levels, levels);
  }
  for (const Cells& cells :
       {Cells{"low", "medium", "sky"}, Cells{"1-5", "3-8", "9-10"}, Cells{"a1", "b2", "c3"},
        Cells{"no account", "< 0 DM", "0 - 200 DM"},
        Cells{"unknown/no savings", "< 100 DM", "100 - 500 DM"}, Cells{"none", "x", "y"}}) {
    EXPECT_EQ(draft_any(with_column("x", cells)).schema.features[1].kind, FeatureKind::categorical);
  }
}

TEST(DraftSchema, TakesStepsFromTheDataAndUnitsFromNamesAndSigns) {
  const auto feature = [](const std::string& name, const Cells& cells) {
    return draft_any(with_column(name, cells)).schema.features[1];
  };
  EXPECT_EQ(feature("income", {"31700", "28500", "40000", "51200", "22900"}).step, 100);
  EXPECT_EQ(feature("income", {"31700", "28501", "40007", "51203", "22900"}).step, std::nullopt);
  EXPECT_EQ(feature("faults", {"0", "1", "0", "0", "2", "3", "0", "5", "0", "0"}).step,
            std::nullopt);
  EXPECT_EQ(feature("calls_last_7days", {"1", "3", "7", "2"}).unit, "");
  EXPECT_EQ(feature("rate", {"1.5", "2", "2.5", "7", "4.5", "3"}).step, 0.5);
  EXPECT_EQ(feature("height", {"1.51", "1.62", "1.7", "1.83", "1.9"}).step, std::nullopt);
  EXPECT_EQ(feature("duration_months", {"12", "24", "7", "48"}).unit, "months");
  const Feature tenure = feature("years_employed", {"1", "3", "7", "12", "4"});
  EXPECT_EQ(tenure.slow, (Pace{.amount = 1, .per = Pace::Period::year}));
  const Feature amount = feature("Betrag", {"1.200,50 €", "900,25 €", "12.000,00 €"});
  EXPECT_EQ(amount.kind, FeatureKind::numeric);
  EXPECT_EQ(amount.unit, "EUR");
}

TEST(DraftSchema, SaysWhichLevelsAreSpelledInSeveralWays) {
  const std::string text =
      with_column("home", {"Rent", "Own", "RENT", "Own", "rent ", "Rent", "Free"});
  const SchemaDraft found = draft_any(text);
  EXPECT_EQ(found.schema.features[1].levels.size(), 5U);
  EXPECT_GUESS(found, "home", "differ in case or blanks only");
  const std::vector<std::string> open = found.open_questions();
  EXPECT_NE(std::find_if(open.begin(), open.end(),
                         [](const auto& doubt) { return doubt.starts_with("\"home\": "); }),
            open.end());
  const SchemaDraft merged = draft_any(text, "y", "1", true);
  EXPECT_EQ(merged.schema.features[1].levels, (Cells{"Free", "Own", "Rent"}));
  EXPECT_TRUE(merged.schema.merge_levels);
  FormattedTable again(text, merged.schema.format);
  const Dataset data = read_dataset(again, merged.schema);
  EXPECT_EQ(data.raw(0, 1), 2);  // Rent
  EXPECT_EQ(data.raw(2, 1), 2);  // RENT
  EXPECT_EQ(data.raw(4, 1), 2);  // "rent "
}

TEST(DraftSchema, RefusesLabelsThatDifferInCase) {
  EXPECT_EQ(error_of("a,y\n1,yes\n2,no\n3,Yes\n", "y", "yes"),
            "table.csv: the target column \"y\" holds \"Yes\" (1 rows) and \"yes\" (1 rows), "
            "which differ in case or blanks only and would be two classes; make them one first");
}

TEST(DraftSchema, CountsRepeatedAndContradictingRows) {
  std::string text = "id,a,b,y\n";
  const Cells rows = {"1,x,1", "2,x,0", "1,x,1", "3,z,0", "1,x,0", "2,x,0"};
  for (std::size_t i = 0; i < 1200; ++i) {
    // After these six every row differs.
    text += i < rows.size() ? fmt::format("{},{}\n", i, rows[i])
                            : fmt::format("{},{},w,{}\n", i, 10 + 1999 * i % 4801, i % 2);
  }
  const SchemaDraft found = draft(text);
  EXPECT_EQ(found.schema.drop, Cells{"id"});
  EXPECT_TRUE(has_note(found, "2 of 1200 rows repeat an earlier one"));
  ASSERT_EQ(found.doubts.size(), 1U);
  EXPECT_NE(found.doubts[0].find("3 of 1200 rows contradict each other"), std::string::npos);
}

TEST(DraftSchema, HoldsACategoryWithoutFrequentLevels) {
  Cells cells;
  for (int i = 0; i < 400; ++i) cells.push_back(fmt::format("employer {}", i % 200));
  std::string text = "a,job,y\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += fmt::format("{},{},{}\n", i % 23, cells[i], i % 2);
  }
  const SchemaDraft found = draft(text);
  EXPECT_TRUE(found.schema.features[1].immutable);
  EXPECT_GUESS(found, "job", "immutable: 200 levels, none of them frequent");
}

TEST(DraftSchema, DoubtsThatNothingMayChange) {
  const SchemaDraft found = draft("age,sex,y\n31,0,1\n44,1,0\n25,1,1\n");
  ASSERT_EQ(found.doubts.size(), 1U);
  EXPECT_NE(found.doubts[0].find("every feature is immutable or protected"), std::string::npos);
}

TEST(DraftSchema, PutsEachGuessBesideItsLine) {
  const SchemaDraft found = draft_any(with_column("age", {"31", "42", "29", "57"}));
  const std::string yaml = to_yaml(found);
  EXPECT_NE(yaml.find("age:    {kind: integer, immutable: true}  # immutable: a person's age, by "
                      "\"age\" in its name\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("format: {separator: \";\"}\n"), std::string::npos) << yaml;
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
    const SchemaDraft found =
        draft_schema(reader, {.target = known.target, .favourable = known.favourable});
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
