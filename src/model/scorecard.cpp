#include "model/scorecard.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "core/infinity.hpp"
#include "core/utf8.hpp"
#include "data/csv_detection.hpp"
#include "data/csv_number.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/number_text.hpp"
#include "ellice/core/sha256.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr std::string_view base_name = "base";

/// The columns of a scorecard's table.
struct Columns {
  std::size_t feature = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t points = 0;
  std::optional<std::size_t> level = {};
  std::optional<std::size_t> reason = {};
};

Columns columns_of(const CsvReader& file) {
  const std::vector<std::string>& header = file.header();
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (lower_case(header[i]) == name) return i;
    }
    return std::nullopt;
  };
  const auto need = [&](std::string_view name) {
    const std::optional<std::size_t> found = find(name);
    require_input(found.has_value(),
                  "{}: found the columns {}, expected feature, from, to and points, and level and "
                  "reason where there are any",
                  file.name(), fmt::join(header, ", "));
    return *found;
  };
  return {.feature = need("feature"),
          .from = need("from"),
          .to = need("to"),
          .points = need("points"),
          .level = find("level"),
          .reason = find("reason")};
}

std::optional<double> number_if_any(const CsvReader& file, std::size_t column,
                                    std::string_view cell) {
  if (cell.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  return number_at(file, column, cell);
}

Characteristic& characteristic(Scorecard& card, const std::string& feature,
                               const std::string& place) {
  const auto found =
      std::find_if(card.characteristics.begin(), card.characteristics.end(),
                   [&](const Characteristic& one) { return one.feature == feature; });
  if (found != card.characteristics.end()) return *found;
  card.characteristics.push_back({.feature = feature, .bins = {}, .place = place});
  return card.characteristics.back();
}

Scorecard read_table(CsvReader& file) {
  const Columns columns = columns_of(file);
  Scorecard card{.source = file.name()};
  bool has_base = false;
  std::span<const std::string_view> cells;
  while (file.next(cells)) {
    const std::string place = file.place();
    const std::string feature(cells[columns.feature]);
    require_input(!feature.empty(), "{}: feature: found nothing, expected the name of a feature",
                  place);
    const std::optional<double> points = number_if_any(file, columns.points, cells[columns.points]);
    require_input(points.has_value(), "{}: points: found nothing, expected a number", place);
    ScorecardBin bin{.from = number_if_any(file, columns.from, cells[columns.from]),
                     .to = number_if_any(file, columns.to, cells[columns.to]),
                     .points = *points,
                     .place = place};
    if (columns.level) bin.level = cells[*columns.level];
    if (columns.reason) bin.reason = cells[*columns.reason];
    if (feature == base_name && !bin.from && !bin.to && bin.level.empty()) {
      require_input(!has_base, "{}: the points of everybody (base) were given before", place);
      has_base = true;
      card.initial = *points;
      continue;
    }
    characteristic(card, feature, place).bins.push_back(std::move(bin));
  }
  return card;
}

std::string text_of(const ScorecardBin& bin) {
  return fmt::format("{} to {}", bin.from ? number_text(*bin.from) : "the lowest",
                     bin.to ? number_text(*bin.to) : "the highest");
}

bool is_of_levels(const Characteristic& one) {
  return std::any_of(one.bins.begin(), one.bins.end(), [](const ScorecardBin& bin) {
    return !bin.from && !bin.to && !bin.level.empty();
  });
}

/// Intervals in order, after checks that every number has one place.
std::vector<ScorecardBin> intervals_of(const Characteristic& one) {
  std::vector<ScorecardBin> result;
  for (const ScorecardBin& bin : one.bins) {
    if (bin.is_code()) continue;
    require_input(!bin.from || !bin.to || *bin.from < *bin.to,
                  "{}: feature \"{}\": from {} is not below to {}", bin.place, one.feature,
                  number_text(bin.from.value_or(0)), number_text(bin.to.value_or(0)));
    result.push_back(bin);
  }
  std::stable_sort(result.begin(), result.end(), [](const ScorecardBin& a, const ScorecardBin& b) {
    return a.from.value_or(-infinity) < b.from.value_or(-infinity);
  });
  for (std::size_t k = 0; k + 1 < result.size(); ++k) {
    const ScorecardBin& below = result[k];
    const ScorecardBin& above = result[k + 1];
    require_input(below.from != above.from || below.to != above.to,
                  "{}: feature \"{}\": the bin {} stands twice, first at {}", above.place,
                  one.feature, text_of(above), below.place);
    const double end = below.to.value_or(infinity);
    const double begin = above.from.value_or(-infinity);
    require_input(begin >= end, "{}: feature \"{}\": the bin {} overlaps {} at {}", above.place,
                  one.feature, text_of(above), text_of(below), below.place);
    require_input(begin <= end,
                  "{}: feature \"{}\": numbers between {} and {} have no points (a gap to the bin "
                  "at {})",
                  above.place, one.feature, number_text(end), number_text(begin), below.place);
  }
  return result;
}

std::vector<ScorecardBin> codes_of(const Characteristic& one) {
  std::vector<ScorecardBin> codes;
  for (const ScorecardBin& bin : one.bins) {
    if (!bin.is_code()) continue;
    for (const ScorecardBin& other : codes) {
      require_input(*other.from != *bin.from,
                    "{}: feature \"{}\": the code {} stands twice, first at {}", bin.place,
                    one.feature, number_text(*bin.from), other.place);
    }
    codes.push_back(bin);
  }
  return codes;
}

void take_bins(const Scorecard& card, const Characteristic& one, Feature& feature) {
  const std::vector<ScorecardBin> intervals = intervals_of(one);
  require_input(!intervals.empty(), "{}: feature \"{}\": found codes alone, expected intervals",
                one.place, one.feature);
  const ScorecardBin& first = intervals.front();
  const ScorecardBin& last = intervals.back();
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
  const bool is_whole = feature.kind == FeatureKind::integer;
  feature.kind = FeatureKind::binned;
  feature.bins = {.closed = card.closed};
  for (std::size_t k = 0; k + 1 < intervals.size(); ++k)
    feature.bins.edges.push_back(*intervals[k].to);
  for (const ScorecardBin& code : codes_of(one)) {
    feature.bins.special.push_back(
        {.number = *code.from,
         .text = code.level.empty() ? "code " + number_text(*code.from) : code.level});
  }
  if (is_whole && !feature.step) feature.step = 1;
}

void check_levels(const Characteristic& one, const Feature& feature) {
  std::map<std::string, std::string> seen;
  for (const ScorecardBin& bin : one.bins) {
    require_input(!bin.from && !bin.to && !bin.level.empty(),
                  "{}: feature \"{}\" is {}, expected a level and no from and to", bin.place,
                  one.feature, enum_name(feature.kind));
    require_input(feature.level_index(bin.level).has_value(),
                  "{}: feature \"{}\" has no level \"{}\"; {}", bin.place, one.feature, bin.level,
                  suggestion(bin.level, feature.levels));
    const auto [other, is_new] = seen.emplace(bin.level, bin.place);
    require_input(is_new, "{}: feature \"{}\": the level \"{}\" stands twice, first at {}",
                  bin.place, one.feature, bin.level, other->second);
  }
  for (const std::string& level : feature.levels) {
    require_input(seen.contains(level), "{}: feature \"{}\": the level \"{}\" has no points",
                  one.place, one.feature, level);
  }
}

}  // namespace

