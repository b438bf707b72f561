// What the rows of a scorecard mean beside a schema: intervals in order, codes, levels.

#include <algorithm>
#include <cmath>
#include <map>

#include "core/infinity.hpp"
#include "core/number_text.hpp"
#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "model/score_points.hpp"
#include "model/scorecard.hpp"

namespace ellice {

namespace {

// How far apart, in steps, two numbers of one grid may be by rounding.
constexpr double same_number = 1e-9;

std::string text_of(const ScorecardBin& bin) {
  return fmt::format("{} to {}", bin.from ? number_text(*bin.from) : "the lowest",
                     bin.to ? number_text(*bin.to) : "the highest");
}

/// The rows of a number: intervals in order, and codes apart from them.
struct NumberRows {
  Bins bins = {};
  std::vector<ScorecardBin> intervals = {};
  std::vector<ScorecardBin> codes = {};
};

class NumberReader {
 public:
  NumberReader(const Characteristic& one, const Feature& feature) : one_(&one) {
    if (feature.kind == FeatureKind::integer) step_ = 1;
    if (feature.step) step_ = feature.step;
  }

  NumberRows read() {
    for (const ScorecardBin& row : one_->bins) take(row);
    while (std::any_of(rows_.codes.begin(), rows_.codes.end(),
                       [&](ScorecardBin& code) { return join(code); })) {
    }
    require_input(!rows_.intervals.empty(),
                  "{}: feature \"{}\": found codes alone, expected intervals", one_->place,
                  one_->feature);
    for (std::size_t a = 0; a < rows_.codes.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        require_input(*rows_.codes[b].from != *rows_.codes[a].from,
                      "{}: feature \"{}\": the code {} stands twice, first at {}",
                      rows_.codes[a].place, one_->feature, number_text(*rows_.codes[a].from),
                      rows_.codes[b].place);
      }
    }
    set_edges();
    for (const ScorecardBin& code : rows_.codes) {
      rows_.bins.special.push_back(
          {.number = *code.from,
           .text = code.level.empty() ? "code " + number_text(*code.from) : code.level});
    }
    return std::move(rows_);
  }

 private:
  void take(ScorecardBin row) {
    const bool is_whole = step_ && *step_ == std::nearbyint(*step_);
    require_input(row.doubtful.empty() || !is_whole,
                  "{}: feature \"{}\" has whole numbers, and \"{}\" may be two of them; write it "
                  "without a mark",
                  row.place, one_->feature, row.doubtful);
    double number = 0;
    if (!row.from && !row.to && !row.level.empty()) {
      require_input(parse_number(row.level, number),
                    "{}: feature \"{}\" is a number, found the level \"{}\", expected from and to; "
                    "a number that is missing is a code, such as -9, in the rows and here (from = "
                    "to = -9)",
                    row.place, one_->feature, row.level);
      row.from = row.to = number;
      row.level.clear();
    }
    if (row.is_single()) {
      rows_.codes.push_back(std::move(row));
      return;
    }
    require_input(!row.from || !row.to || *row.from < *row.to,
                  "{}: feature \"{}\": from {} is not below to {}", row.place, one_->feature,
                  number_text(row.from.value_or(0)), number_text(row.to.value_or(0)));
    rows_.intervals.push_back(std::move(row));
  }

  /// A single whole number next to an interval is one more of them, «0» beside «1 to 3», unless it
  /// has a meaning of its own or is the only negative one. True where the last code became one.
  bool join(ScorecardBin& code) {
    if (!step_ || !code.level.empty()) return false;
    const double number = *code.from;
    const bool is_below_all = std::all_of(
        rows_.intervals.begin(), rows_.intervals.end(),
        [](const ScorecardBin& bin) { return bin.from.value_or(bin.to.value_or(0)) >= 0; });
    if (number < 0 && is_below_all) return false;
    const auto touches = [&](const ScorecardBin& bin) {
      return (bin.from && same(*bin.from, bin.has_from ? number + *step_ : number)) ||
             (bin.to && same(*bin.to, bin.has_to ? number - *step_ : number));
    };
    if (std::none_of(rows_.intervals.begin(), rows_.intervals.end(), touches)) return false;
    code.has_from = code.has_to = true;
    rows_.intervals.push_back(code);
    rows_.codes.erase(rows_.codes.begin() + (&code - rows_.codes.data()));
    return true;
  }

