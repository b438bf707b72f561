#include "frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"

namespace ellice::python {

namespace {

template <class T>
class Numbers final : public Cells {
 public:
  Numbers(const void* data, std::ptrdiff_t stride, const std::uint8_t* valid, std::size_t offset)
      : data_(static_cast<const std::byte*>(data)),
        stride_(stride),
        valid_(valid),
        offset_(offset) {}

  [[nodiscard]] std::string_view text(std::size_t row, std::string& buffer) const override {
    if (valid_ != nullptr && (valid_[(offset_ + row) / 8] >> ((offset_ + row) % 8) & 1) == 0)
      return {};
    T value;
    std::memcpy(&value, data_ + static_cast<std::ptrdiff_t>(row) * stride_, sizeof(T));
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
  [[nodiscard]] bool is_number() const override { return std::is_floating_point_v<T>; }

 private:
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
  [[nodiscard]] std::string_view text(std::size_t row, std::string& buffer) const override {
    const std::string_view number = numbers_->text(row, buffer);
    if (number.empty() || number.front() == '-') return {};
    const std::size_t level = std::stoul(std::string(number));
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
    : frame_(&frame), texts_(frame.names.size()), cells_(frame.names.size()) {
  std::set<std::string_view> seen;
  for (std::size_t j = 0; j < frame.names.size(); ++j) {
    const std::string& name = frame.names[j];
    require_input(seen.insert(name).second, "{}: there are two columns \"{}\"", name_, name);
    booleans_.push_back(spelling(name, schema));
    const std::optional<std::size_t> feature = schema.find(name);
    are_numbers_.push_back(feature && schema.features[*feature].is_number());
    if (frame.batches.empty()) continue;
    const std::string trouble = frame.batches.front().columns[j]->trouble();
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

bool FrameSource::next(std::span<const std::string_view>& cells) {
  while (batch_ < frame_->batches.size() && within_ == frame_->batches[batch_].rows) {
    ++batch_;
    within_ = 0;
  }
  if (batch_ == frame_->batches.size()) return false;
  const Batch& batch = frame_->batches[batch_];
  for (std::size_t j = 0; j < cells_.size(); ++j) {
    const Cells& column = *batch.columns[j];
    cells_[j] = column.text(within_, texts_[j]);
    if (column.is_boolean() && !cells_[j].empty())
      cells_[j] = cells_[j] == "1" ? booleans_[j].first : booleans_[j].second;
  }
  ++within_;
  ++row_;
  if (hash_) add_line(*hash_, cells_);
  // A reader of files asks whether "1.234" is meant to be 1234; here it is a number already.
  for (std::size_t j = 0; j < cells_.size(); ++j) {
    const bool has_group = cells_[j].size() > 4 && cells_[j][cells_[j].size() - 4] == '.';
    if (has_group && are_numbers_[j] && batch.columns[j]->is_number())
      cells_[j] = texts_[j].append("0");
  }
  cells = cells_;
  return true;
}

}  // namespace ellice::python