double ScoreScale::factor() const {
  return pdo / std::log(2.0);
}

Scorecard read_scorecard(const std::string& path, Bins::Closed closed) {
  const std::string text = read_file(path);
  const std::size_t start = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start != std::string::npos && text[start] == '<') {
    Scorecard card = parse_scorecard_pmml(text, input_name(path));
    card.sha256 = sha256_hex(text);
    return card;
  }
  CsvReader file(path, [&](std::string_view begin) {
    return detect_format(begin, {.thousands = '\0'}, input_name(path)).format;
  });
  Scorecard card = read_table(file);
  card.closed = closed;
  card.sha256 = sha256_hex(text);
  require_input(!card.characteristics.empty(), "{}: found no bins, expected some", card.source);
  return card;
}

Schema schema_of(const Scorecard& card, const Schema& schema) {
  Schema result = schema;
  for (const Characteristic& one : card.characteristics) {
    const std::optional<std::size_t> found = result.find(one.feature);
    std::vector<std::string> names;
    for (const Feature& feature : result.features) names.push_back(feature.name);
    require_input(found.has_value(), "{}: the schema has no feature \"{}\"; {}", one.place,
                  one.feature, suggestion(one.feature, names));
    Feature& feature = result.features[*found];
    if (is_of_levels(one) || !feature.is_number()) {
      require_input(!feature.is_number(), "{}: feature \"{}\" is {}, expected from and to",
                    one.place, one.feature, enum_name(feature.kind));
      require_input(feature.kind != FeatureKind::ordinal,
                    "{}: feature \"{}\" is ordinal, of which a model sees the place of a level; "
                    "make it categorical",
                    one.place, one.feature);
      check_levels(one, feature);
    } else {
      take_bins(card, one, feature);
    }
  }
  for (const Rule& rule : result.constraints) {
    for (const auto& [name, coefficient] : rule.terms) {
      require_input(!result.features[*result.find(name)].is_binned(),
                    "{}: rule \"{}\" of the schema names \"{}\", which the scorecard bins",
                    card.source, rule.text, name);
    }
  }
  for (const Implication& rule : result.implications) {
    for (const std::string& name : {rule.condition.feature, rule.consequence.feature}) {
      require_input(!result.features[*result.find(name)].is_binned(),
                    "{}: rule \"{}\" of the schema names \"{}\", which the scorecard bins",
                    card.source, rule.text, name);
    }
  }
  // What the reader of schemas adds and checks, it adds and checks here as well.
  return parse_schema(to_yaml(result), card.source);
}

