#include "data/recipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"
#include "support/datasets.hpp"

namespace ellice {
namespace {

/// What shared/datasets/README.md and the paper say.
struct KnownRecipe {
  std::string name = {};
  Index rows = 0;            // before balancing
  std::size_t balanced = 0;  // after it
  std::size_t features = 0;
  std::string column = {};  // target
};

const std::vector<KnownRecipe>& known_datasets() {
  static const std::vector<KnownRecipe> known = {
      {"australian", 640, 530, 14, "y"},
      {"banknote", 1372, 1220, 4, "class"},
      {"compas", 6907, 6392, 7, "two_year_recid"},
      {"diabetes", 768, 536, 8, "Outcome"},
      {"fico", 9871, 9470, 20, "PoorRiskPerformance"},
      {"german", 1000, 600, 20, "y"},
      {"iris", 1200, 800, 4, "species"},
      {"parkinsons", 5875, 5872, 18, "motor_UPDRS"},
      {"wine", 6497, 2554, 11, "quality"},
  };
  return known;
}

/// The cells of a file without quotes, by splitting at commas: the header first.
std::vector<std::vector<std::string>> split_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::stringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

std::vector<std::string> column_of(const std::vector<std::vector<std::string>>& rows,
                                   const std::string& name) {
  const auto column = std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin();
  std::vector<std::string> result;
  for (std::size_t i = 1; i < rows.size(); ++i)
    result.push_back(rows[i][static_cast<std::size_t>(column)]);
  return result;
}

TEST(Recipe, NamesAreThoseOfTheCommandLine) {
  EXPECT_EQ(recipe_names(), (std::vector<std::string>{
                                "australian", "banknote", "compas", "diabetes", "fico", "german",
                                "iris", "iris3", "parkinsons", "wine", "wine-grades", "lending"}));
}

TEST(Recipe, RowCountsAreThoseOfThePaperAfterBalancing) {
  for (const KnownRecipe& known : known_datasets()) {
    SCOPED_TRACE(known.name);
    ELLICE_NEEDS_DATASET(known.name);
    const Dataset data = load_recipe(known.name);
    EXPECT_EQ(data.rows(), known.rows);
    EXPECT_EQ(data.schema.features.size(), known.features);
    EXPECT_EQ(data.schema.target.column, known.column);
    EXPECT_EQ(data.labels.size(), static_cast<std::size_t>(data.rows()));
    const SelectedRows selected = apply_selection(data, {.balance = true, .seed = 4});
    EXPECT_EQ(selected.fit.size(), known.balanced);
    const Dataset balanced = select_rows(data, selected.fit);
    EXPECT_EQ(std::count(balanced.labels.begin(), balanced.labels.end(), 1),
              static_cast<std::ptrdiff_t>(known.balanced / 2));
  }
}

TEST(Recipe, LabelsFollowTheTargetColumn) {
  for (const auto& [name, column, favourable] :
       {std::tuple("german", "y", "1"), std::tuple("compas", "two_year_recid", "1"),
        std::tuple("diabetes", "Outcome", "1"), std::tuple("iris", "species", "setosa")}) {
    SCOPED_TRACE(name);
    ELLICE_NEEDS_DATASET(name);
    const Dataset data = load_recipe(name);
    const std::vector<std::string> cells = column_of(split_file(*find_dataset_file(name)), column);
    ASSERT_EQ(data.labels.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      ASSERT_EQ(data.labels[i], cells[i] == favourable ? 1 : 0);
  }
}

TEST(Recipe, LabelsAboveTheMedianSplitTheRows) {
  for (const auto& [name, column] :
       {std::pair("wine", "quality"), std::pair("parkinsons", "motor_UPDRS")}) {
    SCOPED_TRACE(name);
    ELLICE_NEEDS_DATASET(name);
    const Dataset data = load_recipe(name);
    // The median is the number with at most half of the rows on either side: found by counting.
    std::vector<double> values;
    for (const std::string& cell : column_of(split_file(*find_dataset_file(name)), column)) {
      values.push_back(std::stod(cell));
    }
    double middle = 0;
    for (const double candidate : values) {
      const auto below =
          std::count_if(values.begin(), values.end(), [&](double v) { return v < candidate; });
      const auto above =
          std::count_if(values.begin(), values.end(), [&](double v) { return v > candidate; });
      const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
      if (below <= half && above <= half) {
        middle = candidate;
        break;
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(data.labels[i], values[i] > middle ? 1 : 0);
    EXPECT_EQ(data.schema.target.favourable, "1");
    EXPECT_FALSE(data.schema.find(column).has_value());
  }
}

TEST(Recipe, TreatsMissingValuesOfFico) {
  ELLICE_NEEDS_DATASET("fico");
  const Dataset data = load_recipe("fico");
  ASSERT_EQ(data.dropped.size(), 1U);
  EXPECT_EQ(data.dropped.begin()->first, "more than 40 % of the values are missing");
  EXPECT_EQ(data.dropped.begin()->second, 10459U - 9871U);
  const auto file = split_file(*find_dataset_file("fico"));
  std::size_t kept = 0;
  for (std::size_t i = 1; i < file.size(); ++i) {
    std::vector<double> expected;
    int missing = 0;
    for (std::size_t j = 0; j + 1 < file[i].size(); ++j) {  // the target is the last column
      const std::string& name = file[0][j];
      if (name == "MSinceMostRecentDelq" || name == "NetFractionInstallBurden" ||
          name == "MSinceMostRecentInqexcl7days") {
        continue;
      }
      const bool is_missing = file[i][j] == "-7" || file[i][j] == "-8" || file[i][j] == "-9";
      missing += is_missing ? 1 : 0;
      expected.push_back(is_missing ? -1 : std::stod(file[i][j]));
    }
    if (missing > 8) continue;  // of 20
    for (std::size_t j = 0; j < expected.size(); ++j) {
      ASSERT_EQ(data.raw(static_cast<Index>(kept), static_cast<Index>(j)), expected[j])
          << "line " << i + 1;
    }
    ++kept;
  }
  EXPECT_EQ(kept, static_cast<std::size_t>(data.rows()));
}

/// Whoever asks with a row of the file itself is seen as the training saw that row.
TEST(Recipe, RowsOfFicoAsTheyAreWrittenAreThoseOfTheTraining) {
  ELLICE_NEEDS_DATASET("fico");
  const Dataset data = load_recipe("fico");
  const Encoder encoder = Encoder::from_json(Encoder::fit(data).to_json(), data.schema, "model");
  CsvReader file(*find_dataset_file("fico"));
  const RowParser parser(encoder.schema(), file, RowParser::Columns::exact);
  Index kept = 0;
  int coded = 0;
  std::span<const std::string_view> cells;
  while (file.next(cells)) {
    Vector raw(static_cast<Index>(data.schema.features.size()));
    parser.parse(cells, {raw.data(), static_cast<std::size_t>(raw.size())});
    const auto codes = raw.array().isNaN().count();
    if (codes > 8) continue;  // of 20: left out of the training
    Vector z(encoder.columns());
    encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
    Vector expected(encoder.columns());
    const Vector row = data.raw.row(kept).transpose();
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, expected);
    ASSERT_EQ(z, expected) << kept;
    coded += codes > 0 ? 1 : 0;
    ++kept;
  }
  EXPECT_EQ(kept, data.rows());
  EXPECT_GT(coded, 1000);
}

TEST(Recipe, GroupsOfGermanAreExactInEveryRow) {
  ELLICE_NEEDS_DATASET("german");
  const Dataset data = load_recipe("german");
  const auto file = split_file(*find_dataset_file("german"));
  std::size_t groups = 0;
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    if (feature.one_hot.empty()) continue;
    ++groups;
    std::vector<std::vector<std::string>> columns;
    for (const std::string& name : feature.one_hot) columns.push_back(column_of(file, name));
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
      const auto level =
          static_cast<std::size_t>(data.raw(static_cast<Index>(i), static_cast<Index>(j)));
      for (std::size_t k = 0; k < columns.size(); ++k)
        ASSERT_EQ(columns[k][i], k == level ? "1" : "0");
    }
  }
  EXPECT_EQ(groups, 15U);
}

TEST(Recipe, SchemaIsReadBackAndReadsTheRawFileAsQueries) {
  for (const KnownRecipe& known : known_datasets()) {
    SCOPED_TRACE(known.name);
    ELLICE_NEEDS_DATASET(known.name);
    const Dataset data = load_recipe(known.name);
    EXPECT_EQ(parse_schema(to_yaml(data.schema), known.name), data.schema);
    if (known.name == "fico") continue;  // its missing values are replaced, rows are left out
    CsvReader reader(*find_dataset_file(known.name));
    const RowParser parser(data.schema, reader, RowParser::Columns::exact);
    std::span<const std::string_view> cells;
    std::vector<double> raw(known.features);
    for (Index i = 0; reader.next(cells); ++i) {
      parser.parse(cells, raw);
      for (std::size_t j = 0; j < raw.size(); ++j)
        ASSERT_EQ(raw[j], data.raw(i, static_cast<Index>(j)));
    }
  }
}

TEST(Encoder, RoundTripIsExactOnAllNineDataSets) {
  for (const KnownRecipe& known : known_datasets()) {
    SCOPED_TRACE(known.name);
    ELLICE_NEEDS_DATASET(known.name);
    const Dataset data = load_recipe(known.name);
    const Encoder encoder = Encoder::fit(data);
    const RowMatrix encoded = encoder.encode(data.raw);
    for (Index i = 0; i < data.rows(); ++i) {
      const RawRow row = encoder.decode(encoded.row(i).transpose());
      for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
        const Feature& feature = data.schema.features[j];
        const double raw = data.raw(i, static_cast<Index>(j));
        if (!feature.is_number()) {
          ASSERT_EQ(std::get<std::string>(row[j]), feature.levels[static_cast<std::size_t>(raw)]);
          continue;
        }
        const double mean = encoder.mean()[encoder.first_column(j)];
        const double tolerance = feature.kind == FeatureKind::integer
                                     ? 0
                                     : 4 * 0x1p-52 * std::max(std::abs(raw), std::abs(mean));
        ASSERT_NEAR(std::get<double>(row[j]), raw, tolerance) << feature.name << ", row " << i;
      }
    }
  }
}

TEST(Recipe, LendingNeedsNoFile) {
  EXPECT_EQ(find_dataset_file("lending"), std::nullopt);
  EXPECT_EQ(load_recipe("lending").rows(), 2000);
}

TEST(Recipe, UnknownNameGetsASuggestion) {
  try {
    (void)load_recipe("germn");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::argument);
    EXPECT_STREQ(error.what(), "there is no built-in data set \"germn\"; did you mean \"german\"?");
  }
}

