#include "ellice/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/number_text.hpp"
#include "core/progress.hpp"
#include "core/stop.hpp"
#include "data/feature_facts.hpp"
#include "data/folds.hpp"
#include "data/labeller.hpp"
#include "data/number_format.hpp"

namespace ellice {

namespace {

constexpr std::string_view finite_number =
    "a finite number (for a missing one leave the cell empty)";
/// In place of the level that is a number where several are, «01» and «1»: only who writes one of
/// them as it is written means it.
constexpr std::size_t shared_number = std::numeric_limits<std::size_t>::max();
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

std::string quoted(const std::vector<std::string>& texts) {
  return fmt::format("\"{}\"", fmt::join(texts, "\", \""));
}

/// Moves `share` of each class from `rows` to the result.
std::vector<Index> take_share(const Dataset& data, double share, std::string_view flag,
                              Random random, std::vector<Index>& rows) {
  std::vector<int> labels;
  for (const Index row : rows) labels.push_back(data.labels[static_cast<std::size_t>(row)]);
  for (std::size_t label = 0; label < data.classes.size(); ++label) {
    const auto count = std::count(labels.begin(), labels.end(), static_cast<int>(label));
    require_input(
        count >= 2,
        "{}: class \"{}\" has {} row{}, expected at least two to hold one out; leave out {}",
        data.source, data.classes[label], count, count == 1 ? "" : "s", flag);
  }
  const Fold fold = stratified_split(labels, share, random);
  const std::vector<Index> all = std::exchange(rows, {});
  for (const Index i : fold.train) rows.push_back(all[static_cast<std::size_t>(i)]);
  std::vector<Index> taken;
  for (const Index i : fold.test) taken.push_back(all[static_cast<std::size_t>(i)]);
  return taken;
}

}  // namespace

RowParser::RowParser(const Schema& schema, RowSource& source, Columns columns,
                     const std::string& weights)
    : schema_(&schema),
      source_(&source),
      weights_name_(weights),
      is_plain_(source.format().spells_plain_numbers()) {
  for (const std::string& text : schema.missing_values) {
    missing_texts_.insert(text);
    double number = 0;
    if (parse_number(text, number)) missing_numbers_.push_back(number);
  }
  const std::vector<std::string>& header = source.header();
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < header.size(); ++i) place.emplace(header[i], i);
  const auto take = [&](const std::string& name) {
    const auto found = place.find(name);
    if (found == place.end())  // what was meant takes long to find, and is not looked for before
      fail(ErrorCode::input, "{}: column \"{}\" is missing; {}", source.name(), name,
           suggestion(name, header));
    const std::size_t index = found->second;
    place.erase(found);
    return index;
  };
  if (!weights.empty()) {
    for (const Feature& feature : schema.features) {
      require_input(feature.name != weights &&
                        std::find(feature.one_hot.begin(), feature.one_hot.end(), weights) ==
                            feature.one_hot.end(),
                    "{}: column \"{}\" cannot have the weights of the rows: it is the feature "
                    "\"{}\" of the schema; take it out of features",
                    source.name(), weights, feature.name);
    }
    require_input(weights != schema.target.column,
                  "{}: column \"{}\" cannot have the weights of the rows: it is the target",
                  source.name(), weights);
    weights_.cells.push_back(take(weights));
  }
  for (const Feature& feature : schema.features) {
    Column column;
    column.feature = columns_.size();
    if (feature.one_hot.empty()) {
      column.cells.push_back(take(feature.name));
      column.is_taken = feature.is_number() && source.takes_numbers(column.cells.front());
    } else {
      for (const std::string& name : feature.one_hot) column.cells.push_back(take(name));
    }
    for (std::size_t level = 0; level < feature.levels.size(); ++level) {
      column.levels.emplace(feature.levels[level], level);
      double number = 0;
      if (parse_number(feature.levels[level], number)) {
        const auto [same, is_new] = column.numbers.emplace(number, level);
        if (!is_new) same->second = shared_number;
      }
      if (schema.merge_levels && feature.one_hot.empty()) {
        column.folded.emplace(folded_level(feature.levels[level]), level);
      }
    }
    const auto symbols = source.format().symbols.find(feature.name);
    if (symbols != source.format().symbols.end()) column.symbols = &symbols->second;
    columns_.push_back(std::move(column));
  }
  if (columns == Columns::labelled) {
    target_ = take(schema.target.column);
  } else {
    place.erase(schema.target.column);
  }
  for (const std::string& name : schema.drop) place.erase(name);
  for (std::size_t i = 0; i < header.size() && !place.empty(); ++i) {
    require_input(
        !place.contains(header[i]),
        "{}: column {} (\"{}\") is not in the schema; describe it under features, add \"{}\" to "
        "drop, or leave the column out (`explain` takes a column with names as --id)",
        source.name(), i + 1, header[i], header[i]);
  }
}