  [[nodiscard]] bool same(double a, double b) const {
    return a == b || std::abs(a - b) <= same_number * step_.value_or(0);
  }

  /// From where on numbers belong to the bin above, after checks that every one has one place.
  void set_edges() {
    std::vector<ScorecardBin>& all = rows_.intervals;
    std::stable_sort(all.begin(), all.end(), [](const ScorecardBin& a, const ScorecardBin& b) {
      const double from_a = a.from.value_or(-infinity);
      const double from_b = b.from.value_or(-infinity);
      return from_a != from_b ? from_a < from_b : a.to.value_or(infinity) < b.to.value_or(infinity);
    });
    std::vector<double> edges;
    std::vector<Bins::Closed> closed;
    for (std::size_t k = 0; k + 1 < all.size(); ++k) {
      check_pair(all[k], all[k + 1]);
      const ScorecardBin& above = all[k + 1];
      edges.push_back(*above.from);
      closed.push_back(above.has_from ? Bins::Closed::left : Bins::Closed::right);
    }
    const bool is_mixed =
        std::adjacent_find(closed.begin(), closed.end(), std::not_equal_to()) != closed.end();
    require_input(!is_mixed || step_,
                  "{}: feature \"{}\": ends belong to the bin below them here and to the one above "
                  "elsewhere; expected the same of all bins of a number without a step",
                  one_->place, one_->feature);
    rows_.bins.closed = closed.empty() || is_mixed ? Bins::Closed::left : closed.front();
    for (std::size_t k = 0; k < edges.size(); ++k) {
      // Of a grid: above 12 is from 13 on.
      if (is_mixed && closed[k] == Bins::Closed::right) edges[k] += *step_;
    }
    rows_.bins.edges = std::move(edges);
  }

  void check_pair(const ScorecardBin& below, const ScorecardBin& above) const {
    require_input(below.from != above.from || below.to != above.to,
                  "{}: feature \"{}\": the bin {} stands twice, first at {}", above.place,
                  one_->feature, text_of(above), below.place);
    const double end = below.to.value_or(infinity);
    const double begin = above.from.value_or(-infinity);
    const bool is_shared = begin == end && below.has_to && above.has_from;
    require_input(begin >= end && !is_shared, "{}: feature \"{}\": the bin {} overlaps {} at {}",
                  above.place, one_->feature, text_of(above), text_of(below), below.place);
    if (begin == end) {
      require_input(below.has_to || above.has_from,
                    "{}: feature \"{}\": the number {} has no points: neither this bin nor that at "
                    "{} has it",
                    above.place, one_->feature, number_text(begin), below.place);
      return;
    }
    // 0 to 11, 12 to 23: whole numbers have none between.
    const bool is_next = step_ && below.has_to && above.has_from && same(end + *step_, begin);
    require_input(is_next,
                  "{}: feature \"{}\": numbers between {} and {} have no points (a gap to the bin "
                  "at {}){}",
                  above.place, one_->feature, number_text(end), number_text(begin), below.place,
                  !step_                      ? ""
                  : same(end + *step_, begin) ? "; if both ends belong to a bin, say so "
                                                "(closed: both)"
                                              : "");
  }

