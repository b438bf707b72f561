#pragma once

// What a row means: the features of a table in original units, what a counterfactual may do to
// each, the target, and the rules between features. Written by people as YAML (blueprint of the
// formats: docs/reference/formats.md), stored whole in every model file as JSON with the same keys.

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/csv_format.hpp"
#include "ellice/data/rule.hpp"

namespace ellice {

enum class FeatureKind { numeric, integer, ordinal, binary, categorical, binned };
enum class Direction { any, increase, decrease };
enum class MissingPolicy {
  error,   // an empty cell is refused
  median,  // filled: median of numbers and ordinal levels, most frequent level of the others
  level,   // a level of its own for categorical features; refused elsewhere and in one-hot groups
};

template <>
struct EnumNames<FeatureKind> {
  static constexpr std::array<std::string_view, 6> names = {"numeric", "integer",     "ordinal",
                                                            "binary",  "categorical", "binned"};
};
template <>
struct EnumNames<Direction> {
  static constexpr std::array<std::string_view, 3> names = {"any", "increase", "decrease"};
};
template <>
struct EnumNames<MissingPolicy> {
  static constexpr std::array<std::string_view, 3> names = {"error", "median", "level"};
};

/// One value in original units: a number for numeric, integer and binned features, a level
/// otherwise.
using Value = std::variant<double, std::string>;

/// The level that stands for an empty cell under MissingPolicy::level.
inline constexpr std::string_view missing_level = "(missing)";

/// How fast a feature can change at most, such as «1 per year»; of ordinal features in levels.
struct Pace {
  enum class Period { day, week, month, year };
  double amount = 0;
  Period per = Period::year;
  bool operator==(const Pace&) const = default;
};

template <>
struct EnumNames<Pace::Period> {
  static constexpr std::array<std::string_view, 4> names = {"day", "week", "month", "year"};
};

/// Of a binned feature: a number to everybody but the model, which sees only in which bin it lies.
/// The edges cut the line into intervals, in order; codes (−9: no record) are bins of their own,
/// wherever they would lie on the line, and follow the intervals.
struct Bins {
  enum class Closed { right, left };  // to which interval an edge itself belongs
  struct Code {
    double number = 0;
    std::string text = {};  // what it means
    bool operator==(const Code&) const = default;
  };
  std::vector<double> edges = {};  // increasing
  Closed closed = Closed::right;
  std::vector<Code> special = {};
  std::vector<double> values = {};  // what the model sees of each bin; none: one 0/1 column per bin
  bool are_whole = false;           // whether there are whole numbers alone, as of kind integer
  /// Beyond it nobody has a number, codes aside: the model has nothing to say of it.
  struct End {
    double at = 0;
    bool is_open = false;  // whether nobody has this number either
    bool operator==(const End&) const = default;
  };
  std::optional<End> lowest = {};
  std::optional<End> highest = {};

  [[nodiscard]] std::size_t intervals() const { return edges.size() + 1; }
  [[nodiscard]] std::size_t count() const { return intervals() + special.size(); }
  /// The bin of a number.
  [[nodiscard]] std::size_t of(double number) const;
  [[nodiscard]] const Code* code(double number) const;  // null for a number that is none
  /// Whether a number lies within the ends, or is a code.
  [[nodiscard]] bool reach(double number) const {
    const bool is_above =
        !lowest || number > lowest->at || (!lowest->is_open && number == lowest->at);
    const bool is_below =
        !highest || number < highest->at || (!highest->is_open && number == highest->at);
    return (is_above && is_below) || code(number) != nullptr;
  }
  /// Ends of an interval; of the outer ones those of all, or ±∞.
  [[nodiscard]] double lower(std::size_t interval) const;
  [[nodiscard]] double upper(std::size_t interval) const;
  /// «at least 0 and below 100, or a code», of bins with ends.
  [[nodiscard]] std::string range_words() const;
  /// «(0.3,0.6]», or the code «-9»: in names of columns.
  [[nodiscard]] std::string name(std::size_t bin) const;
  /// «above 0.3 up to 0.6», «at most 0.3», or the code's text: for people.
  [[nodiscard]] std::string words(std::size_t bin) const;
  bool operator==(const Bins&) const = default;
};

template <>
struct EnumNames<Bins::Closed> {
  static constexpr std::array<std::string_view, 2> names = {"right", "left"};
};

struct Feature {
  std::string name = {};
  FeatureKind kind = FeatureKind::numeric;
  std::vector<std::string> levels = {};   // ordinal, binary (the second is 1), categorical
  std::vector<std::string> one_hot = {};  // the 0/1 columns of a group; then levels == one_hot
  std::optional<double> min = {};         // of a counterfactual, as are max, step and allowed
  std::optional<double> max = {};
  std::optional<double> step = {};  // multiples of step, from min where given
  std::vector<Value> allowed = {};  // empty: no restriction
  Direction direction = Direction::any;
  bool immutable = false;
  double weight = 1;  // multiplies this feature's term of the cost
  std::string unit = {};
  std::string label = {};                               // what people read in place of the name
  std::string description = {};                         // one sentence for people
  std::map<std::string, std::string> level_texts = {};  // what people read in place of a level
  /// Never in a plan, whatever a run asks for, and so `immutable` as well; a reason that rests on
  /// it deserves a warning.
  bool is_protected = false;
  std::optional<Pace> slow = {};
  Bins bins = {};  // of a binned feature

