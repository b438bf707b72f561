#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "lending_answers.hpp"
#include "markup.hpp"
#include "report/letter_batch.hpp"

namespace ellice {
namespace {

using testing_support::lending_example;
using testing_support::LendingExample;
using testing_support::markup_fault;

/// Answers of every status, with reasons where the model declines.
struct Batch {
  LendingExample example = {};
  Request request = {};
};

const Batch& batch() {
  static const Batch* const made = [] {
    auto* result = new Batch{.example = lending_example(20, 0.03)};
    const Model& model = result->example.model;
    result->request.problem = {.model = &model, .epsilon = 0.03};
    result->request.reference = make_reference(model, 0);
    add_reasons(result->example.answers, Reasoner(model, 0, *result->request.reference));
    return result;
  }();
  return *made;
}

LetterWriter writer(Language language, const Request& request = batch().request) {
  return LetterWriter(request, {}, LetterMessages(language),
                      Template(default_letter_template(), "ours", letter_fields()),
                      {.lender = "Bank & Sons",
                       .date = parse_date("2026-05-01", "--date"),
                       .valid_until = parse_date("2026-12-31", "--valid-until")});
}

const Answer& with_status(Status status) {
  const std::vector<Answer>& answers = batch().example.answers;
  const auto found = std::find_if(answers.begin(), answers.end(),
                                  [&](const Answer& answer) { return answer.status == status; });
  EXPECT_NE(found, answers.end());
  return *found;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Letters, SayWhatEachStatusAllowsAndNoScores) {
  const std::vector<std::pair<Status, std::string>> cases = {
      {Status::optimal, "a new application meets what we require"},
      {Status::certified, "a new application meets what we require"},
      {Status::reduced, "narrower than the one that we usually ask for"},
      {Status::infeasible, "this has been established"},
      {Status::not_found, "this does not mean that there is none"},
      {Status::uncertified, "did not pass our check"}};
  for (const auto& [status, words] : cases) {
    const Answer& answer = with_status(status);
    const std::string page = writer(Language::en).letter(answer);
    EXPECT_TRUE(has(page, words)) << enum_name(status);
    EXPECT_EQ(markup_fault(page), "") << enum_name(status);
    const bool plans = is_certified(status);
    EXPECT_EQ(has(page, "raise from") || has(page, "lower from") || has(page, "change from"),
              plans);
    EXPECT_EQ(has(page, "Keep everything else as it is"), plans);
    EXPECT_EQ(has(page, "until 31 December 2026"), plans);
    for (const char* always :
         {"1 May 2026", "Bank &amp; Sons", "reviewed by a person", "Why we could not accept"})
      EXPECT_TRUE(has(page, always)) << always;
    for (const char* never : {"logit", "query", "epsilon", "ε", "{{", "}}"})
      EXPECT_FALSE(has(page, never)) << never;
  }
}

TEST(Letters, NameTheCertificateByTheHashOfItsCanonicalForm) {
  const Answer& answer = with_status(Status::optimal);
  const Schema& schema = batch().example.model.schema();
  EXPECT_TRUE(has(writer(Language::de).letter(answer),
                  sha256_hex(canonical_text(to_json(*answer.certificate, schema)))));
}

TEST(Letters, PromiseNoMoreThanTheCertificate) {
  Request request = batch().request;
  Answer answer = with_status(Status::optimal);
  const std::string share =
      fmt::format("{:.2g}%", 100 * 0.03 / batch().example.model.training.objective);
  EXPECT_TRUE(has(writer(Language::en).letter(answer), "at most about " + share + " worse"));
  answer.certificate->set = SetKind::full;
  EXPECT_TRUE(has(writer(Language::en).letter(answer), "an approximation and not a proof"));
  answer.certificate->set = SetKind::isotropic;
  EXPECT_TRUE(has(writer(Language::en).letter(answer), "models near the present one"));
  answer.certificate->set = SetKind::true_set;
  EXPECT_TRUE(has(writer(Language::en).letter(answer), "at most " + share + " worse"));
  answer.certificate->set = SetKind::last_layer;
  answer.certificate->epsilon = 0;
  const std::string present = writer(Language::en).letter(answer);
  EXPECT_TRUE(has(present, "we still decide by the present model"));
  EXPECT_FALSE(has(present, "range"));
}

TEST(Letters, BeginWithTheCheapestChange) {
  const Model& model = batch().example.model;
  int seen = 0;
  for (const Answer& answer : batch().example.answers) {
    if (answer.changes.size() < 2) continue;
    const std::vector<Change> ordered = by_ease(answer, model.encoder, {});
    ASSERT_EQ(ordered.size(), answer.changes.size());
    double last = -1;
    for (const Change& change : ordered) {
      const std::size_t j = *model.schema().find(change.feature);
      const Feature& feature = model.schema().features[j];
      if (!feature.is_number()) continue;
      const double move = (std::get<double>(change.to) - std::get<double>(change.from)) /
                          model.encoder.scale()[model.encoder.first_column(j)];
      EXPECT_GE(feature.weight * move * move, last * (1 - 1e-12));
      last = feature.weight * move * move;
      ++seen;
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(Letters, SpeakTheLabelsOfTheSchemaAndTheLanguage) {
  LendingExample example = batch().example;
  Schema schema = example.model.schema();
  Feature& income = schema.features[*schema.find("income")];
  income.label = "Jahreseinkommen <netto>";
  Feature& housing = schema.features[*schema.find("housing")];
  housing.level_texts = {{"rent", "zur Miete"}, {"own", "Eigentum"}};
  example.model.encoder =
      Encoder::from_json(example.model.encoder.to_json(), schema, "the encoder");
  Request request = batch().request;
  request.problem.model = &example.model;
  Answer answer = with_status(Status::optimal);
  answer.changes = {{"income", 24000.0, 1126500.5}, {"housing", "rent", "own"}};
  EXPECT_TRUE(
      has(writer(Language::de, request).letter(answer),
          "Jahreseinkommen &lt;netto&gt;: von 24.000 auf 1.126.500,5\u00A0EUR/Jahr erhöhen"));
  EXPECT_TRUE(has(writer(Language::fr, request).letter(answer), "passer de zur Miete à Eigentum"));
}

TEST(Letters, TakeTheWordsOfReasonCodes) {
  const Answer& answer = with_status(Status::infeasible);
  ASSERT_FALSE(answer.reasons->items.empty());
  Answer coded = answer;
  coded.reasons->items[0].code = "R7";
  ReasonCodes codes;
  codes.features[answer.reasons->items[0].feature].any =
      ReasonCode{.code = "R7", .text = "Our <own> words"};
  const LetterWriter own(batch().request, codes, LetterMessages(Language::en),
                         Template(default_letter_template(), "ours", letter_fields()),
                         {.date = parse_date("2026-05-01", "")});
  EXPECT_TRUE(has(own.letter(coded), "[R7] Our &lt;own&gt; words"));
}

TEST(Letters, LetNoTextBecomeMarkup) {
  Answer answer = with_status(Status::optimal);
  const std::string plain = writer(Language::en).letter(answer);
  answer.id = "\"><script>alert(1)</script>{{lender}}";
  const std::string page = writer(Language::en).letter(answer);
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_EQ(std::count(page.begin(), page.end(), '<'), std::count(plain.begin(), plain.end(), '<'));
  EXPECT_TRUE(has(page, "{{lender}}"));
}

// --- Folders

class LetterFolders : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "ellice_letters.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::vector<std::string> files(const std::filesystem::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] static std::string fault_of(const std::string& path) {
    try {
      LetterFolder folder(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input);
      return error.what();
    }
    return "";
  }

  std::filesystem::path root_;
};

TEST_F(LetterFolders, HoldAllFilesOrNothing) {
  const std::string path = root_ / "new";
  {
    LetterFolder folder(path);
    folder.write("a.html", "a");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    LetterFolder folder(path + "/");
    folder.write("a.html", "a");
    folder.write("b.html", "bb");
    EXPECT_FALSE(std::filesystem::exists(path + "/a.html"));
    folder.commit();
  }
  EXPECT_EQ(files(path), (std::vector<std::string>{"a.html", "b.html"}));
  std::ifstream file(path + "/b.html");
  std::string text;
  file >> text;
  EXPECT_EQ(text, "bb");
}

TEST_F(LetterFolders, KeepAnEmptyFolderThatIsThereAndRefuseAFullOne) {
  const std::filesystem::path path = root_ / "there";
  std::filesystem::create_directory(path);
  { LetterFolder folder(path); }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  std::ofstream(path / "old.html") << "old";
  EXPECT_TRUE(has(fault_of(path), "it is not empty"));
  EXPECT_EQ(files(path), std::vector<std::string>{"old.html"});
  EXPECT_TRUE(has(fault_of(path / "old.html"), "Not a directory"));
  EXPECT_TRUE(has(fault_of(root_ / "no" / "where"), "No such file or directory"));
}

TEST_F(LetterFolders, TakeBackWhatWasMovedWhenOneFileCannotBe) {
  const std::filesystem::path path = root_ / "new";
  {
    LetterFolder folder(path);
    folder.write("a.html", "a");
    (void)folder.reserve("never written");
    EXPECT_THROW(folder.commit(), Error);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(LetterFolders, GetOneLetterForEachDeclinedPersonAndAnIndex) {
  LendingExample example = batch().example;
  Schema schema = example.model.schema();
  for (Feature& feature : schema.features)
    feature.is_protected = feature.name == "age" || feature.name == "debt";
  std::vector<Answer> answers = example.answers;
  Answer further = with_status(Status::optimal);
  further.plan = 1;
  answers.insert(std::find_if(answers.begin(), answers.end(),
                              [&](const Answer& answer) {
                                return answer.query_index == further.query_index;
                              }) +
                     1,
                 further);
  const std::filesystem::path path = root_ / "letters";
  LetterFolder folder(path);
  LetterBatch letters(folder, writer(Language::fr), schema);
  letters.add(answers);
  letters.finish();
  folder.commit();
  std::size_t accepted = 0, with_protected = 0, debts = 0;
  for (const Answer& answer : example.answers) {
    if (answer.status == Status::invalid) continue;
    if (!answer.reasons) {
      ++accepted;
      continue;
    }
    bool any = false;
    for (const Reason& reason : answer.reasons->items) {
      any = any || reason.feature == "age" || reason.feature == "debt";
      debts += reason.feature == "debt" ? 1 : 0;
    }
    with_protected += any ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(debts, 0);
  EXPECT_EQ(letters.counts().accepted, accepted);
  EXPECT_EQ(letters.counts().unreadable, 1);
  EXPECT_EQ(letters.counts().letters() + accepted + 1, example.answers.size());
  EXPECT_EQ(files(path).size(), letters.counts().letters() + 1);
  EXPECT_EQ(letters.letters_with_protected_reasons(), with_protected);
  EXPECT_EQ(letters.protected_reasons().at("debt"), debts);
}

TEST_F(LetterFolders, HaveThePlanToRecommendWherePlansAreATradeOff) {
  // Of the cost 4 with one change, 2 with two and 1.9 with three the second is recommended.
  std::vector<Answer> plans(3, with_status(Status::optimal));
  const std::array<double, 3> costs = {4, 2, 1.9};
  for (std::size_t k = 0; k < plans.size(); ++k) {
    plans[k].plan = static_cast<int>(k);
    plans[k].distance = {.weighted = costs.at(k), .changed = static_cast<int>(k) + 1};
  }
  const Schema& schema = batch().example.model.schema();
  const auto references = [&](std::optional<double> worth) {
    const std::filesystem::path path = root_ / (worth ? fmt::format("{}", *worth) : "first");
    LetterFolder folder(path);
    LetterBatch letters(folder, writer(Language::en), schema, worth);
    letters.add(plans);
    EXPECT_EQ(letters.counts().letters(), 1);
    letters.finish();
    folder.commit();
    std::ifstream file(path / "index.csv");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    return text;
  };
  EXPECT_TRUE(has(references({}), letter_reference(plans[0], schema)));
  EXPECT_TRUE(has(references(0.2), letter_reference(plans[1], schema)));
  EXPECT_TRUE(has(references(0.01), letter_reference(plans[2], schema)));
}

TEST(Letters, SayByWhichDayPlansWithAHorizonAreDone) {
  const auto page = [](Language language, std::optional<Date> ends) {
    return LetterWriter(batch().request, {}, LetterMessages(language),
                        Template(default_letter_template(), "ours", letter_fields()),
                        {.lender = "B", .date = parse_date("2026-05-01", ""), .horizon_ends = ends})
        .letter(with_status(Status::optimal));
  };
  const Date end = parse_date("2027-05-01", "");
  EXPECT_TRUE(has(page(Language::en, end), "all changes are made by 1 May 2027"));
  EXPECT_TRUE(has(page(Language::de, end), "bis zum 1. Mai 2027 geschehen"));
  EXPECT_TRUE(has(page(Language::fr, end), "d’ici au 1er mai 2027"));
  EXPECT_FALSE(has(page(Language::en, {}), "2027"));
}

TEST(EndOfHorizon, FollowsTheCalendar) {
  const auto end = [](const char* horizon, const char* begin) {
    return end_of(parse_horizon(horizon), parse_date(begin, ""));
  };
  EXPECT_EQ(end("12 months", "2026-05-01"), parse_date("2027-05-01", ""));
  EXPECT_EQ(end("1 year", "2028-02-29"), parse_date("2029-02-28", ""));
  EXPECT_EQ(end("1 month", "2026-01-31"), parse_date("2026-02-28", ""));
  EXPECT_EQ(end("13 months", "2026-12-31"), parse_date("2028-01-31", ""));
  EXPECT_EQ(end("2 weeks", "2026-12-25"), parse_date("2027-01-08", ""));
  EXPECT_EQ(end("1.5 days", "2026-12-31"), parse_date("2027-01-01", ""));
  EXPECT_EQ(end("0.5 years", "2026-01-01"), parse_date("2026-07-02", ""));  // 182 of 182.6 days
  EXPECT_THROW((void)end("1001 years", "2026-01-01"), Error);
}

TEST(LetterFileName, IsUniqueAndSafe) {
  EXPECT_EQ(letter_file_name({.query_index = 11, .id = "A-2040"}), "000012_A-2040.html");
  EXPECT_EQ(letter_file_name({.query_index = 0, .id = "../x y\n\0z"}), "000001____x_y_.html");
  EXPECT_EQ(letter_file_name({.query_index = 1234567, .id = std::string(500, 'a')}).size(),
            7 + 1 + 80 + 5);
}

}  // namespace
}  // namespace ellice
