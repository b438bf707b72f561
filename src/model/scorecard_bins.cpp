// What the rows of a scorecard mean beside a schema: intervals in order, codes, levels.

#include <algorithm>
#include <cmath>
#include <map>

#include "core/infinity.hpp"
#include "core/number_text.hpp"
#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "model/score_points.hpp"
#include "model/scorecard.hpp"

namespace ellice {

namespace {

std::string text_of(const ScorecardBin& bin) {
  return fmt::format("{} to {}", bin.from ? number_text(*bin.from) : "the lowest",
                     bin.to ? number_text(*bin.to) : "the highest");
}

/// A number that an interval has; of whole numbers the one at its end, if it has any.
double number_within(const ScorecardBin& bin, bool is_whole) {
  if (is_whole) {
    if (bin.from) return bin.has_from ? std::ceil(*bin.from) : std::floor(*bin.from) + 1;
    return !bin.to ? 0 : bin.has_to ? std::floor(*bin.to) : std::ceil(*bin.to) - 1;
  }
  if (bin.from && bin.to) return *bin.from + (*bin.to - *bin.from) / 2;
  if (bin.from) return std::nextafter(*bin.from, infinity);
  return bin.to ? std::nextafter(*bin.to, -infinity) : 0;
}

/// The rows of a number: intervals in order, and codes apart from them.
struct NumberRows {
  Bins bins = {};
  std::vector<ScorecardBin> intervals = {};
  std::vector<ScorecardBin> codes = {};
};

class NumberReader {
 public:
  /// A grid binds answers and never people: numbers of theirs that are not whole are between any
  /// two bins, whatever the step.
  NumberReader(const Characteristic& one, const Feature& feature)
      : one_(&one), feature_(&feature), is_whole_(feature.is_whole()) {}

  NumberRows read() {
    for (const ScorecardBin& row : one_->bins) take(row);
    while (std::any_of(rows_.codes.begin(), rows_.codes.end(),
                       [&](ScorecardBin& code) { return join(code); })) {
    }
    require_input(!rows_.intervals.empty(),
                  "{}: feature \"{}\": found codes alone, expected intervals", one_->place,
                  one_->feature);
    check_codes();
    set_edges();
    for (const ScorecardBin& code : rows_.codes)
      rows_.bins.special.push_back({.number = *code.from, .text = meaning_of(code)});
    rows_.bins.are_whole = is_whole_;
    set_ends();
    return std::move(rows_);
  }

 private:
  /// What the card says of a code, or else the schema.
  [[nodiscard]] std::string meaning_of(const ScorecardBin& code) const {
    if (!code.level.empty()) return code.level;
    const Bins::Code* const known = known_code(*code.from);
    return known != nullptr ? known->text : "code " + number_text(*code.from);
  }

  [[nodiscard]] const Bins::Code* known_code(double number) const {
    return feature_->is_binned() ? feature_->bins.code(number) : nullptr;
  }

  /// Codes stand once, mean something of their own, and are all of those that the schema knows:
  /// with its bins gone, one that has no points would become a number like any other.
  void check_codes() const {
    const std::vector<ScorecardBin>& codes = rows_.codes;
    for (std::size_t a = 0; a < codes.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        require_input(*codes[b].from != *codes[a].from,
                      "{}: feature \"{}\": the code {} stands twice, first at {}", codes[a].place,
                      one_->feature, number_text(*codes[a].from), codes[b].place);
        require_input(meaning_of(codes[b]) != meaning_of(codes[a]),
                      "{}: feature \"{}\": the code {} has the text \"{}\", which {} has at {}; "
                      "expected another",
                      codes[a].place, one_->feature, number_text(*codes[a].from),
                      meaning_of(codes[a]), number_text(*codes[b].from), codes[b].place);
      }
    }
    if (!feature_->is_binned()) return;
    for (const Bins::Code& known : feature_->bins.special) {
      require_input(
          std::any_of(codes.begin(), codes.end(),
                      [&](const ScorecardBin& code) { return *code.from == known.number; }),
          "{}: feature \"{}\": the schema has the code {} ({}), and the card no points for it; add "
          "a row for it, or take it out of the schema",
          one_->place, one_->feature, number_text(known.number), known.text);
    }
  }

