#pragma once

// Where answers go: one stream per format, written whole or not at all.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answer_tally.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/file.hpp"
#include "ellice/explain/explainer.hpp"
#include "radius/frontier.hpp"
#include "report/appraisal.hpp"
#include "report/batch_summary.hpp"
#include "report/formula_guard.hpp"
#include "report/html.hpp"
#include "report/recourse_csv.hpp"
#include "report/trade_off.hpp"
#include "request/recourse_file.hpp"

namespace ellice::cli {

enum class AnswerFormat { table, json, jsonl, csv, html };

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::AnswerFormat> {
  static constexpr std::array<std::string_view, 5> names = {"table", "json", "jsonl", "csv",
                                                            "html"};
};

namespace ellice::cli {

/// By the ending of the file that is written; a table where it says nothing.
[[nodiscard]] AnswerFormat format_of(const std::string& output);

/// Tables and pages show rounded rows, and the rounded row is the one that is certified there.
[[nodiscard]] inline bool rounds_for_display(AnswerFormat format) {
  return format == AnswerFormat::table || format == AnswerFormat::html;
}

/// Whether there is room for the reasons of a refusal.
[[nodiscard]] inline bool has_reasons(AnswerFormat format) {
  return format != AnswerFormat::csv;
}

struct TableOptions {
  bool spreadsheet_safe = false;
  bool certificates = false;

  static void fields(auto& self, auto&& visit) {
    visit("spreadsheet_safe", self.spreadsheet_safe, any_value(),
          "in CSV, put an apostrophe before cells that a spreadsheet would take for formulas");
    visit("certificates", self.certificates, any_value(),
          "in CSV, a last column with the certificates, for verify");
  }
};

/// Answers the same question at another ε, with at most so many changes where that is given.
using AnswersAt = std::function<std::vector<Answer>(double epsilon, std::optional<int> most_changes,
                                                    const std::vector<Query>& queries)>;
/// `explainer` must outlive it.
[[nodiscard]] AnswersAt answers_at(const Explainer& explainer, int threads);

struct SinkOptions {
  AnswerFormat format = AnswerFormat::table;
  TableOptions table = {};
  bool has_id = false;
  bool all_features = false;
  bool colour = false;
  std::string output = "-";
  std::string title = "Recourse report";
  std::string date = {};                                          // of the page
  std::vector<std::pair<std::string, std::string>> options = {};  // of the run, for the page
  AnswersAt answers_at = {};   // for the curves of a page; without it there are none
  bool trade_off = false;      // several plans of a person are one trade-off
  double worth = usual_worth;  // of a trade-off: what another change must save
  std::shared_ptr<const TrainingRows> rows = {};  // whose distribution a page draws
};

class AnswerSink {
 public:
  /// `explainer`, whose answers these are, must outlive the sink.
  AnswerSink(const Explainer& explainer, SinkOptions options);

  /// Answers on their way: as text where that may be made out of turn, else as they are.
  struct Part {
    struct Text {
      std::string text = {};
      RecourseRecords records = {};
      FormulaGuard guard = FormulaGuard();
      AnswerTally tally = {};
    };
    std::vector<Text> texts = {};
    std::vector<Answer> answers = {};
  };
  /// Several threads may ask at once; `threads` are those that share this part.
  [[nodiscard]] Part part(std::vector<Answer> answers, int threads) const;
  /// In the order of the rows.
  void add(Part part);
  void finish();
  /// The work was stopped: keeps the answers so far where the format allows it, a page apart.
  /// Where there are none, a file that was to be replaced stays. Returns whether they are kept.
  bool interrupt();
  /// Whether a stop leaves something to keep: a page is whole or it is not.
  [[nodiscard]] bool keeps_finished() const { return options_.format != AnswerFormat::html; }

  [[nodiscard]] const AnswerTally& tally() const { return tally_; }
  [[nodiscard]] const FormulaGuard& guard() const { return guard_; }

 private:
  [[nodiscard]] CsvColumns columns() const {
    return {.has_id = options_.has_id, .has_certificates = options_.table.certificates};
  }
  /// The text of rows or records; the answers are gone then.
  [[nodiscard]] Part::Text text(std::span<Answer> answers) const;
  void write(const Part::Text& text);
  /// For people.
  void write(const Answer& answer);
  /// The plans of one person, which are a trade-off, for people.
  void write_trade_off(std::vector<Answer> plans);
  /// Of the person whose plans these are, where a page has room for the curve.
  void begin_curve(std::span<const Answer> plans);
  /// What more or less robustness would cost these people.
  void end_curves();

  const Request* request_;
  const Model* file_model_;  // as its file has it: without wishes of the run
  SinkOptions options_;
  OutputFile file_;
  FormulaGuard guard_;
  RecourseWriter writer_;
  Appraiser appraiser_;
  AnswerTally tally_;
  BatchSummary summary_;                         // of what people read
  std::string recourse_;                         // of a page: the recourse file that it holds
  std::unique_ptr<Frontier> frontier_;           // beyond which ε no plan exists
  std::map<std::size_t, FrontierCurve> curves_;  // of a page, by query
  /// Those who have one, by how many changes the plan that is shown may have.
  std::map<std::optional<int>, std::vector<Query>> traced_;
};

}  // namespace ellice::cli
