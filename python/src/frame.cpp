#include "frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"

namespace ellice::python {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

template <class T>
class Numbers final : public Cells {
 public:
  Numbers(const void* data, std::ptrdiff_t stride, const std::uint8_t* valid, std::size_t offset)
      : data_(static_cast<const std::byte*>(data)),
        stride_(stride),
        valid_(valid),
        offset_(offset) {}

  [[nodiscard]] std::string_view text(std::size_t row, std::string& buffer) const override {
    if (!has(row)) return {};
    const T value = at(row);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return {};
      // What is infinite is no number of a file either, and refused by the reader with this text.
      buffer = std::isinf(value) ? (value > 0 ? "inf" : "-inf")
                                 : number_text(static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      return value ? "1" : "0";
    } else {
      buffer = fmt::to_string(value);
    }
    return buffer;
  }
  [[nodiscard]] bool is_boolean() const override { return std::is_same_v<T, bool>; }
  [[nodiscard]] bool has_numbers() const override { return !std::is_same_v<T, bool>; }
  [[nodiscard]] double number(std::size_t row) const override {
    return has(row) ? static_cast<double>(at(row)) : nothing;
  }

 private:
  [[nodiscard]] bool has(std::size_t row) const {
    return valid_ == nullptr || (valid_[(offset_ + row) / 8] >> ((offset_ + row) % 8) & 1) != 0;
  }
  [[nodiscard]] T at(std::size_t row) const {
    T value;
    std::memcpy(&value, data_ + static_cast<std::ptrdiff_t>(row) * stride_, sizeof(T));
    return value;
  }

  const std::byte* data_;
  std::ptrdiff_t stride_;
  const std::uint8_t* valid_;
  std::size_t offset_;
};

class Texts final : public Cells {
 public:
  explicit Texts(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  [[nodiscard]] std::string_view text(std::size_t row, std::string& /*buffer*/) const override {
    return texts_[row];
  }

 private:
  std::vector<std::string> texts_;
};

class Levels final : public Cells {
 public:
  Levels(std::unique_ptr<Cells> numbers, std::vector<std::string> levels)
      : numbers_(std::move(numbers)), levels_(std::move(levels)) {}
  [[nodiscard]] std::string_view text(std::size_t row, std::string& /*buffer*/) const override {
    const double number = numbers_->number(row);
    if (!(number >= 0)) return {};
    const auto level = static_cast<std::size_t>(number);
    require_input(level < levels_.size(), "a column of levels has number {}, but only {} levels",
                  level, levels_.size());
    return levels_[level];
  }

