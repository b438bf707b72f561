#include "ellice/data/lending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/random.hpp"
#include "core/sha256.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// The features in the order of the schema. docs/reference/lending.md states the model; every
// constant here stands there too.
enum Column : std::size_t {
  age,
  dependants,
  education,
  employment_years,
  income,
  savings,
  debt,
  housing,
  purpose,
  loan_amount,
  duration_months,
  guarantor,
  column_count
};
// Indices of the levels that the model speaks of.
constexpr double rent = 0, own = 1, family = 2;  // housing
constexpr double home = 1, business = 2;         // purpose

struct Applicant {
  std::array<double, column_count> raw = {};  // numbers, and indices of levels
  bool approved = false;
};

double rounded(double value, double unit) {
  return unit * std::floor(value / unit + 0.5);
}

/// Index of the interval into which u falls, given the ends of all but the last.
template <std::size_t n>
int pick(double u, const std::array<double, n>& ends) {
  return static_cast<int>(
      std::count_if(ends.begin(), ends.end(), [&](double end) { return u >= end; }));
}

Applicant draw(Random random) {
  std::array<double, column_count> x = {};

  const double spread = random.uniform();
  x[age] = 20 + std::floor(50 * (0.5 * (spread + spread * spread)));

  const double child = x[age] < 25 ? 0.04 : x[age] < 35 ? 0.11 : x[age] < 55 ? 0.16 : 0.06;
  for (int i = 0; i < 8; ++i) x[dependants] += random.uniform() < child ? 1 : 0;

  x[education] = pick(random.uniform(), std::array{0.12, 0.60, 0.87});
  constexpr std::array<double, 4> work_begins = {16, 18, 22, 24};
  const double working_life =
      std::max(0.0, x[age] - work_begins.at(static_cast<std::size_t>(x[education])));
  const double tenure = random.uniform();
  x[employment_years] = std::floor(working_life * (0.5 * (tenure + tenure * tenure)));

  const double wage = 9.60 + 0.18 * x[education] + 0.008 * x[age] + 0.012 * x[employment_years] +
                      0.35 * random.normal();
  x[income] = std::clamp(rounded(std::exp(wage), 100), 6000.0, 250000.0);
  const double wealth = std::log(x[income] / 28000);

  const bool saves = random.uniform() >= 0.20;
  const double saved = std::exp(8.2 + 0.5 * wealth + 0.02 * (x[age] - 40) + random.normal());
  x[savings] = saves ? std::min(rounded(saved, 100), 200000.0) : 0;

  const bool owes = random.uniform() >= 0.25;
  const double owed = std::exp(8.6 + 0.6 * wealth + 0.9 * random.normal());
  x[debt] = owes ? std::min(rounded(owed, 100), 150000.0) : 0;

  const double with_family = x[age] < 30 ? 0.30 : 0.06;
  const double owns = std::clamp(0.10 + 0.010 * (x[age] - 20) + 0.20 * wealth, 0.02, 0.80);
  const double home_drawn = random.uniform();
  x[housing] = home_drawn < with_family ? family : home_drawn < with_family + owns ? own : rent;

  const double purpose_drawn = random.uniform();
  x[purpose] = x[age] < 30 ? pick(purpose_drawn, std::array{0.35, 0.50, 0.65})
                           : pick(purpose_drawn, std::array{0.42, 0.72, 0.94});

  constexpr std::array<double, 4> purpose_size = {0.0, 0.3, 0.4, -0.3};
  const double amount = 8.9 + 0.4 * wealth + purpose_size.at(static_cast<std::size_t>(x[purpose])) +
                        0.5 * random.normal();
  x[loan_amount] = std::clamp(rounded(std::exp(amount), 100), 500.0, 75000.0);
  x[duration_months] = 6 * std::min(14.0, 2 + std::floor(x[loan_amount] / 3000) +
                                              static_cast<double>(random.below(5)));

  x[guarantor] = random.uniform() < (x[age] < 25 ? 0.22 : 0.12) ? 1 : 0;

  const double score = 1.35 + 2.2 * wealth + 0.6 * std::min(x[savings], 40000.0) / 10000 -
                       1.3 * x[debt] / 10000 - 0.9 * x[loan_amount] / 10000 -
                       0.012 * x[duration_months] + 0.08 * x[employment_years] +
                       0.35 * x[education] - 0.15 * x[dependants] + 0.010 * (x[age] - 40) +
                       (x[housing] == own ? 0.5 : 0.0) + (x[purpose] == business ? -0.4 : 0.0) +
                       (x[purpose] == home ? 0.2 : 0.0) + 0.9 * x[guarantor];
  return {.raw = x, .approved = random.uniform() < 1 / (1 + std::exp(-1.6 * score))};
}

