#include "data/recipe.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/number_text.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/data/lending.hpp"

namespace ellice {

namespace {

constexpr std::size_t lending_rows = 2000;
constexpr std::uint64_t lending_seed = 1;

/// A class of a numeric target: its values up to `last`, from where the class before it ends.
struct Grade {
  std::string name = {};
  double last = 0;
};

/// How one data set is prepared. A column without a name is an index and always dropped.
struct Recipe {
  enum class Label {
    equals_favourable,
    above_median,
    by_class,  // one of `classes`
    by_grade,  // the number's grade
  };

  std::string name = {};
  std::vector<std::string> files = {};  // our spelling, then that of the paper's repository
  std::string target = {};
  Label label = Label::equals_favourable;
  std::string favourable = "1";
  std::vector<std::string> classes = {};
  std::vector<Grade> grades = {};
  std::vector<std::string> keep = {};  // the only features; empty: every column that is not dropped
  std::vector<std::string> drop = {};
  bool one_hot =
      false;  // columns that share the part of their names before the last '_' are a group
  std::vector<double> missing_codes = {};
  double most_missing = 1;  // rows with a larger share of missing values are left out
  double fill = 0;          // what other missing values become
};

const std::vector<Recipe>& recipes() {
  using enum Recipe::Label;
  static const std::vector<Recipe> all = {
      {.name = "australian",
       .files = {"australian.csv", "austrc.csv"},
       .target = "y",
       .one_hot = true},
      {.name = "banknote",
       .files = {"banknote.csv", "banknote_authentication.csv"},
       .target = "class"},
      {.name = "compas", .files = {"compas.csv"}, .target = "two_year_recid"},
      {.name = "diabetes", .files = {"diabetes.csv"}, .target = "Outcome"},
      {.name = "fico",
       .files = {"fico.csv", "heloc.csv"},
       .target = "PoorRiskPerformance",
       .drop = {"MSinceMostRecentDelq", "NetFractionInstallBurden", "MSinceMostRecentInqexcl7days"},
       .missing_codes = {-7, -8, -9},
       .most_missing = 0.4,
       .fill = -1},
      {.name = "german", .files = {"german.csv", "germanc.csv"}, .target = "y", .one_hot = true},
      {.name = "iris",
       .files = {"iris_extended.csv", "iris.csv"},
       .target = "species",
       .favourable = "setosa",
       .keep = {"sepal_length", "sepal_width", "petal_length", "petal_width"}},
      {.name = "iris3",
       .files = {"iris_extended.csv", "iris.csv"},
       .target = "species",
       .label = by_class,
       .favourable = "virginica",
       .classes = {"setosa", "versicolor", "virginica"},
       .keep = {"sepal_length", "sepal_width", "petal_length", "petal_width"}},
      {.name = "parkinsons",
       .files = {"parkinsons.csv", "parkinsons_updrs.csv"},
       .target = "motor_UPDRS",
       .label = above_median,
       .drop = {"subject#", "test_time", "total_UPDRS"}},
      {.name = "wine",
       .files = {"wine.csv", "winequality.csv"},
       .target = "quality",
       .label = above_median,
       .drop = {"type"}},
      // The grades are ours: tasters gave 3 to 9, most often 5 and 6.
      {.name = "wine-grades",
       .files = {"wine.csv", "winequality.csv"},
       .target = "quality",
       .label = by_grade,
       .favourable = "high",
       .classes = {"low", "medium", "high"},
       .grades = {{"low", 5}, {"medium", 6}, {"high", 9}},
       .drop = {"type"}},
  };
  return all;
}

/// The recipe of a data set that is read from a file, or null for "lending".
const Recipe* find_recipe(const std::string& name) {
  if (name == "lending") return nullptr;
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == name) return &recipe;
  }
  fail(ErrorCode::argument, "there is no built-in data set \"{}\"; {}", name,
       suggestion(name, recipe_names()));
}

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// The columns of a file that are features, in its order, their numbers row by row, and the target.
struct RecipeTable {
  std::vector<std::string> names = {};
  std::vector<std::string> dropped = {};
  std::vector<double> values = {};
  std::vector<std::string> target = {};

