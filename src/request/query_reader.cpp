#include "request/query_reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/number_text.hpp"
#include "core/stop.hpp"
#include "data/number_format.hpp"
#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/dataset.hpp"
#include "request/farthest.hpp"

namespace ellice {

namespace {

// Of cells of which the same is to be said.
constexpr std::size_t most_named = 3;
constexpr std::size_t most_doubts = 1;

// Outside the training rows by more than so much of their range a number is far away.
constexpr double far_share = 0.5;

bool is_whole_number(double value) {
  return value == std::nearbyint(value);
}

bool is_known(const Schema& schema, const std::string& column) {
  if (column == schema.target.column || schema.find(column)) return true;
  if (std::find(schema.drop.begin(), schema.drop.end(), column) != schema.drop.end()) return true;
  return std::any_of(schema.features.begin(), schema.features.end(), [&](const Feature& feature) {
    return std::find(feature.one_hot.begin(), feature.one_hot.end(), column) !=
           feature.one_hot.end();
  });
}

}  // namespace

/// The table without its identifier, unless the schema knows that column anyway.
class QueryReader::WithoutId final : public RowSource {
 public:
  WithoutId(RowSource& source, const std::optional<std::string>& id_column, const Schema& schema)
      : source_(&source), header_(source.header()) {
    if (!id_column) return;
    const auto found = std::find(header_.begin(), header_.end(), *id_column);
    require_input(found != header_.end(),
                  "{}: there is no column \"{}\" to take the identifier from; {}", source.name(),
                  *id_column, suggestion(*id_column, header_));
    id_cell_ = static_cast<std::size_t>(found - header_.begin());
    hidden_ = !is_known(schema, *id_column);
    if (hidden_) header_.erase(found);
  }

  [[nodiscard]] const std::string& name() const override { return source_->name(); }
  [[nodiscard]] const std::vector<std::string>& header() const override { return header_; }
  [[nodiscard]] std::string place() const override { return source_->place(); }
  [[nodiscard]] const CsvFormat& format() const override { return source_->format(); }
  bool next(std::span<const std::string_view>& cells) override {
    std::span<const std::string_view> all;
    if (!source_->next(all)) return false;
    if (id_cell_) id_ = all[*id_cell_];
    cells = hidden_ ? without_id(all, cells_) : all;
    const std::span<const double> numbers = source_->numbers();
    numbers_ = hidden_ && !numbers.empty() ? without_id(numbers, own_numbers_) : numbers;
    return true;
  }
  [[nodiscard]] bool takes_numbers(std::size_t column) override {
    const std::size_t place = hidden_ && column >= *id_cell_ ? column + 1 : column;
    return place != id_cell_ && source_->takes_numbers(place);
  }
  [[nodiscard]] std::span<const double> numbers() const override { return numbers_; }
  [[nodiscard]] std::optional<std::string> id() const {
    return id_cell_ ? std::optional<std::string>(id_) : std::nullopt;
  }

 private:
  template <class T>
  std::span<const T> without_id(std::span<const T> all, std::vector<T>& rest) const {
    rest.assign(all.begin(), all.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*id_cell_));
    return rest;
  }

  RowSource* source_;
  std::vector<std::string> header_;
  std::optional<std::size_t> id_cell_;
  bool hidden_ = false;
  std::string_view id_;
  std::vector<std::string_view> cells_;
  std::span<const double> numbers_;
  std::vector<double> own_numbers_;  // without the place of the identifier
};

std::string CellRemarks::Kind::named() const {
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return count > first.size()
             ? fmt::format("{} (and {} more such cells)", text, count - first.size())
             : text;
}

void CellRemarks::add(const CellRemarks& later) {
  const auto join = [](Kind& kind, const Kind& more, std::size_t most) {
    kind.count += more.count;
    for (const std::string& what : more.first)
      if (kind.first.size() < most) kind.first.push_back(what);
  };
  join(doubts, later.doubts, most_doubts);
  join(filled, later.filled, most_named);
  join(far, later.far, most_named);
}