  const Characteristic* one_;
  std::optional<double> step_ = {};
  NumberRows rows_ = {};
};

void take_bins(const Characteristic& one, Feature& feature) {
  const NumberRows rows = NumberReader(one, feature).read();
  const ScorecardBin& first = rows.intervals.front();
  const ScorecardBin& last = rows.intervals.back();
  require_input(!first.from || (feature.min && *feature.min >= *first.from),
                "{}: feature \"{}\": numbers below {} have no points; leave `from` empty, or say "
                "`min: {}` in the schema",
                first.place, one.feature, number_text(first.from.value_or(0)),
                number_text(first.from.value_or(0)));
  require_input(!last.to || (feature.max && *feature.max <= *last.to),
                "{}: feature \"{}\": numbers from {} on have no points; leave `to` empty, or say "
                "`max: {}` in the schema",
                last.place, one.feature, number_text(last.to.value_or(0)),
                number_text(last.to.value_or(0)));
  if (rows.bins.count() == 1) return;  // one bin for all: everybody's points, see points_of()
  if (feature.kind == FeatureKind::integer && !feature.step) feature.step = 1;
  feature.kind = FeatureKind::binned;
  feature.bins = rows.bins;
}

/// The bin that a row of a number became.
std::size_t place_of(const ScorecardBin& bin, const Bins& bins) {
  if (!bin.from && !bin.to) {
    double code = 0;
    return parse_number(bin.level, code) ? bins.of(code) : 0;
  }
  if (bin.is_single()) return bins.of(*bin.from);
  Bins plain = bins;  // a code may lie within an interval
  plain.special.clear();
  return plain.of(bin.from && bin.to ? *bin.from + (*bin.to - *bin.from) / 2
                  : bin.from         ? *bin.from + 1
                                     : *bin.to - 1);
}

/// The level that a row of a category is about; a number stands for the level that is spelled as it
/// is, or else for the only one that is the same number.
std::string level_of(const Characteristic& one, const Feature& feature, const ScorecardBin& bin) {
  if (bin.level.empty() && bin.is_single()) {
    if (feature.level_index(bin.spelled)) return bin.spelled;
    std::vector<std::string> same;
    for (const std::string& level : feature.levels) {
      double number = 0;
      if (parse_number(level, number) && number == *bin.from) same.push_back(level);
    }
    require_input(same.size() <= 1,
                  "{}: feature \"{}\": {} may be the level \"{}\" or \"{}\"; write it as the "
                  "level is written",
                  bin.place, one.feature, number_text(*bin.from), same.front(), same.back());
    return same.empty() ? number_text(*bin.from) : same.front();
  }
  require_input(!bin.from && !bin.to && !bin.level.empty(),
                "{}: feature \"{}\" is {}, expected a level and no from and to", bin.place,
                one.feature, enum_name(feature.kind));
  return bin.level;
}

/// Rows for empty cells are of the level that a category has for them, once rows are read. Else
/// nobody has an empty cell, and they are left out.
Characteristic settled(Characteristic one, const Feature& feature, MissingPolicy missing) {
  const bool may_have_level =
      feature.kind == FeatureKind::categorical && missing == MissingPolicy::level;
  for (ScorecardBin& bin : one.bins) {
    if (!is_about_missing(bin, feature)) continue;
    bin.is_missing = true;
    require_input(missing == MissingPolicy::error || may_have_level,
                  "{}: feature \"{}\": empty cells have points of their own, but the schema fills "
                  "them (missing: {}); say `missing: error`, or write a code such as -9 into rows "
                  "and card",
                  bin.place, one.feature, enum_name(missing));
    bin.level = missing_level;
  }
  if (!feature.level_index(missing_level))
    std::erase_if(one.bins, [](const ScorecardBin& bin) { return bin.is_missing; });
  return one;
}

void check_levels(const Characteristic& one, const Feature& feature) {
  require_input(feature.kind != FeatureKind::ordinal,
                "{}: feature \"{}\" is ordinal, of which a model sees the place of a level; "
                "make it categorical",
                one.place, one.feature);
  std::map<std::string, std::string> seen;
  for (const ScorecardBin& bin : one.bins) {
    const std::string level = level_of(one, feature, bin);
    require_input(feature.level_index(level).has_value(),
                  "{}: feature \"{}\" has no level \"{}\"; {}", bin.place, one.feature, level,
                  suggestion(level, feature.levels));
    const auto [other, is_new] = seen.emplace(level, bin.place);
    require_input(is_new, "{}: feature \"{}\": the level \"{}\" stands twice, first at {}",
                  bin.place, one.feature, level, other->second);
  }
  for (const std::string& level : feature.levels) {
    require_input(seen.contains(level), "{}: feature \"{}\": the level \"{}\" has no points",
                  one.place, one.feature, level);
  }
}

}  // namespace