Vector parameters_of(const Scorecard& card, const ScoreScale& scale, const Encoder& encoder) {
  Vector result = Vector::Zero(encoder.columns() + 1);
  const Schema& schema = encoder.schema();
  for (const Characteristic& one : card.characteristics) {
    const std::size_t j = *schema.find(one.feature);
    const Feature& feature = schema.features[j];
    const Index first = encoder.first_column(j);
    if (feature.is_binned()) {
      const std::vector<ScorecardBin> intervals = intervals_of(one);
      for (std::size_t k = 0; k < intervals.size(); ++k)
        result(first + static_cast<Index>(k)) = intervals[k].points;
      for (const ScorecardBin& code : codes_of(one))
        result(first + static_cast<Index>(feature.bins.of(*code.from))) = code.points;
      continue;
    }
    for (const ScorecardBin& bin : one.bins) {
      const auto level = static_cast<Index>(*feature.level_index(bin.level));
      if (feature.kind == FeatureKind::categorical) {
        result(first + level) = bin.points;
      } else {
        // One column: the first level's points are everybody's, the second's what it adds.
        result(first) += level == 1 ? bin.points : -bin.points;
        if (level == 0) result(result.size() - 1) += bin.points;
      }
    }
  }
  result(result.size() - 1) += card.initial - scale.score;
  result /= scale.factor();
  result(result.size() - 1) += std::log(scale.odds);
  return result;
}

std::string reason_table(const Scorecard& card) {
  std::string result;
  for (const Characteristic& one : card.characteristics) {
    const auto coded = std::find_if(one.bins.begin(), one.bins.end(),
                                    [](const ScorecardBin& bin) { return !bin.reason.empty(); });
    if (coded == one.bins.end()) continue;
    result +=
        fmt::format("{}: {{code: {}}}\n", Json(one.feature).dump(), Json(coded->reason).dump());
  }
  return result;
}

}  // namespace ellice