  void take(ScorecardBin row) {
    const bool has_whole_steps =
        is_whole_ || (feature_->step && *feature_->step == std::nearbyint(*feature_->step));
    require_input(row.doubtful.empty() || !has_whole_steps,
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
    const double own = number_within(row, is_whole_);
    require_input(!is_whole_ || !row.to || (row.has_to ? own <= *row.to : own < *row.to),
                  "{}: feature \"{}\": no whole number lies in the bin {}", row.place,
                  one_->feature, text_of(row));
    rows_.intervals.push_back(std::move(row));
  }

  /// A single whole number next to an interval is one more of them, «0» beside «1 to 3», unless it
  /// has a meaning of its own or is the only negative one. True where the last code became one.
  bool join(ScorecardBin& code) {
    if (!is_whole_ || !code.level.empty()) return false;
    const double number = *code.from;
    const bool is_below_all = std::all_of(
        rows_.intervals.begin(), rows_.intervals.end(),
        [](const ScorecardBin& bin) { return bin.from.value_or(bin.to.value_or(0)) >= 0; });
    if ((number < 0 && is_below_all) || known_code(number) != nullptr) return false;
    const auto touches = [&](const ScorecardBin& bin) {
      return (bin.from && *bin.from == (bin.has_from ? number + 1 : number)) ||
             (bin.to && *bin.to == (bin.has_to ? number - 1 : number));
    };
    if (std::none_of(rows_.intervals.begin(), rows_.intervals.end(), touches)) return false;
    code.has_from = code.has_to = true;
    rows_.intervals.push_back(code);
    rows_.codes.erase(rows_.codes.begin() + (&code - rows_.codes.data()));
    return true;
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
    require_input(
        !is_mixed || is_whole_,
        "{}: feature \"{}\": ends belong to the bin below them here and to the one above "
        "elsewhere; expected the same of all bins, or whole numbers alone (kind: integer)",
        one_->place, one_->feature);
    rows_.bins.closed = closed.empty() || is_mixed ? Bins::Closed::left : closed.front();
    for (std::size_t k = 0; k < edges.size(); ++k) {
      // Of whole numbers: above 12 is from 13 on.
      if (is_mixed && closed[k] == Bins::Closed::right) edges[k] = std::floor(edges[k]) + 1;
    }
    rows_.bins.edges = std::move(edges);
  }

  /// The card has no points for numbers beyond its outer ends; the schema may know narrower ones.
  void set_ends() {
    const ScorecardBin& first = rows_.intervals.front();
    const ScorecardBin& last = rows_.intervals.back();
    Bins& bins = rows_.bins;
    if (first.from) bins.lowest = end_of(*first.from, first.has_from, 1);
    if (last.to) bins.highest = end_of(*last.to, last.has_to, -1);
    if (!feature_->is_binned()) return;
    const auto narrow = [](std::optional<Bins::End>& end, const std::optional<Bins::End>& known,
                           double inside) {
      if (!known) return;
      const double gained = end ? inside * (known->at - end->at) : infinity;
      if (gained > 0 || (gained == 0 && known->is_open)) end = known;
    };
    narrow(bins.lowest, feature_->bins.lowest, 1);
    narrow(bins.highest, feature_->bins.highest, -1);
  }

  /// Of whole numbers the outermost that a bin has; `inside` is the side where its numbers are.
  [[nodiscard]] Bins::End end_of(double end, bool has_it, double inside) const {
    if (!is_whole_) return {.at = end + 0.0, .is_open = !has_it};  // no −0
    const double whole = (inside > 0 ? std::ceil(end) : std::floor(end)) + 0.0;
    return {.at = whole == end && !has_it ? whole + inside : whole};
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
    const bool is_next =
        begin == end + 1 && end == std::floor(end) && below.has_to && above.has_from;
    require_input(is_whole_ && is_next,
                  "{}: feature \"{}\": numbers between {} and {} have no points (a gap to the bin "
                  "at {}){}",
                  above.place, one_->feature, number_text(end), number_text(begin), below.place,
                  gap_advice(begin - end, is_next));
  }

  [[nodiscard]] const char* gap_advice(double width, bool is_next) const {
    if (width != 1) return "";
    if (is_next) return "; if people have whole numbers alone, say `kind: integer` in the schema";
    return is_whole_ ? "; if both ends belong to a bin, say so (closed: both)" : "";
  }

  const Characteristic* one_;
  const Feature* feature_;
  bool is_whole_;
  NumberRows rows_ = {};
};

void take_bins(const Characteristic& one, Feature& feature) {
  const NumberRows rows = NumberReader(one, feature).read();
  const bool is_everybodys = rows.bins.count() == 1;  // one bin for all, see points_of()
  if (is_everybodys) {
    const ScorecardBin& only = rows.intervals.front();
    require_input(!only.from && !only.to,
                  "{}: feature \"{}\": the only bin is {}; leave `from` and `to` empty, since "
                  "without other bins there is nobody beyond it",
                  only.place, one.feature, text_of(only));
    if (feature.is_binned()) feature.kind = FeatureKind::numeric;
    feature.bins = {};
    return;
  }
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
  return plain.of(number_within(bin, bins.are_whole));
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
  // What the reader of schemas adds and checks, it adds and checks here as well; of no line, since
  // nobody has written this schema.
  return schema_from_json(to_json(result), card.source + ": the schema with its bins");
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