bool is_about_missing(const ScorecardBin& bin, const Feature& feature) {
  const std::string word = lower_case(bin.level);
  return bin.is_missing || (!bin.from && !bin.to && (word == "missing" || word == missing_level) &&
                            !feature.level_index(bin.level));
}

Schema schema_of(const Scorecard& card, const Schema& schema) {
  Schema result = schema;
  std::map<std::string, std::string> seen;
  for (const Characteristic& written : card.characteristics) {
    const std::optional<std::size_t> found = result.find(written.feature);
    std::vector<std::string> names;
    for (const Feature& feature : result.features) names.push_back(feature.name);
    require_input(found.has_value(), "{}: the schema has no feature \"{}\"; {}", written.place,
                  written.feature, suggestion(written.feature, names));
    const Characteristic one = settled(written, result.features[*found], schema.missing);
    const auto [other, is_new] = seen.emplace(one.feature, one.place);
    require_input(is_new, "{}: \"{}\" has points at {} already", one.place, one.feature,
                  other->second);
    Feature& feature = result.features[*found];
    if (feature.is_number()) {
      take_bins(one, feature);
    } else {
      check_levels(one, feature);
    }
  }
  // What the reader of schemas adds and checks, it adds and checks here as well.
  return parse_schema(to_yaml(result), fmt::format("the schema with the bins of {}", card.source));
}

ScorePoints points_of(const Scorecard& card, const ScoreScale& scale, std::optional<double> cut_off,
                      const Schema& schema) {
  require_input(scale.pdo != 0 && std::isfinite(scale.pdo) && scale.odds > 0 &&
                    std::isfinite(scale.odds) && std::isfinite(scale.score),
                "{}: pdo must be a number other than 0, odds one > 0, and the score a number",
                card.source);
  ScorePoints result{
      .scale = scale, .initial = card.initial, .cut_off = cut_off.value_or(scale.points(0))};
  for (const Characteristic& written : card.characteristics) {
    const std::size_t j = *schema.find(written.feature);
    const Feature& feature = schema.features[j];
    const Characteristic one = settled(written, feature, schema.missing);
    if (feature.is_number() && !feature.is_binned()) {
      result.initial += one.bins.front().points;
      continue;
    }
    const std::size_t entries = feature.is_binned() ? feature.bins.count() : feature.levels.size();
    ScorePoints::Characteristic entry{.feature = j};
    entry.points.resize(entries);
    entry.reasons.resize(entries);
    const auto put = [&](std::size_t place, const ScorecardBin& bin) {
      entry.points[place] = bin.points;
      entry.reasons[place] = bin.reason;
    };
    if (feature.is_binned()) {
      for (const ScorecardBin& bin : one.bins) put(place_of(bin, feature.bins), bin);
    } else {
      check_levels(one, feature);  // rows may have brought the level of empty cells
      for (const ScorecardBin& bin : one.bins)
        put(*feature.level_index(level_of(one, feature, bin)), bin);
    }
    if (std::all_of(entry.reasons.begin(), entry.reasons.end(),
                    [](const std::string& reason) { return reason.empty(); })) {
      entry.reasons.clear();
    }
    result.characteristics.push_back(std::move(entry));
  }
  return result;
}

}  // namespace ellice