  [[nodiscard]] std::size_t rows() const { return target.size(); }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return values[row * names.size() + column];
  }
};

double parse_cell(const CsvReader& reader, const std::string& column, std::string_view cell) {
  double value = 0;
  require_input(parse_number(cell, value), "{}: column \"{}\": found \"{}\", expected a number",
                reader.place(), column, cell);
  return value;
}

RecipeTable read_table(CsvReader& reader, const Recipe& recipe) {
  const std::vector<std::string>& header = reader.header();
  const auto target = std::find(header.begin(), header.end(), recipe.target);
  require_input(target != header.end(),
                "{}: column \"{}\" is missing, expected the file of data set {}", reader.name(),
                recipe.target, recipe.name);
  RecipeTable table;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == recipe.target) continue;
    const bool kept = recipe.keep.empty() ? !header[i].empty() && !contains(recipe.drop, header[i])
                                          : contains(recipe.keep, header[i]);
    (kept ? table.names : table.dropped).push_back(header[i]);
    if (kept) columns.push_back(i);
  }
  require_input(table.names.size() >= std::max<std::size_t>(1, recipe.keep.size()),
                "{}: found {} of the columns {}, expected all", reader.name(), table.names.size(),
                fmt::join(recipe.keep, ", "));
  const auto target_column = static_cast<std::size_t>(target - header.begin());
  std::span<const std::string_view> cells;
  while (reader.next(cells)) {
    check_stop();
    for (const std::size_t column : columns) {
      table.values.push_back(parse_cell(reader, header[column], cells[column]));
    }
    const std::string_view label = cells[target_column];
    if (recipe.label == Recipe::Label::above_median) {
      (void)parse_cell(reader, recipe.target, label);
    }
    if (recipe.label == Recipe::Label::by_grade) {
      const double value = parse_cell(reader, recipe.target, label);
      require_input(value <= recipe.grades.back().last,
                    "{}: column \"{}\": found {}, expected at most {}", reader.place(),
                    recipe.target, value, recipe.grades.back().last);
    }
    if (recipe.label == Recipe::Label::by_class) {
      require_input(contains(recipe.classes, std::string(label)),
                    "{}: column \"{}\": found \"{}\", expected one of {}", reader.place(),
                    recipe.target, label, fmt::join(recipe.classes, ", "));
    }
    table.target.emplace_back(cells[target_column]);
  }
  require_input(table.rows() > 0, "{}: found a header but no rows", reader.name());
  return table;
}

/// The middle value, or the mean of the two in the middle.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<int> labels_of(const RecipeTable& table, const Recipe& recipe) {
  std::vector<int> labels;
  labels.reserve(table.rows());
  if (recipe.label == Recipe::Label::by_class) {
    for (const std::string& cell : table.target) {
      const auto found = std::find(recipe.classes.begin(), recipe.classes.end(), cell);
      labels.push_back(static_cast<int>(found - recipe.classes.begin()));
    }
    return labels;
  }
  if (recipe.label == Recipe::Label::equals_favourable) {
    for (const std::string& cell : table.target)
      labels.push_back(cell == recipe.favourable ? 1 : 0);
    return labels;
  }
  std::vector<double> values(table.rows());
  for (std::size_t i = 0; i < values.size(); ++i) (void)parse_number(table.target[i], values[i]);
  if (recipe.label == Recipe::Label::by_grade) {
    for (const double value : values) {
      const auto grade = std::find_if(recipe.grades.begin(), recipe.grades.end(),
                                      [&](const Grade& one) { return value <= one.last; });
      labels.push_back(static_cast<int>(grade - recipe.grades.begin()));
    }
    return labels;
  }
  const double middle = median(values);
  for (const double value : values) labels.push_back(value > middle ? 1 : 0);
  return labels;
}

