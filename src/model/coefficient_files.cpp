#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/as_input.hpp"
#include "core/sha256.hpp"
#include "core/utf8.hpp"
#include "data/csv_detection.hpp"
#include "data/csv_number.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/coefficients.hpp"
#include "model/coefficient_terms.hpp"
#include "model/pmml.hpp"

namespace ellice {

namespace {

// What programs call the columns, ours first. pandas writes the values of a series under "0".
using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 8> term_names = {"term",      "",         "name",  "names",
                                                        "parameter", "variable", "terms", "param"};
constexpr std::array<std::string_view, 9> estimate_names = {
    "estimate", "coef", "coef.", "coefficient", "coefficients", "beta", "b", "params", "0"};
constexpr std::array<std::string_view, 1> level_names = {
    "classval0"};  // of SAS, beside its variable
constexpr std::array<std::string_view, 1> mean_names = {"mean"};
constexpr std::array<std::string_view, 4> scale_names = {"scale", "sd", "std", "stddev"};
constexpr std::array<std::string_view, 2> min_names = {"min", "minimum"};
constexpr std::array<std::string_view, 2> max_names = {"max", "maximum"};

/// The first of the columns that has one of these names, whatever its case.
std::optional<std::size_t> column_of(const std::vector<std::string>& header, Names names) {
  for (const std::string_view name : names) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (lower_case(header[i]) == name) return i;
    }
  }
  return std::nullopt;
}

/// Separator, decimal mark and encoding; groups of digits nobody writes here.
ChooseFormat detected(const std::string& path) {
  return [path](std::string_view start) {
    return detect_format(start, {.thousands = '\0'}, input_name(path)).format;
  };
}

std::vector<Coefficient> read_estimates(CsvReader& file) {
  const std::vector<std::string>& header = file.header();
  const std::optional<std::size_t> term = column_of(header, term_names);
  const std::optional<std::size_t> estimate = column_of(header, estimate_names);
  require_input(term && estimate,
                "{}: found the columns {}, expected `term` and `estimate` (or as R, statsmodels or "
                "SAS write them), and `mean`, `scale`, `min`, `max` where they are known",
                file.name(), fmt::join(header, ", "));
  const std::optional<std::size_t> level = column_of(header, level_names);
  const std::optional<std::size_t> mean = column_of(header, mean_names);
  const std::optional<std::size_t> scale = column_of(header, scale_names);
  const std::optional<std::size_t> min = column_of(header, min_names);
  const std::optional<std::size_t> max = column_of(header, max_names);
  std::vector<Coefficient> terms;
  std::span<const std::string_view> cells;
  while (file.next(cells)) {
    const auto known = [&](const std::optional<std::size_t>& column) -> std::optional<double> {
      if (!column || cells[*column].empty()) return std::nullopt;
      return number_at(file, *column, cells[*column]);
    };
    Coefficient entry{.term = std::string(cells[*term]),
                      .estimate = number_at(file, *estimate, cells[*estimate]),
                      .mean = known(mean),
                      .scale = known(scale),
                      .min = known(min),
                      .max = known(max)};
    if (level && !cells[*level].empty()) entry.term += fmt::format(" {}", cells[*level]);
    terms.push_back(std::move(entry));
  }
  return terms;
}