void RowParser::parse(std::span<const std::string_view> cells, std::span<double> raw) const {
  for (const Column& column : columns_) {
    raw[column.feature] = parse_cell(schema_->features[column.feature], column, cells);
  }
}

std::string_view RowParser::target(std::span<const std::string_view> cells) const {
  const std::string_view cell = cells[target_];
  return is_missing(cell) ? std::string_view() : cell;
}

double RowParser::weight(std::span<const std::string_view> cells) const {
  if (weights_.cells.empty()) return 1;
  const std::string_view cell = cells[weights_.cells.front()];
  double value = 0;
  if (!read_number(weights_, cell, value) || !(value > 0) || !std::isfinite(value)) {
    wrong_cell(*source_, weights_name_, cell,
               "a finite number > 0, the weight of the row; leave rows out that weigh nothing");
  }
  return value;
}

bool RowParser::is_missing(std::string_view cell) const {
  if (is_empty_cell(cell)) return true;
  return !missing_texts_.empty() && missing_texts_.contains(without_outer_blanks(cell));
}

bool RowParser::read_number(const Column& column, std::string_view cell, double& value) const {
  if (is_plain_) return parse_number(cell, value);
  static const std::vector<std::string> none;
  return parse_formatted_number(cell, source_->format(),
                                column.symbols == nullptr ? none : *column.symbols, value);
}

double RowParser::parse_cell(const Feature& feature, const Column& column,
                             std::span<const std::string_view> cells) const {
  if (!feature.one_hot.empty()) return parse_group(feature, column, cells);
  if (column.is_taken)
    return take_number(feature, column, source_->numbers()[column.cells.front()]);
  const std::string_view cell = cells[column.cells.front()];
  return feature.is_number() ? parse_number_cell(feature, column, cell)
                             : parse_level(feature, column, cell);
}

double RowParser::parse_number_cell(const Feature& feature, const Column& column,
                                    std::string_view cell) const {
  double value = 0;
  // Asked here, too: a plain table has nothing else that takes time.
  if (!(is_plain_ ? parse_number(cell, value) : read_number(column, cell, value))) {
    if (is_missing(cell)) return parse_empty(feature, column, feature.name, cell);
    wrong_cell(*source_, feature.name, cell,
               is_plain_ ? finite_number
                         : "a finite number, spelled as the schema's format says (for a missing "
                           "one leave the cell empty)");
  }
  return checked(feature, column, value, cell);
}

double RowParser::take_number(const Feature& feature, const Column& column, double value) const {
  if (std::isnan(value)) return parse_empty(feature, column, feature.name, {});
  if (std::isinf(value)) {  // is no number of a file either
    const std::string_view text = value > 0 ? "inf" : "-inf";
    if (is_missing(text)) return parse_empty(feature, column, feature.name, text);
    wrong_cell(*source_, feature.name, text, finite_number);
  }
  const bool is_fine = missing_numbers_.empty() && feature.may_be(value);
  return is_fine ? value : checked(feature, column, value, number_text(value));
}

double RowParser::checked(const Feature& feature, const Column& column, double value,
                          std::string_view cell) const {
  if (!missing_numbers_.empty() && std::find(missing_numbers_.begin(), missing_numbers_.end(),
                                             value) != missing_numbers_.end()) {
    return parse_empty(feature, column, feature.name, cell);
  }
  if (!feature.may_be(value)) {
    wrong_cell(*source_, feature.name, cell,
               feature.expected_in_place_of(value) +
                   (feature.is_binned() ? "" : "; or make the feature numeric"));
  }
  return value;
}