/// Replaces missing values and returns the rows that have few enough of them.
std::vector<std::size_t> treat_missing(RecipeTable& table, const Recipe& recipe) {
  std::vector<std::size_t> kept;
  const std::size_t columns = table.names.size();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::size_t missing = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      double& value = table.values[row * columns + j];
      if (std::find(recipe.missing_codes.begin(), recipe.missing_codes.end(), value) ==
          recipe.missing_codes.end()) {
        continue;
      }
      ++missing;
      value = recipe.fill;
    }
    if (static_cast<double>(missing) <= recipe.most_missing * static_cast<double>(columns))
      kept.push_back(row);
  }
  return kept;
}

/// A feature and the columns of the table that it is made of: one, or those of a one-hot group.
struct Source {
  Feature feature = {};
  std::vector<std::size_t> columns = {};
};

bool holds_one_in_every_row(const RecipeTable& table, const std::vector<std::size_t>& rows,
                            const std::vector<std::size_t>& columns) {
  return std::all_of(rows.begin(), rows.end(), [&](std::size_t row) {
    std::size_t ones = 0;
    for (const std::size_t column : columns) {
      const double value = table.at(row, column);
      if (value != 0 && value != 1) return false;
      if (value == 1) ++ones;
    }
    return ones == 1;
  });
}

Feature single_feature(const RecipeTable& table, const std::vector<std::size_t>& rows,
                       std::size_t column) {
  Feature feature{.name = table.names[column]};
  bool whole = true;
  std::size_t zeros = 0;
  std::size_t ones = 0;
  for (const std::size_t row : rows) {
    const double value = table.at(row, column);
    whole = whole && value == std::nearbyint(value);
    if (value == 0) ++zeros;
    if (value == 1) ++ones;
  }
  if (zeros > 0 && ones > 0 && zeros + ones == rows.size()) {
    feature.kind = FeatureKind::binary;
    feature.levels = {"0", "1"};
  } else {
    feature.kind = whole ? FeatureKind::integer : FeatureKind::numeric;
  }
  return feature;
}

/// Columns that form an exact one-hot group become one feature, at the place of the first of them.
std::vector<Source> sources_of(const RecipeTable& table, const std::vector<std::size_t>& rows,
                               bool one_hot) {
  std::vector<Source> groups;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    const std::string& name = table.names[column];
    const std::size_t end = one_hot ? name.rfind('_') : std::string::npos;
    const std::string group = end == std::string::npos ? name : name.substr(0, end);
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Source& source) {
      return source.feature.name == group;
    });
    Source& source = known == groups.end() ? groups.emplace_back() : *known;
    source.feature.name = group;
    source.columns.push_back(column);
  }
  std::vector<Source> result;
  for (const Source& group : groups) {
    if (group.columns.size() > 1 && holds_one_in_every_row(table, rows, group.columns)) {
      Feature feature{.name = group.feature.name, .kind = FeatureKind::categorical};
      for (const std::size_t column : group.columns) feature.one_hot.push_back(table.names[column]);
      feature.levels = feature.one_hot;
      result.push_back({std::move(feature), group.columns});
    } else {
      for (const std::size_t column : group.columns) {
        result.push_back({single_feature(table, rows, column), {column}});
      }
    }
  }
  return result;
}

double raw_value(const RecipeTable& table, std::size_t row, const Source& source) {
  if (source.columns.size() == 1) return table.at(row, source.columns.front());
  const auto one = std::find_if(source.columns.begin(), source.columns.end(),
                                [&](std::size_t column) { return table.at(row, column) == 1; });
  return static_cast<double>(one - source.columns.begin());
}