std::vector<std::string> CellRemarks::texts() const {
  std::vector<std::string> result;
  if (doubts.count > 0) result.push_back(doubts.named());
  if (filled.count > 0) {
    result.push_back(fmt::format(
        "empty cells are read as the median or the most frequent level of the training rows, which "
        "need not be the person's: {}; complete these rows for answers that are theirs",
        filled.named()));
  }
  if (far.count > 0) {
    result.push_back(
        fmt::format("numbers far outside the training rows, where nothing supports what the model "
                    "says: {}; look whether they are right",
                    far.named()));
  }
  return result;
}

QueryReader::QueryReader(const Model& model, RowSource& source,
                         std::optional<std::string> id_column, OnError on_error)
    : model_(&model),
      source_(std::make_unique<WithoutId>(source, id_column, model.schema())),
      parser_(std::make_unique<RowParser>(model.schema(), *source_, RowParser::Columns::exact)),
      on_error_(on_error),
      format_(&source_->format()) {
  const std::vector<std::string>& header = source_->header();
  for (const Feature& feature : model.schema().features) {
    const auto found = std::find(header.begin(), header.end(), feature.name);
    cells_.push_back(static_cast<std::size_t>(found - header.begin()));
  }
}

QueryReader::~QueryReader() = default;

void QueryReader::require_near(std::size_t j, double value) const {
  const Encoder& encoder = model_->encoder;
  if (!model_->schema().features[j].is_number()) return;
  const ColumnStatistics known = encoder.statistics(j);
  require_input(std::abs((value - known.mean) / known.scale) <= farthest,
                "{}: {} is {}, too far from the training rows ({} to {}) to compute with; look "
                "whether it is in their unit",
                source_->place(), model_->schema().features[j].name, value, known.min, known.max);
}

std::span<const std::string> QueryReader::symbols_of(const Feature& feature) const {
  const auto symbols = format_->symbols.find(feature.name);
  if (symbols == format_->symbols.end()) return {};
  return symbols->second;
}

bool QueryReader::is_usual(std::size_t j, double value) const {
  const ColumnStatistics known = model_->encoder.statistics(j);
  const Feature& feature = model_->schema().features[j];
  return (value >= known.min && value <= known.max) ||
         (feature.is_binned() && feature.bins.code(value) != nullptr);
}

void QueryReader::question_decimals(std::size_t j, std::string_view cell, double value) const {
  const Feature& feature = model_->schema().features[j];
  const CsvFormat& format = *format_;
  const std::optional<double> other = read_as_decimals(cell, format, symbols_of(feature));
  if (!other) return;
  // No group of three digits follows a zero alone.
  const bool is_group = std::abs(*other) >= 1 && (is_usual(j, value) || !is_usual(j, *other));
  const ColumnStatistics known = model_->encoder.statistics(j);
  require_input(is_group,
                "{}: column \"{}\": \"{}\" could be {} or {}, and the training rows have {} to "
                "{}; write it without the \"{}\", or with \"{}\" before its decimals",
                source_->place(), feature.name, cell, number_text(value), number_text(*other),
                number_text(known.min), number_text(known.max), format.thousands, format.decimal);
}

void QueryReader::question_groups(std::size_t j, std::string_view cell, double value) {
  const Feature& feature = model_->schema().features[j];
  const CsvFormat& format = *format_;
  if (cell.find(format.decimal) == std::string_view::npos) return;
  const std::optional<double> other = read_as_groups(cell, format, symbols_of(feature));
  if (!other) return;
  if (is_usual(j, value) && !is_usual(j, *other)) return;
  const bool is_whole = feature.is_whole() || (feature.step && is_whole_number(*feature.step) &&
                                               is_whole_number(feature.min.value_or(0)));
  const std::string place =
      fmt::format("{}: column \"{}\": \"{}\"", source_->place(), feature.name, cell);
  const ColumnStatistics known = model_->encoder.statistics(j);
  require_input(!is_whole && (is_usual(j, value) || !is_usual(j, *other)),
                "{} could be {} or {}, and the training rows have {} to {}{}; write it without the "
                "\"{}\"",
                place, number_text(value), number_text(*other), number_text(known.min),
                number_text(known.max), is_whole ? ", whole numbers" : "", format.decimal);
  if (remarks_.doubts.count++ >= most_doubts) return;
  remarks_.doubts.first.push_back(
      fmt::format("{} is read as {}, not as {}", place, number_text(value), number_text(*other)));
}

