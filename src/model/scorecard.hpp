#pragma once

// Scorecards: points for the bins of numbers and for levels, which add up to a score.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ellice/data/dataset.hpp"
#include "ellice/model/coefficients.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// One row of a scorecard: an interval, a single number (from = to) or a level.
struct ScorecardBin {
  std::optional<double> from = {};  // none: −∞
  std::optional<double> to = {};    // none: ∞
  bool has_from = true;             // whether the end itself belongs to it
  bool has_to = false;
  std::string level = {};     // of a category; beside a single number its meaning as a code
  bool is_missing = false;    // of an empty cell
  std::string spelled = {};   // a single number as it is written: 01
  std::string doubtful = {};  // an end as it is written that may have a mark of thousands: 1,000
  double points = 0;
  std::string reason = {};  // code of an adverse action
  std::string place = {};   // in the file, for messages

  [[nodiscard]] bool is_single() const { return from && to && *from == *to; }
};

struct Characteristic {
  std::string feature = {};
  std::vector<ScorecardBin> bins = {};  // as they are written
  std::string place = {};
};

struct Scorecard {
  std::string source = "scorecard";  // for messages
  std::vector<Characteristic> characteristics = {};
  double initial = 0;  // points that everybody has
  /// Of several rows that are about a value the first decides, as in PMML; else a single number
  /// stands before the interval around it.
  bool first_decides = false;
  std::string tool = {};
  std::string sha256 = {};
};

/// To which bins the ends of rows with `from` and `to` belong.
enum class CardEnds {
  left,   // `from` does, `to` does not
  right,  // the other way round
  both,   // of whole numbers: 0 to 11, 12 to 23
};

template <>
struct EnumNames<CardEnds> {
  static constexpr std::array<std::string_view, 3> names = {"left", "right", "both"};
};

/// A CSV file with the columns feature, points and from, to (or bin: «[0.3,0.6)»), and where it has
/// them level and reason (a row of the feature «base» has the points of everybody), or the
/// <Scorecard> of a PMML file. Throws Error{input} naming the line or element for what is no such
/// table.
[[nodiscard]] Scorecard read_scorecard(const std::string& path, CardEnds ends);
[[nodiscard]] Scorecard parse_scorecard_pmml(const std::string& text, const std::string& source);

/// Whether a row is about empty cells: it says so, or its level is «missing» and none of the
/// feature's own.
[[nodiscard]] bool is_about_missing(const ScorecardBin& bin, const Feature& feature);

/// The schema with the scorecard's bins: numbers that it names become binned. Throws Error{input}
/// naming the line or element: features and levels that do not fit, bins that stand twice, overlap
/// or leave a gap.
[[nodiscard]] Schema schema_of(const Scorecard& card, const Schema& schema);

/// The points by feature of that schema, bin and level.
[[nodiscard]] ScorePoints points_of(const Scorecard& card, const ScoreScale& scale,
                                    std::optional<double> cut_off, const Schema& schema);

/// The scorecard as a model that decides elsewhere (docs/theory.md, Result 56), with the rows that
/// it was made from, read by schema_of(). The objective is that of additive models: λ·π of each bin
/// and level, π the share of rows in it. Accepted is who has the points of the cut-off, or else
/// even odds.
[[nodiscard]] Model model_of(const Scorecard& card, const ScoreScale& scale,
                             std::optional<double> cut_off, const Dataset& data, double l2,
                             bool store_rows);

/// The same without any row: points are the estimates of a logistic regression on the bins, of
/// which `known` has the covariance, the number of rows and the log-likelihood (docs/theory.md,
/// Result 52). Of each feature the covariance leaves one bin or level out, the reference.
[[nodiscard]] Model model_of(const Scorecard& card, const ScoreScale& scale,
                             std::optional<double> cut_off, const Coefficients& known,
                             const Schema& schema);

}  // namespace ellice
