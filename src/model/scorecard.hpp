#pragma once

// Scorecards: points for the bins of numbers and for levels, which add up to a score.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// One row of a scorecard: an interval, a code (from = to) or a level.
struct ScorecardBin {
  std::optional<double> from = {};  // none: −∞
  std::optional<double> to = {};    // none: ∞
  std::string level = {};           // of a category; beside a code its meaning
  double points = 0;
  std::string reason = {};  // code of an adverse action
  std::string place = {};   // in the file, for messages

  [[nodiscard]] bool is_code() const { return from && to && *from == *to; }
};

struct Characteristic {
  std::string feature = {};
  std::vector<ScorecardBin> bins = {};  // as they are written
  std::string place = {};
};

struct Scorecard {
  std::string source = "scorecard";  // for messages
  std::vector<Characteristic> characteristics = {};
  double initial = 0;                        // points that everybody has
  Bins::Closed closed = Bins::Closed::left;  // to which interval a common end belongs
  std::string tool = {};
  std::string sha256 = {};
};

/// What a score means: at `score` points the odds of the favourable answer are `odds` to one, and
/// they double every `pdo` points.
struct ScoreScale {
  double pdo = 20;
  double score = 600;
  double odds = 1;

  /// Points for each unit of the logit.
  [[nodiscard]] double factor() const;
};

/// A CSV file with the columns feature, from, to, points, and where it has them level and reason
/// (`from` belongs to a bin and `to` does not; a row of the feature «base» has the points of
/// everybody), or the <Scorecard> of a PMML file. Throws Error{input} naming the line or element:
/// what is no number, bins that stand twice, overlap or leave a gap.
[[nodiscard]] Scorecard read_scorecard(const std::string& path, Bins::Closed closed);
[[nodiscard]] Scorecard parse_scorecard_pmml(const std::string& text, const std::string& source);

/// The schema with the scorecard's bins: numbers that it names become binned. Throws Error{input}
/// for features and levels that do not fit.
[[nodiscard]] Schema schema_of(const Scorecard& card, const Schema& schema);

/// The logit's parameters [w; b] on the columns of an encoder of that schema; features that the
/// scorecard does not name have 0.
[[nodiscard]] Vector parameters_of(const Scorecard& card, const ScoreScale& scale,
                                   const Encoder& encoder);

/// The scorecard as a model that decides elsewhere (docs/theory.md, Result 56), with the rows that
/// it was made from, read by schema_of(). The objective is that of additive models: λ·π of each bin
/// and level, π the share of rows in it.
[[nodiscard]] Model model_of(const Scorecard& card, const ScoreScale& scale, const Dataset& data,
                             double l2, bool store_rows);

/// «base» and for each feature and bin its reason code, as the reason table of `explain` is written
/// (YAML); empty where the scorecard has none.
[[nodiscard]] std::string reason_table(const Scorecard& card);

}  // namespace ellice