  /// The label, or else the name.
  [[nodiscard]] const std::string& title() const { return label.empty() ? name : label; }
  /// What people read for a level: its display text, or else the level.
  [[nodiscard]] const std::string& level_text(const std::string& level) const;
  /// Whether rows and people have whole numbers alone.
  [[nodiscard]] bool is_whole() const {
    return kind == FeatureKind::integer || (is_binned() && bins.are_whole);
  }
  /// Of a number: whether rows and people may have it.
  [[nodiscard]] bool may_be(double number) const {
    return (!is_whole() || number == std::nearbyint(number)) &&
           (!is_binned() || bins.reach(number));
  }
  /// Of a number: what is expected in place of one that nobody may have, such as «a whole number».
  [[nodiscard]] std::string expected_in_place_of(double number) const;
  [[nodiscard]] bool is_number() const {
    return kind == FeatureKind::numeric || kind == FeatureKind::integer || is_binned();
  }
  [[nodiscard]] bool is_binned() const { return kind == FeatureKind::binned; }
  /// One of several columns of the model is 1: categories, and bins without values.
  [[nodiscard]] bool has_indicators() const {
    return kind == FeatureKind::categorical || (is_binned() && bins.values.empty());
  }
  /// Index of a level, or nothing.
  [[nodiscard]] std::optional<std::size_t> level_index(std::string_view level) const;
  bool operator==(const Feature&) const = default;
};

/// A target with more values than this is a number rather than a class.
inline constexpr std::size_t most_classes = 100;

struct Target {
  std::string column = {};
  std::string favourable = {};
  /// All classes, of which the favourable one is the target unless another is asked for; empty:
  /// two, the favourable value and whatever else there is.
  std::vector<std::string> classes = {};
  bool operator==(const Target&) const = default;
};

struct Schema {
  Target target = {};
  std::vector<std::string> drop = {};
  std::vector<Feature> features = {};  // in the order in which they are written
  std::vector<Rule> constraints = {};
  std::vector<Implication> implications = {};  // written among the constraints, after the rules
  MissingPolicy missing = MissingPolicy::error;
  CsvFormat format = {};                         // of the files of rows, training and queries alike
  std::vector<std::string> missing_values = {};  // cells that mean the same as an empty one
  /// Cells and levels that differ in case or blanks only are the same level; the first spelling
  /// that `levels` lists is its name.
  bool merge_levels = false;

  /// Index of a feature by its name, or nothing.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  bool operator==(const Schema&) const = default;
};

/// Reads and checks YAML (or JSON, which is YAML) that came from `source`. Errors name the file,
/// the line, the key, what was found and what was expected.
[[nodiscard]] Schema parse_schema(std::string_view text, const std::string& source);
[[nodiscard]] Schema read_schema(const std::string& path);

/// YAML as a person would write it; parse_schema gives the same schema back.
[[nodiscard]] std::string to_yaml(const Schema& schema);

/// The keys of the YAML; those that hold their default are left out. A one-hot group has an entry
/// under `features`, too, which keeps its place among them.
[[nodiscard]] Json to_json(const Schema& schema);
/// Errors name the key but no line.
[[nodiscard]] Schema schema_from_json(const Json& value, const std::string& source);

/// «1 per year».
[[nodiscard]] std::string to_text(const Pace& pace);

/// What is left of a level when case and blanks do not count: blanks around it gone, runs of them
/// one blank, letters small (of Latin alphabets).
[[nodiscard]] std::string folded_level(std::string_view level);

/// What a message offers when a name is unknown: «did you mean "income"?», or the names there are.
[[nodiscard]] std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace ellice
