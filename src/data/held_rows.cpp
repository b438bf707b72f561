#include "data/held_rows.hpp"

#include <fmt/format.h>

namespace ellice {

void HeldRows::take(CsvReader& file, std::size_t most) {
  text_.clear();
  ends_.clear();
  lines_.clear();
  refused_.clear();
  at_ = cell_ = 0;
  are_last_ = false;
  std::span<const std::string_view> cells;
  while (lines_.size() < most && !are_last_) {
    const std::size_t row = lines_.size();
    try {
      if (!file.next(cells)) {
        are_last_ = true;
        return;
      }
      for (const std::string_view cell : cells) {
        text_ += cell;
        ends_.push_back(text_.size());
      }
    } catch (const RowError&) {
      refused_.emplace(row, std::current_exception());
    } catch (...) {
      refused_.emplace(row, std::current_exception());
      are_last_ = true;
    }
    lines_.push_back(file.line());
  }
}

bool HeldRows::next(std::span<const std::string_view>& cells) {
  if (at_ == lines_.size()) return false;
  const std::size_t row = at_++;
  if (const auto found = refused_.find(row); found != refused_.end())
    std::rethrow_exception(found->second);
  cells_.clear();
  const std::size_t columns = header().size();
  for (std::size_t i = 0; i < columns; ++i, ++cell_) {
    const std::size_t begin = cell_ == 0 ? 0 : ends_[cell_ - 1];
    cells_.emplace_back(text_.data() + begin, ends_[cell_] - begin);
  }
  cells = cells_;
  return true;
}

std::string HeldRows::place() const {
  return fmt::format("{}:{}", name(), lines_[at_ - 1]);
}

}  // namespace ellice