void append_line(const Schema& schema, const Applicant& applicant, std::string& text) {
  for (std::size_t j = 0; j < column_count; ++j) {
    const double value = applicant.raw.at(j);
    const Feature& feature = schema.features[j];
    if (feature.is_number()) {  // always whole here
      const fmt::format_int digits(static_cast<std::int64_t>(value));
      text.append(digits.data(), digits.size());
    } else {
      text += feature.levels[static_cast<std::size_t>(value)];
    }
    text += ',';
  }
  text += applicant.approved ? "yes\n" : "no\n";
}

std::string header_line(const Schema& schema) {
  std::string text;
  for (const Feature& feature : schema.features) text += feature.name + ",";
  return text + schema.target.column + "\n";
}

}  // namespace

Schema lending_schema() {
  using enum FeatureKind;
  using enum Direction;
  Schema schema;
  schema.target = {.column = "approved", .favourable = "yes"};
  schema.features.resize(column_count);
  schema.features[age] = {.name = "age", .kind = integer, .immutable = true, .unit = "years"};
  schema.features[dependants] = {
      .name = "dependants", .kind = integer, .min = 0, .max = 8, .immutable = true};
  schema.features[education] = {.name = "education",
                                .kind = ordinal,
                                .levels = {"none", "school", "bachelor", "master"},
                                .direction = increase};
  schema.features[employment_years] = {.name = "employment_years",
                                       .kind = integer,
                                       .min = 0,
                                       .direction = increase,
                                       .unit = "years",
                                       .slow = Pace{.amount = 1, .per = Pace::Period::year}};
  schema.features[income] = {.name = "income",
                             .kind = numeric,
                             .min = 0,
                             .step = 100,
                             .direction = increase,
                             .unit = "EUR/year"};
  schema.features[savings] = {.name = "savings",
                              .kind = numeric,
                              .min = 0,
                              .step = 100,
                              .direction = increase,
                              .unit = "EUR"};
  schema.features[debt] = {
      .name = "debt", .kind = numeric, .min = 0, .step = 100, .direction = decrease, .unit = "EUR"};
  schema.features[housing] = {
      .name = "housing", .kind = categorical, .levels = {"rent", "own", "family"}};
  schema.features[purpose] = {.name = "purpose",
                              .kind = categorical,
                              .levels = {"car", "home", "business", "education"},
                              .immutable = true};
  schema.features[loan_amount] = {
      .name = "loan_amount", .kind = numeric, .min = 500, .max = 75000, .step = 100, .unit = "EUR"};
  schema.features[duration_months] = {.name = "duration_months",
                                      .kind = integer,
                                      .min = 12,
                                      .max = 84,
                                      .step = 6,
                                      .unit = "months"};
  schema.features[guarantor] = {.name = "guarantor", .kind = binary, .levels = {"no", "yes"}};
  schema.constraints.push_back(parse_rule("debt + loan_amount <= 2 * income"));
  schema.constraints.push_back(parse_rule("employment_years <= age - 16"));
  return schema;
}

std::string lending_csv(std::size_t rows, std::uint64_t seed) {
  const Schema schema = lending_schema();
  const Random random(seed);
  std::string text = header_line(schema);
  for (std::size_t i = 0; i < rows; ++i) append_line(schema, draw(random.split(i)), text);
  return text;
}

Dataset lending_dataset(std::size_t rows, std::uint64_t seed) {
  Dataset data{.schema = lending_schema(), .classes = {"no", "yes"}};
  data.source = fmt::format("lending, {} rows, seed {}", rows, seed);
  data.raw.resize(static_cast<Index>(rows), column_count);
  data.labels.resize(rows);

  constexpr std::size_t hashed_at_once = std::size_t{1} << 16;
  const Random random(seed);
  Sha256 hash;
  std::string text = header_line(data.schema);
  for (std::size_t i = 0; i < rows; ++i) {
    const Applicant applicant = draw(random.split(i));
    std::copy(applicant.raw.begin(), applicant.raw.end(),
              data.raw.row(static_cast<Index>(i)).begin());
    data.labels[i] = applicant.approved ? 1 : 0;
    append_line(data.schema, applicant, text);
    if (text.size() >= hashed_at_once) {
      hash.update(text);
      text.clear();
    }
  }
  hash.update(text);
  data.sha256 = hash.hex();
  const auto approved = std::count(data.labels.begin(), data.labels.end(), 1);
  require(approved > 0 && approved < static_cast<std::ptrdiff_t>(rows),
          "lending_dataset: rows = {} with seed = {} give a single class; ask for more rows", rows,
          seed);
  return data;
}

}  // namespace ellice
