// Training rows and people of a population, as tables of cells.

#include <algorithm>
#include <cmath>
#include <limits>

#include "combination/draw.hpp"
#include "combination/schemas.hpp"
#include "core/number_text.hpp"

namespace ellice::combination {

namespace {

constexpr double empty = std::numeric_limits<double>::quiet_NaN();

/// The numbers of a row; levels by index, NaN for an empty cell.
using Numbers = std::vector<double>;

Numbers draw_ordinary(const Population& population, Random& random) {
  Numbers row;
  for (std::size_t j = 0; j < population.schema.features.size(); ++j) {
    const Feature& feature = population.schema.features[j];
    const Spread& spread = population.spreads[j];
    const double draw = random.normal();
    if (!feature.is_number()) {
      row.push_back(static_cast<double>(random.below(feature.levels.size())));
    } else {
      const double value = spread.center + (spread.is_constant ? 0 : draw * spread.width);
      row.push_back(feature.kind == FeatureKind::integer ? std::round(value) : value);
    }
  }
  return row;
}

/// A column of numbers per number feature, of texts per other one, several per one-hot group.
Table table_of(const Schema& schema, const std::vector<Numbers>& rows, const std::string& name) {
  Table table{.name = name};
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const std::size_t parts = feature.one_hot.empty() ? 1 : feature.one_hot.size();
    for (std::size_t k = 0; k < parts; ++k) {
      Column column{.name = feature.one_hot.empty() ? feature.name : feature.one_hot[k]};
      std::vector<double> numbers;
      std::vector<std::string> texts;
      for (const Numbers& row : rows) {
        const double value = row[j];
        if (feature.is_number()) {
          numbers.push_back(value);
        } else if (std::isnan(value)) {
          texts.emplace_back();
        } else if (!feature.one_hot.empty()) {
          texts.emplace_back(static_cast<std::size_t>(value) == k ? "1" : "0");
        } else {
          texts.push_back(feature.levels[static_cast<std::size_t>(value)]);
        }
      }
      if (feature.is_number()) {
        column.values = std::move(numbers);
      } else {
        column.values = std::move(texts);
      }
      table.columns.push_back(std::move(column));
    }
  }
  return table;
}

/// Where a row stands on a scale of about one.
Numbers standing(const Population& population, const Numbers& row) {
  Numbers result;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Spread& spread = population.spreads[j];
    const bool is_number = population.schema.features[j].is_number();
    result.push_back(is_number ? (row[j] - spread.center) / spread.width : row[j] - 1);
  }
  return result;
}

/// Class of each row: the largest of random linear scores with noise, each class at least thrice.
std::vector<std::string> draw_classes(const Population& population,
                                      const std::vector<Numbers>& rows, Random& random) {
  std::vector<std::string> names = population.schema.target.classes;
  if (names.empty()) names = {"refused", population.schema.target.favourable};
  std::vector<Vector> slopes;
  for (std::size_t k = 0; k < names.size(); ++k)
    slopes.push_back(random.normal_vector(static_cast<Index>(rows.front().size())));
  std::vector<std::string> classes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Numbers at = standing(population, rows[i]);
    std::size_t best = i < 3 * names.size() ? i % names.size() : 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; i >= 3 * names.size() && k < names.size(); ++k) {
      double score = random.normal();
      for (std::size_t j = 0; j < at.size(); ++j) score += slopes[k](static_cast<Index>(j)) * at[j];
      if (score > most) best = k;
      most = std::max(most, score);
    }
    classes.push_back(names[best]);
  }
  return classes;
}

enum class Person { ordinary, at_bounds, outside, huge, tiny, empty_cells };
constexpr std::uint64_t person_kinds = 6;

double unusual(const Feature& feature, const Spread& spread, double ordinary, Person kind,
               Random& random) {
  const double sign = once_in(random, 2) ? 1 : -1;
  double value = ordinary;
  switch (kind) {
    case Person::ordinary:
      break;
    case Person::at_bounds:
      value = sign > 0 ? feature.max.value_or(ordinary) : feature.min.value_or(ordinary);
      break;
    case Person::outside:
      value = spread.center + sign * spread.width * (3 + 30 * random.uniform());
      break;
    case Person::huge:
      value = sign * spread.width * std::pow(10, 3 + static_cast<double>(random.below(12)));
      if (once_in(random, 6)) value = sign * one_of<double>(random, {1e100, 1e200, 1.7e308});
      break;
    case Person::tiny:
      value = sign * one_of<double>(random, {0.0, 1e-12, 1e-100, 5e-324});
      break;
    case Person::empty_cells:
      return empty;
  }
  return feature.kind == FeatureKind::integer ? std::round(value) : value;
}

}  // namespace

Table draw_rows(const Population& population, Random& random) {
  std::vector<Numbers> rows;
  for (std::uint64_t count = 24 + random.below(40); count > 0; --count)
    rows.push_back(draw_ordinary(population, random));
  const std::vector<std::string> classes = draw_classes(population, rows, random);
  if (population.schema.missing == MissingPolicy::median && once_in(random, 2)) {
    for (std::size_t k = 0; k < 4; ++k)
      rows[random.below(rows.size())][random.below(rows.front().size())] = empty;
  }
  Table table = table_of(population.schema, rows, "rows");
  table.columns.push_back({.name = population.schema.target.column, .values = classes});
  return table;
}

Table draw_people(const Population& population, Random& random) {
  std::vector<Numbers> rows;
  for (std::uint64_t count = 2 + random.below(3); count > 0; --count) {
    Numbers row = draw_ordinary(population, random);
    const auto kind = static_cast<Person>(random.below(person_kinds));
    for (std::size_t j = 0; j < row.size(); ++j) {
      const Feature& feature = population.schema.features[j];
      const bool takes = feature.is_number() || kind == Person::empty_cells;
      if (takes && once_in(random, 2))
        row[j] = unusual(feature, population.spreads[j], row[j], kind, random);
    }
    rows.push_back(std::move(row));
  }
  Table table = table_of(population.schema, rows, "people");
  // A level that nobody knows.
  for (Column& column : table.columns) {
    auto* texts = std::get_if<std::vector<std::string>>(&column.values);
    if (texts != nullptr && once_in(random, 40)) texts->front() = "someone else's";
  }
  return table;
}

std::string csv_text(const Table& table) {
  std::string text;
  const auto end_cell = [&](std::size_t k) { text += k + 1 < table.columns.size() ? "," : "\n"; };
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    text += csv_cell(table.columns[k].name);
    end_cell(k);
  }
  for (std::size_t i = 0; i < table.rows(); ++i) {
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      const Column& column = table.columns[k];
      if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
        text += csv_cell((*texts)[i]);
      } else if (const double value = std::get<std::vector<double>>(column.values)[i];
                 !std::isnan(value)) {
        text += number_text(value);
      }
      end_cell(k);
    }
  }
  return text;
}

}  // namespace ellice::combination