void read_square(CsvReader& file, Coefficients& into) {
  const std::vector<std::string>& header = file.header();
  // Of a scorecard the covariance alone says which terms there were.
  const std::size_t p =
      into.terms.empty() ? std::max<std::size_t>(header.size(), 2) - 1 : into.terms.size();
  require_input(header.size() == p + 1,
                "{}: found {} columns, expected {}: the terms, then one column for each of them",
                file.name(), header.size(), p + 1);
  into.covariance_terms.assign(header.begin() + 1, header.end());
  into.covariance = Matrix::Constant(static_cast<Index>(p), static_cast<Index>(p), NAN);
  std::span<const std::string_view> cells;
  while (file.next(cells)) {
    const auto found =
        std::find(into.covariance_terms.begin(), into.covariance_terms.end(), cells[0]);
    require_input(found != into.covariance_terms.end(), "{}: no column is called \"{}\" too; {}",
                  file.place(), cells[0], suggestion(cells[0], into.covariance_terms));
    const Index row = found - into.covariance_terms.begin();
    require_input(std::isnan(into.covariance(row, 0)), "{}: \"{}\" was there before", file.place(),
                  cells[0]);
    for (std::size_t i = 0; i < p; ++i)
      into.covariance(row, static_cast<Index>(i)) = number_at(file, i + 1, cells[i + 1]);
  }
  for (std::size_t t = 0; t < p; ++t) {
    require_input(!std::isnan(into.covariance(static_cast<Index>(t), 0)), "{}: no row for \"{}\"",
                  file.name(), into.covariance_terms[t]);
  }
}

/// {"income": 24000, …} for some of the terms.
void read_known(JsonObject& object, const char* key, std::vector<Coefficient>& terms,
                std::optional<double> Coefficient::*member) {
  if (!object.has(key)) return;
  JsonObject values = object.object(key);
  for (Coefficient& term : terms) {
    const std::string name(unquoted(term.term));
    for (const std::string& spelling : {term.term, name}) {
      if (values.has(spelling)) term.*member = values.number(spelling);
    }
  }
  values.finish();
}

Coefficients read_fit(const Json& document, const std::string& source) {
  JsonObject object(document, source);
  Coefficients result{.source = source};
  const std::vector<std::string> terms = object.strings("terms");
  const auto p = static_cast<Index>(terms.size());
  const Vector estimates = object.vector("estimates", p);
  for (Index t = 0; t < p; ++t)
    result.terms.push_back({.term = terms[static_cast<std::size_t>(t)], .estimate = estimates(t)});
  if (object.has("covariance")) result.covariance = object.matrix("covariance", p, p);
  if (object.has("rows")) result.rows = static_cast<Index>(object.integer("rows"));
  if (object.has("log_likelihood")) result.log_likelihood = object.number("log_likelihood");
  if (object.has("event")) result.event = object.string("event");
  if (object.has("tool")) result.tool = object.string("tool");
  if (object.has("covariance_type") && object.string("covariance_type") != "nonrobust") {
    object.wrong("covariance_type",
                 "\"nonrobust\": only that covariance is the inverse of the loss's curvature");
  }
  read_known(object, "mean", result.terms, &Coefficient::mean);
  read_known(object, "scale", result.terms, &Coefficient::scale);
  read_known(object, "min", result.terms, &Coefficient::min);
  read_known(object, "max", result.terms, &Coefficient::max);
  object.finish();
  return result;
}

/// Whether a text is XML, JSON or, else, CSV.
char first_sign(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : text[at];
}

}  // namespace

Coefficients parse_coefficients(const std::string& text, const std::string& source) {
  if (first_sign(text) == '<') return parse_pmml(text, source);
  return as_input(source, [&] { return read_fit(parse_json(text, source), source); });
}

Coefficients read_coefficients(const std::string& path) {
  const std::string text = read_file(path);
  refuse_utf16(text, input_name(path));
  Coefficients result;
  if (first_sign(text) == '<' || first_sign(text) == '{') {
    result = parse_coefficients(text, input_name(path));
  } else {
    require_input(path != "-", "standard input: found a table, expected JSON or PMML; name a file");
    CsvReader file(path, detected(path));
    result = {.source = file.name(), .terms = read_estimates(file)};
  }
  result.sha256 = sha256_hex(text);
  return result;
}

void read_covariance(const std::string& path, Coefficients& coefficients) {
  CsvReader file(path, detected(path));
  coefficients.covariance_source = file.name();
  read_square(file, coefficients);
  coefficients.sha256 = sha256_hex(coefficients.sha256 + file.sha256());
}

}  // namespace ellice
