#include "data/labeller.hpp"

#include <algorithm>
#include <numeric>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr std::size_t most_spellings = 8;  // that are worth remembering for a message

/// The same text, or the same number in another spelling.
bool is_same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  double number_a = 0;
  double number_b = 0;
  return parse_number(a, number_a) && parse_number(b, number_b) && number_a == number_b;
}

/// "Yes " and "yes": two texts, but hardly two classes.
bool differs_in_case_or_blanks(std::string_view a, std::string_view b) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const auto core = [&](std::string_view text) {
    std::string result;
    for (const char c : text) {
      if (!is_blank(c)) result += lower(c);
    }
    return result;
  };
  return a != b && core(a) == core(b);
}

/// By number if all are numbers, else by text: where each one goes.
std::vector<int> places_in_order(const std::vector<std::string>& classes) {
  std::vector<double> numbers(classes.size());
  bool all_numbers = true;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    all_numbers = all_numbers && parse_number(classes[k], numbers[k]);
  }
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return all_numbers ? numbers[a] < numbers[b] : classes[a] < classes[b];
  });
  std::vector<int> places(classes.size());
  for (std::size_t k = 0; k < order.size(); ++k) places[order[k]] = static_cast<int>(k);
  return places;
}

}  // namespace

bool is_empty_cell(std::string_view cell) {
  return cell.find_first_not_of(" \t") == std::string_view::npos;
}

void wrong_cell(const RowSource& source, std::string_view column, std::string_view found,
                std::string_view expected) {
  fail(ErrorCode::input, "{}: column \"{}\": found {}, expected {}", source.place(), column,
       is_empty_cell(found) ? "an empty cell" : fmt::format("\"{}\"", shortened(found, 60)),
       expected);
}

Labeller::Labeller(const RowSource& source, const Target& target, ClassValues values)
    : source_(&source),
      target_(&target),
      has_two_(values == ClassValues::of_schema && target.classes.empty()),
      classes_(target.classes) {
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    spellings_.emplace(classes_[k], static_cast<int>(k));
  }
}

int Labeller::label(std::string_view cell) {
  return has_two_ ? label_two(cell) : label_many(cell);
}

int Labeller::note_favourable() {
  has_favourable_ = true;
  return 1;
}

int Labeller::label_two(std::string_view cell) {
  if (cell == target_->favourable) return note_favourable();
  // Most rows repeat one of the first few spellings.
  if (std::find(others_.begin(), others_.end(), cell) != others_.end()) return 0;
  if (is_empty_cell(cell)) {
    wrong_cell(*source_, target_->column, cell, "a label: the target must not be missing");
  }
  if (is_same_value(cell, target_->favourable)) return note_favourable();
  if (differs_in_case_or_blanks(cell, target_->favourable)) {
    wrong_cell(*source_, target_->column, cell,
               fmt::format("another label, or \"{}\" as the schema spells the favourable one; as "
                           "it stands the row would count as the other class",
                           target_->favourable));
  }
  const auto is_same = [&](const std::string& other) { return is_same_value(cell, other); };
  if (others_.size() < most_spellings && std::none_of(others_.begin(), others_.end(), is_same)) {
    others_.emplace_back(cell);
  }
  return 0;
}

int Labeller::label_many(std::string_view cell) {
  const auto known = spellings_.find(std::string(cell));
  if (known != spellings_.end()) return known->second;
  if (is_empty_cell(cell)) {
    wrong_cell(*source_, target_->column, cell, "a label: the target must not be missing");
  }
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    if (is_same_value(cell, classes_[k])) {
      spellings_.emplace(cell, static_cast<int>(k));
      return static_cast<int>(k);
    }
    if (differs_in_case_or_blanks(cell, classes_[k])) {
      wrong_cell(*source_, target_->column, cell,
                 fmt::format("one spelling of a class: elsewhere it is \"{}\"", classes_[k]));
    }
  }
  if (!target_->classes.empty()) {
    wrong_cell(*source_, target_->column, cell,
               "one of target.classes in the schema; " + suggestion(cell, classes_));
  }
  if (classes_.size() == most_classes) {
    wrong_cell(*source_, target_->column, cell,
               fmt::format("at most {} classes; a target with more values is a number: sort it "
                           "into classes first",
                           most_classes));
  }
  classes_.emplace_back(cell);
  const int label = static_cast<int>(classes_.size()) - 1;
  spellings_.emplace(cell, label);
  return label;
}

/// The spelling of class 0 and class 1; throws unless both occurred.
std::vector<std::string> Labeller::two_classes() const {
  require_input(
      has_favourable_,
      "{}: column \"{}\": the favourable value \"{}\" does not occur; found \"{}\"{}; set "
      "target.favourable in the schema to one of them",
      source_->name(), target_->column, target_->favourable, fmt::join(others_, "\", \""),
      others_.size() == most_spellings ? ", …" : "");
  require_input(
      !others_.empty(),
      "{}: column \"{}\": found only one class, \"{}\"; a model needs rows of both classes",
      source_->name(), target_->column, target_->favourable);
  return {others_.size() == 1 ? others_.front() : "not " + target_->favourable,
          target_->favourable};
}

void Labeller::check_many(const Dataset& data) const {
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    const bool occurs =
        std::find(data.labels.begin(), data.labels.end(), static_cast<int>(k)) != data.labels.end();
    require_input(occurs,
                  "{}: column \"{}\": no row is of class \"{}\", which target.classes in the "
                  "schema lists; remove it there",
                  source_->name(), target_->column, classes_[k]);
  }
  require_input(classes_.size() >= 2,
                "{}: column \"{}\": found only one class, \"{}\"; a model needs at least two",
                source_->name(), target_->column, classes_.front());
  const bool has_favourable = std::any_of(
      classes_.begin(), classes_.end(),
      [&](const std::string& name) { return is_same_value(name, target_->favourable); });
  require_input(has_favourable, "{}: column \"{}\": the favourable value \"{}\" does not occur; {}",
                source_->name(), target_->column, target_->favourable,
                suggestion(target_->favourable, classes_));
}

void Labeller::finish(Dataset& data) const {
  if (has_two_) {
    data.classes = two_classes();
    return;
  }
  check_many(data);
  data.classes = classes_;
  if (target_->classes.empty()) {
    const std::vector<int> places = places_in_order(classes_);
    for (int& label : data.labels) label = places[static_cast<std::size_t>(label)];
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      // One spelling of the favourable class everywhere: the schema's.
      data.classes[static_cast<std::size_t>(places[k])] =
          is_same_value(classes_[k], target_->favourable) ? target_->favourable : classes_[k];
    }
  }
  data.schema.target.classes = data.classes;
}

}  // namespace ellice