/// A folder of its own as ELLICE_DATA, and an empty cache folder.
class RecipeFolder : public testing::Test {
 protected:
  RecipeFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "ellice-recipe-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ::setenv("ELLICE_DATA", folder_.c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    before_ = std::filesystem::current_path();
    std::filesystem::create_directories(folder_ / "work");
    std::filesystem::current_path(folder_ / "work");
  }
  ~RecipeFolder() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
    ::unsetenv("ELLICE_DATA");
    ::unsetenv("XDG_CACHE_HOME");
  }

  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    write_file(folder_ / path, text);
  }

  std::filesystem::path folder_;
  std::filesystem::path before_;
};

std::string recipe_error(const std::string& name) {
  try {
    (void)load_recipe(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "no error";
}

TEST_F(RecipeFolder, IsSearchedInOrderUnderBothSpellings) {
  EXPECT_EQ(find_dataset_file("german"), std::nullopt);
  put("cache/ellice/datasets/germanc.csv", "y\n");
  EXPECT_EQ(find_dataset_file("german"), folder_ / "cache/ellice/datasets/germanc.csv");
  put("shared/datasets/german.csv", "y\n");
  EXPECT_EQ(find_dataset_file("german"), "../shared/datasets/german.csv");
  put("germanc.csv", "y\n");
  EXPECT_EQ(find_dataset_file("german"), folder_ / "germanc.csv");
}

TEST_F(RecipeFolder, WithoutTheFileTheMessageSaysWhereItLooked) {
  const std::string folder = folder_;
  EXPECT_EQ(recipe_error("wine"),
            "no file wine.csv or winequality.csv in " + folder + ", ../shared/datasets, " + folder +
                "/cache/ellice/datasets; run scripts/get-datasets, or set ELLICE_DATA "
                "to the folder that has it");
}

TEST_F(RecipeFolder, ColumnsThatAreNoExactGroupStayApart) {
  put("german.csv", ",a_1,a_2,b_1,b_2,c,y\n0,1,0,1,1,2.5,1\n1,0,1,0,1,3,0\n2,0,1,1,0,3,0\n");
  const Dataset data = load_recipe("german");
  ASSERT_EQ(data.schema.features.size(), 4U);
  EXPECT_EQ(data.schema.features[0].name, "a");
  EXPECT_EQ(data.schema.features[1].name, "b_1");
  EXPECT_EQ(data.schema.features[2].kind, FeatureKind::binary);
  EXPECT_EQ(data.schema.features[3].kind, FeatureKind::numeric);
  EXPECT_EQ(data.schema.drop, (std::vector<std::string>{""}));
}

TEST_F(RecipeFolder, AFileOfAnotherTableIsRefused) {
  const std::string folder = folder_;
  put("wine.csv", "a,b\n1,2\n");
  EXPECT_EQ(
      recipe_error("wine"),
      folder + "/wine.csv: column \"quality\" is missing, expected the file of data set wine");
  put("banknote.csv", "a,class\nx,1\n");
  EXPECT_EQ(recipe_error("banknote"),
            folder + "/banknote.csv:2: column \"a\": found \"x\", expected a number");
  put("diabetes.csv", "a,Outcome\n1,1\n");
  EXPECT_EQ(
      recipe_error("diabetes"),
      folder + "/diabetes.csv: no row is of class \"0\"; is this the file of data set diabetes?");
}

}  // namespace
}  // namespace ellice