double RowParser::parse_level(const Feature& feature, const Column& column,
                              std::string_view cell) const {
  if (const auto found = column.levels.find(cell); found != column.levels.end()) {
    return static_cast<double>(found->second);
  }
  if (is_missing(cell)) return parse_empty(feature, column, feature.name, cell);
  double number = 0;
  if (!column.numbers.empty() && read_number(column, cell, number)) {
    const auto found = column.numbers.find(number);
    if (found != column.numbers.end()) {
      if (found->second != shared_number) return static_cast<double>(found->second);
      wrong_cell(
          *source_, feature.name, cell,
          fmt::format("a level as it is written, since several are this number; there are: {}",
                      fmt::join(feature.levels, ", ")));
    }
  }
  if (!column.folded.empty()) {
    const auto found = column.folded.find(folded_level(cell));
    if (found != column.folded.end()) return static_cast<double>(found->second);
  }
  wrong_cell(*source_, feature.name, cell, "a level; " + suggestion(cell, feature.levels));
}

double RowParser::parse_group(const Feature& feature, const Column& column,
                              std::span<const std::string_view> cells) const {
  std::size_t set = column.cells.size();
  for (std::size_t level = 0; level < column.cells.size(); ++level) {
    const std::string_view cell = cells[column.cells[level]];
    const std::string& name = feature.one_hot[level];
    if (is_missing(cell)) return parse_empty(feature, column, name, cell);
    double value = 0;
    if (!read_number(column, cell, value) || (value != 0 && value != 1)) {
      wrong_cell(*source_, name, cell, "0 or 1, as a column of a one_hot group");
    }
    if (value == 0) continue;
    require_input(set == column.cells.size(),
                  "{}: group \"{}\": found 1 in both \"{}\" and \"{}\", expected it in one column",
                  source_->place(), feature.name, feature.one_hot[std::min(set, level)], name);
    set = level;
  }
  require_input(set < column.cells.size(),
                "{}: group \"{}\": found 1 in none of its columns, expected it in one of {}",
                source_->place(), feature.name, quoted(feature.one_hot));
  return static_cast<double>(set);
}

double RowParser::parse_empty(const Feature& feature, const Column& column, std::string_view name,
                              std::string_view cell) const {
  switch (schema_->missing) {
    case MissingPolicy::median:
      return missing;
    case MissingPolicy::level:
      if (feature.kind != FeatureKind::categorical || !feature.one_hot.empty()) {
        wrong_cell(*source_, name, cell,
                   "a value: \"missing: level\" serves categorical features only; use \"missing: "
                   "median\" in the schema");
      }
      if (const auto found = column.levels.find(missing_level); found != column.levels.end()) {
        return static_cast<double>(found->second);
      }
      return missing;
    case MissingPolicy::error:
      break;
  }
  wrong_cell(
      *source_, name, cell,
      "a value; to accept empty cells set \"missing: median\" or \"missing: level\" in the schema");
}

namespace {

double lower_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double most_frequent(const std::vector<double>& indices, std::size_t levels) {
  std::vector<std::size_t> count(levels);
  for (const double index : indices) ++count[static_cast<std::size_t>(index)];
  return static_cast<double>(std::max_element(count.begin(), count.end()) - count.begin());
}

/// Fills empty cells of every feature and records the value even where nothing was missing, because
/// a query may have an empty cell there.
void fill_with_median(Dataset& data) {
  std::vector<double> present;
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    const Feature& feature = data.schema.features[j];
    auto column = data.raw.col(static_cast<Index>(j));
    present.clear();
    for (const double value : column) {
      const bool is_code = feature.is_binned() && feature.bins.code(value) != nullptr;
      if (!std::isnan(value) && !is_code) present.push_back(value);
    }
    require_input(!present.empty(), "{}: column \"{}\": all cells are empty; add it to drop",
                  data.source, feature.name);
    const double fill =
        has_order(feature) ? lower_median(present) : most_frequent(present, feature.levels.size());
    for (double& value : column) {
      if (std::isnan(value)) value = fill;
    }
    if (feature.is_number()) {
      data.fill.emplace(feature.name, fill);
    } else {
      data.fill.emplace(feature.name, feature.levels[static_cast<std::size_t>(fill)]);
    }
  }
}