 private:
  std::unique_ptr<Cells> numbers_;
  std::vector<std::string> levels_;
};

template <class T>
std::unique_ptr<Cells> numbers(const void* data, std::ptrdiff_t stride, const std::uint8_t* valid,
                               std::size_t offset) {
  return std::make_unique<Numbers<T>>(data, stride, valid, offset);
}

/// How the levels of a feature, or the values of a target, spell true and false.
std::pair<std::string, std::string> spelling(const std::vector<std::string>& known) {
  const std::array<std::pair<const char*, const char*>, 4> ways = {
      {{"True", "False"}, {"true", "false"}, {"TRUE", "FALSE"}, {"1", "0"}}};
  for (const auto& [yes, no] : ways) {
    const bool is_way = std::any_of(known.begin(), known.end(), [&](const std::string& level) {
      return level == yes || level == no;
    });
    if (is_way) return {yes, no};
  }
  return {"True", "False"};
}

void add_line(Sha256& hash, const auto& cells) {
  std::string line;
  for (const auto& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  hash.update(line + "\n");
}

std::pair<std::string, std::string> spelling(const std::string& name, const Schema& schema) {
  if (name == schema.target.column)
    return spelling(schema.target.classes.empty() ? std::vector{schema.target.favourable}
                                                  : schema.target.classes);
  const std::optional<std::size_t> feature = schema.find(name);
  if (!feature || schema.features[*feature].is_number()) return {"1", "0"};
  return spelling(schema.features[*feature].levels);
}

}  // namespace

double Cells::number(std::size_t /*row*/) const {
  return nothing;
}

std::size_t Frame::rows() const {
  std::size_t rows = 0;
  for (const Batch& batch : batches) rows += batch.rows;
  return rows;
}

std::unique_ptr<Cells> text_cells(std::vector<std::string> texts) {
  return std::make_unique<Texts>(std::move(texts));
}

std::unique_ptr<Cells> level_cells(std::unique_ptr<Cells> numbers,
                                   std::vector<std::string> levels) {
  return std::make_unique<Levels>(std::move(numbers), std::move(levels));
}

std::unique_ptr<Cells> number_cells(std::string_view type, const void* data, std::ptrdiff_t stride,
                                    const std::uint8_t* valid, std::size_t offset) {
  if (type.size() != 1) return nullptr;
  switch (type.front()) {
    case 'g':
      return numbers<double>(data, stride, valid, offset);
    case 'f':
      return numbers<float>(data, stride, valid, offset);
    case 'c':
      return numbers<std::int8_t>(data, stride, valid, offset);
    case 'C':
      return numbers<std::uint8_t>(data, stride, valid, offset);
    case 's':
      return numbers<std::int16_t>(data, stride, valid, offset);
    case 'S':
      return numbers<std::uint16_t>(data, stride, valid, offset);
    case 'i':
      return numbers<std::int32_t>(data, stride, valid, offset);
    case 'I':
      return numbers<std::uint32_t>(data, stride, valid, offset);
    case 'l':
      return numbers<std::int64_t>(data, stride, valid, offset);
    case 'L':
      return numbers<std::uint64_t>(data, stride, valid, offset);
    case '?':
      return numbers<bool>(data, stride, valid, offset);
    default:
      return nullptr;
  }
}

FrameSource::FrameSource(const Frame& frame, const Schema& schema)
    : frame_(&frame),
      texts_(frame.names.size()),
      cells_(frame.names.size()),
      is_taken_(frame.names.size()),
      numbers_(frame.names.size()) {
  (void)find_row();  // shows what columns hold
  std::set<std::string_view> seen;
  for (std::size_t j = 0; j < frame.names.size(); ++j) {
    const std::string& name = frame.names[j];
    require_input(seen.insert(name).second, "{}: there are two columns \"{}\"", name_, name);
    booleans_.push_back(spelling(name, schema));
    if (batch_ == nullptr) continue;
    const std::string trouble = batch_->columns[j]->trouble();
    const bool is_used = schema.find(name).has_value() || name == schema.target.column;
    require_input(trouble.empty() || !is_used,
                  "{}: column \"{}\" is of type {}; expected numbers, booleans or texts", name_,
                  name, trouble);
  }
}

void FrameSource::hash_rows() {
  hash_.emplace();
  add_line(*hash_, header());
}

bool FrameSource::find_row() {
  while (!is_at_end_ && (batch_ == nullptr || within_ == batch_->rows)) {
    within_ = 0;
    if (next_batch_ < frame_->batches.size()) {
      batch_ = &frame_->batches[next_batch_++];
      continue;
    }
    if (frame_->rest) pulled_ = frame_->rest->next();
    is_at_end_ = !frame_->rest || !pulled_;
    batch_ = is_at_end_ ? nullptr : &*pulled_;
  }
  return !is_at_end_;
}

bool FrameSource::takes_numbers(std::size_t column) {
  is_taken_[column] = batch_ != nullptr && batch_->columns[column]->has_numbers();
  return is_taken_[column];
}

std::string_view FrameSource::text(std::size_t column) {
  const Cells& cells = *batch_->columns[column];
  const std::string_view text = cells.text(within_, texts_[column]);
  if (!cells.is_boolean() || text.empty()) return text;
  return text == "1" ? booleans_[column].first : booleans_[column].second;
}

bool FrameSource::next(std::span<const std::string_view>& cells) {
  if (!find_row()) return false;
  for (std::size_t j = 0; j < cells_.size(); ++j) {
    if (is_taken_[j]) numbers_[j] = batch_->columns[j]->number(within_);
    if (!is_taken_[j] || hash_) cells_[j] = text(j);
  }
  if (hash_) add_line(*hash_, cells_);
  ++within_;
  ++row_;
  cells = cells_;
  return true;
}

}  // namespace ellice::python