double QueryReader::fill_of(std::size_t j) const {
  const Feature& feature = model_->schema().features[j];
  const auto fill = model_->encoder.fill().find(feature.name);
  require_input(fill != model_->encoder.fill().end(), "{}: {} is empty", source_->place(),
                feature.name);
  return feature.is_number()
             ? std::get<double>(fill->second)
             : static_cast<double>(*feature.level_index(std::get<std::string>(fill->second)));
}

void QueryReader::note_filled(const Query& query) {
  for (const std::size_t j : query.filled) {
    if (remarks_.filled.count++ >= most_named) continue;
    const Feature& feature = model_->schema().features[j];
    const double value = query.raw(static_cast<Index>(j));
    remarks_.filled.first.push_back(
        fmt::format("{}: column \"{}\" as {}", source_->place(), feature.name,
                    feature.is_number() ? number_text(value)
                                        : feature.levels[static_cast<std::size_t>(value)]));
  }
}

void QueryReader::note_far(const Query& query) {
  const Encoder& encoder = model_->encoder;
  for (std::size_t j = 0; j < model_->schema().features.size(); ++j) {
    const Feature& feature = model_->schema().features[j];
    const double value = query.raw(static_cast<Index>(j));
    if (!feature.is_number() || is_usual(j, value)) continue;
    const double least = encoder.statistics(j).min;
    const double most = encoder.statistics(j).max;
    const double room = far_share * (most - least);
    const bool has_new_sign = value < 0 && least >= 0;  // as no age and no income has
    if (value >= least - room && value <= most + room && !has_new_sign) continue;
    if (remarks_.far.count++ >= most_named) continue;
    remarks_.far.first.push_back(fmt::format("{}: column \"{}\" is {} (training rows: {} to {})",
                                             source_->place(), feature.name, number_text(value),
                                             number_text(least), number_text(most)));
  }
}

QueryBlock QueryReader::next(std::size_t most) {
  QueryBlock block;
  const std::vector<Feature>& features = model_->schema().features;
  const auto refuse = [&](std::size_t index, std::optional<std::string> id, const Error& error) {
    block.invalid.push_back({.query_index = index,
                             .status = Status::invalid,
                             .id = std::move(id),
                             .message = error.what()});
  };
  std::span<const std::string_view> cells;
  while (block.size() < most) {
    check_stop();
    try {
      if (!source_->next(cells)) break;
    } catch (const RowError& error) {
      if (on_error_ == OnError::stop) throw;
      refuse(next_index_++, std::nullopt, error);  // which cell is the identifier nobody knows
      continue;
    }
    Query query{.index = next_index_++,
                .raw = Vector(static_cast<Index>(features.size())),
                .id = source_->id()};
    try {
      parser_->parse(cells, {query.raw.data(), features.size()});
      for (std::size_t j = 0; j < features.size(); ++j) {
        double& value = query.raw(static_cast<Index>(j));
        if (!std::isnan(value)) {
          if (features[j].is_number()) question_decimals(j, cells[cells_[j]], value);
          require_near(j, value);
          if (features[j].is_number()) question_groups(j, cells[cells_[j]], value);
          continue;
        }
        value = fill_of(j);
        query.filled.push_back(j);
      }
      note_filled(query);
      note_far(query);
      block.queries.push_back(std::move(query));
    } catch (const Error& error) {
      if (on_error_ == OnError::stop) throw;
      refuse(query.index, query.id, error);
    }
  }
  require_input(next_index_ > 0, "{}: there are no rows below the header", source_->name());
  block.remarks = std::exchange(remarks_, {});
  return block;
}

QueryBlock QueryReader::next(std::size_t most, std::size_t first_index) {
  next_index_ = first_index;
  return next(most);
}

std::optional<std::string> identifier_column(const RowSource& source, const Schema& schema) {
  std::optional<std::string> only;
  for (const std::string& column : source.header()) {
    if (is_known(schema, column)) continue;
    if (only) return std::nullopt;
    only = column;
  }
  return only;
}

std::vector<Query> read_queries(const std::string& path, const Model& model,
                                const std::optional<std::string>& id_column) {
  CsvReader source = open_rows(path, model.schema().format);
  return QueryReader(model, source, id_column, OnError::stop)
      .next(std::numeric_limits<std::size_t>::max())
      .queries;
}

}  // namespace ellice