Dataset prepare(const Recipe& recipe, const std::string& path) {
  CsvReader reader(path);
  RecipeTable table = read_table(reader, recipe);
  const std::vector<int> labels = labels_of(table, recipe);
  const std::vector<std::size_t> rows = treat_missing(table, recipe);
  const std::vector<Source> sources = sources_of(table, rows, recipe.one_hot);

  Dataset data;
  data.source = recipe.name;
  data.sha256 = reader.sha256();
  data.classes = recipe.classes;
  if (data.classes.empty()) {
    data.classes = {recipe.favourable == "1" ? "0" : "not " + recipe.favourable, recipe.favourable};
  }
  data.schema.target = {
      .column = recipe.target, .favourable = recipe.favourable, .classes = recipe.classes};
  data.schema.drop = table.dropped;
  for (const Source& source : sources) data.schema.features.push_back(source.feature);
  data.raw.resize(static_cast<Index>(rows.size()), static_cast<Index>(sources.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    data.labels.push_back(labels[rows[i]]);
    for (std::size_t j = 0; j < sources.size(); ++j) {
      data.raw(static_cast<Index>(i), static_cast<Index>(j)) =
          raw_value(table, rows[i], sources[j]);
    }
  }
  // Files of people have the codes, too: read as empty cells, they become what they were here.
  for (const double code : recipe.missing_codes) {
    data.schema.missing = MissingPolicy::median;
    data.schema.missing_values.push_back(number_text(code));
    for (const Feature& feature : data.schema.features) data.fill[feature.name] = recipe.fill;
  }
  if (rows.size() < table.rows()) {
    data.dropped.emplace(
        fmt::format("more than {:.0f} % of the values are missing", 100 * recipe.most_missing),
        table.rows() - rows.size());
  }
  for (std::size_t label = 0; label < data.classes.size(); ++label) {
    const bool occurs = std::find(data.labels.begin(), data.labels.end(),
                                  static_cast<int>(label)) != data.labels.end();
    require_input(occurs, "{}: no row is of class \"{}\"; is this the file of data set {}?", path,
                  data.classes[label], recipe.name);
  }
  return data;
}

/// The value of an environment variable, empty when it is not set.
std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

const std::vector<std::string>& recipe_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Recipe& recipe : recipes()) result.push_back(recipe.name);
    result.emplace_back("lending");
    return result;
  }();
  return names;
}

std::vector<std::string> dataset_folders() {
  std::vector<std::string> folders;
  if (const std::string folder = environment("ELLICE_DATA"); !folder.empty())
    folders.push_back(folder);
  folders.emplace_back("../shared/datasets");
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    folders.push_back(cache + "/ellice/datasets");
  } else if (const std::string home_folder = environment("HOME"); !home_folder.empty()) {
    folders.push_back(home_folder + "/.cache/ellice/datasets");
  }
  return folders;
}

std::optional<std::string> find_dataset_file(const std::string& name) {
  const Recipe* const recipe = find_recipe(name);
  if (recipe == nullptr) return std::nullopt;
  for (const std::string& folder : dataset_folders()) {
    for (const std::string& file : recipe->files) {
      std::string path = folder + "/" + file;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(path, ignored)) return path;
    }
  }
  return std::nullopt;
}

Dataset load_recipe(const std::string& name) {
  const Recipe* const recipe = find_recipe(name);
  if (recipe == nullptr) return lending_dataset(lending_rows, lending_seed);
  const std::optional<std::string> path = find_dataset_file(name);
  require_input(
      path.has_value(),
      "no file {} in {}; run scripts/get-datasets, or set ELLICE_DATA to the folder that has it",
      fmt::join(recipe->files, " or "), fmt::join(dataset_folders(), ", "));
  return prepare(*recipe, *path);
}

Dataset with_numeric_columns(const Dataset& data) {
  const Encoder encoder = Encoder::fit(data);
  Dataset result = data;
  result.raw = RowMatrix(data.rows(), encoder.columns());
  result.schema.features.clear();
  result.schema.constraints.clear();
  result.schema.implications.clear();
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const bool one_hot = data.schema.features[j].kind == FeatureKind::categorical;
    for (Index c = 0; c < encoder.column_count(j); ++c) {
      const Index column = encoder.first_column(j) + c;
      result.schema.features.push_back(
          {.name = encoder.column_names()[static_cast<std::size_t>(column)]});
      for (Index i = 0; i < data.rows(); ++i) {
        const double raw = data.raw(i, static_cast<Index>(j));
        result.raw(i, column) = !one_hot ? raw : raw == static_cast<double>(c) ? 1 : 0;
      }
    }
  }
  return result;
}

}  // namespace ellice