void fill_with_level(Dataset& data) {
  for (std::size_t j = 0; j < data.schema.features.size(); ++j) {
    Feature& feature = data.schema.features[j];
    auto column = data.raw.col(static_cast<Index>(j));
    if (!column.hasNaN()) continue;
    feature.levels.emplace_back(missing_level);
    const auto level = static_cast<double>(feature.levels.size() - 1);
    for (double& value : column) {
      if (std::isnan(value)) value = level;
    }
  }
}

}  // namespace

Dataset read_dataset(RowSource& source, const Schema& schema, const Progress& progress,
                     ClassValues values, const std::string& weights) {
  const RowParser parser(schema, source, RowParser::Columns::labelled, weights);
  Labeller labeller(source, schema.target, values);
  Dataset data;
  data.schema = schema;
  data.source = source.name();
  std::vector<std::string>& drop = data.schema.drop;
  const bool has_weights = !weights.empty();
  if (has_weights && std::find(drop.begin(), drop.end(), weights) == drop.end())
    drop.push_back(weights);
  std::vector<double> row_weights;
  const auto features = static_cast<Index>(schema.features.size());
  Index rows = 0;
  std::span<const std::string_view> cells;
  while (source.next(cells)) {
    check_stop();
    // Row-major storage grows in place and geometrically: no second copy of a large table.
    if (rows == data.raw.rows()) {
      data.raw.conservativeResize(std::max<Index>(64, 2 * rows), features);
    }
    parser.parse(cells, {data.raw.row(rows).data(), static_cast<std::size_t>(features)});
    data.labels.push_back(labeller.label(parser.target(cells)));
    if (has_weights) row_weights.push_back(parser.weight(cells));
    ++rows;
    constexpr Index rows_per_report = 4096;
    if (rows % rows_per_report == 0) {
      report_progress(progress, {.stage = "reading", .done = static_cast<std::size_t>(rows)});
    }
  }
  require_input(rows > 0, "{}: found a header but no rows, expected at least two", source.name());
  data.raw.conservativeResize(rows, features);
  if (has_weights) data.weights = Eigen::Map<const Vector>(row_weights.data(), rows);
  labeller.finish(data);
  if (schema.missing == MissingPolicy::median) fill_with_median(data);
  if (schema.missing == MissingPolicy::level) fill_with_level(data);
  return data;
}

Dataset read_dataset(CsvReader& source, const Schema& schema, const Progress& progress,
                     ClassValues values, const std::string& weights) {
  const Progress in_bytes = [&](const ProgressState& state) {
    return progress(
        {.stage = state.stage, .done = source.bytes_read(), .total = source.bytes_total()});
  };
  Dataset data = read_dataset(static_cast<RowSource&>(source), schema,
                              progress ? in_bytes : Progress(), values, weights);
  data.sha256 = source.sha256();
  return data;
}

Dataset select_rows(const Dataset& data, const std::vector<Index>& rows) {
  Dataset result;
  result.schema = data.schema;
  result.classes = data.classes;
  result.fill = data.fill;
  result.dropped = data.dropped;
  result.source = data.source;
  result.sha256 = data.sha256;
  result.raw.resize(static_cast<Index>(rows.size()), data.raw.cols());
  result.labels.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(rows[i] >= 0 && rows[i] < data.rows(), "row {} must be >= 0 and < {}", rows[i],
            data.rows());
    result.raw.row(static_cast<Index>(i)) = data.raw.row(rows[i]);
    result.labels.push_back(data.labels[static_cast<std::size_t>(rows[i])]);
  }
  if (data.weights.size() > 0) result.weights = data.weights(rows);
  return result;
}

SelectedRows apply_selection(const Dataset& data, const Selection& selection) {
  validate(selection, "Selection");
  enum Stream : std::uint64_t { balancing, holding_out, validating };  // children of the seed
  const Random random(selection.seed);
  SelectedRows result;
  if (selection.balance) {
    result.fit = balanced_rows(data.labels, random.split(balancing));
  } else {
    for (Index i = 0; i < data.rows(); ++i) result.fit.push_back(i);
  }
  result.dropped_by_balancing = data.labels.size() - result.fit.size();
  if (selection.holdout > 0) {
    result.holdout =
        take_share(data, selection.holdout, "`holdout`", random.split(holding_out), result.fit);
  }
  if (const double share = selection.validation.value_or(0); share > 0) {
    result.validation = take_share(data, share, "`validation` or set it to 0",
                                   random.split(validating), result.fit);
  }
  return result;
}

}  // namespace ellice
