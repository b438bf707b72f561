#pragma once

// Options as keywords of Python: one list of fields gives the names, the types, the ranges and the
// texts, and reads the values.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <set>
#include <string>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/explain/explain_request.hpp"

namespace ellice::python {

namespace nb = nanobind;

/// What is asked beside constraints and the options of methods, as one may write it.
struct RequestKeywords {
  std::string epsilon = "auto";
  std::string method = std::string(automatic_method);
  std::optional<SetKind> set = {};
  std::optional<double> damping = {};
  CostKind cost = CostKind::l2;
  double sparsity_weight = 0;
  std::optional<std::string> threshold = {};
  std::optional<double> margin = {};
  RangePolicy range = RangePolicy::train;
  std::optional<std::string> horizon = {};
  std::string retrain = "same";
  std::uint64_t seed = 0;
  bool declined = false;
  bool display = false;
  bool attack = false;
  bool reasons = true;
  bool timings = false;

  static void fields(auto& self, auto&& visit) {
    visit("epsilon", self.epsilon, any_value(),
          "how much worse a model may be and still count: a number, \"1%\" of the objective, "
          "\"survival:95%\", \"target:0.02\", \"accuracy:5%\" or \"auto\"");
    visit("method", self.method, any_value(), "how to search; auto takes what fits the model");
    visit("set", self.set, any_value(),
          "the models for which an answer must hold; None is last-layer for linear and softmax "
          "models, full for other networks");
    visit("damping", self.damping, greater_than(0),
          "λ of the set full, or what replaces the objective's l2 in the curvature");
    visit("cost", self.cost, any_value(), "what is minimised");
    visit("sparsity_weight", self.sparsity_weight, at_least(0),
          "added to the cost for each changed feature");
    visit("threshold", self.threshold, any_value(),
          "logit that counts as yes, or a probability \"p=0.7\"; None is the model's");
    visit("margin", self.margin, at_least(0),
          "of several classes: the lead in score that the class must have");
    visit("range", self.range, any_value(),
          "keep features inside their training minimum and maximum");
    visit("horizon", self.horizon, any_value(),
          "time that a plan may take, such as \"12 months\", for features that are slow");
    visit("retrain", self.retrain, any_value(),
          "retraining for which survival is predicted: \"same\" or \"fresh:N\"");
    visit("seed", self.seed, any_value(), "seed of every random choice");
    visit("declined", self.declined, any_value(),
          "leave out people whom the model accepts as they are");
    visit("display", self.display, any_value(),
          "round answers to sensible digits where the schema has no step");
    visit("attack", self.attack, any_value(),
          "look for a real network within epsilon that breaks each answer");
    visit("reasons", self.reasons, any_value(), "why the model declined");
    visit("timings", self.timings, any_value(), "seconds for each answer");
  }
};

/// How Python writes the type of a field.
template <class F>
std::string python_type(std::string_view name) {
  if constexpr (IsOptional<F>::value) {
    return python_type<typename F::value_type>(name) + " | None";
  } else if constexpr (std::is_same_v<F, std::vector<int>>) {
    return "Sequence[int]";
  } else if constexpr (std::is_enum_v<F>) {
    std::string names;
    for (const std::string_view one : EnumNames<F>::names)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", one);
    return "Literal[" + names + "]";
  } else if constexpr (std::is_same_v<F, bool>) {
    return "bool";
  } else if constexpr (std::is_integral_v<F>) {
    return "int";
  } else if constexpr (std::is_floating_point_v<F>) {
    return "float";
  } else {
    return name == "epsilon" || name == "threshold" ? "str | float" : "str";
  }
}

/// A value of Python as a field; TypeError and ValueError name the keyword and the value.
[[nodiscard]] bool read_flag(std::string_view name, nb::handle value);
[[nodiscard]] std::int64_t read_whole(std::string_view name, nb::handle value);
[[nodiscard]] double read_number(std::string_view name, nb::handle value);
[[nodiscard]] std::string read_text(std::string_view name, nb::handle value);
[[noreturn]] void wrong_type(std::string_view name, nb::handle value, std::string_view expected);
[[noreturn]] void wrong_value(std::string_view name, nb::handle value, std::string_view expected);
[[noreturn]] void unknown_keyword(std::string_view where, const std::string& name,
                                  const std::vector<std::string>& known);

template <class F>
void read_field(std::string_view name, nb::handle value, const Range& range, F& field) {
  if constexpr (IsOptional<F>::value) {
    if (value.is_none()) {
      field.reset();
    } else {
      read_field(name, value, range, field.emplace());
    }
  } else if constexpr (std::is_same_v<F, bool>) {
    field = read_flag(name, value);
  } else if constexpr (std::is_enum_v<F>) {
    const std::optional<F> read = enum_from_name<F>(read_text(name, value));
    if (!read) wrong_value(name, value, "one of " + join_names(EnumNames<F>::names));
    field = *read;
  } else if constexpr (std::is_same_v<F, std::vector<int>>) {
    if (!nb::isinstance<nb::sequence>(value) || nb::isinstance<nb::str>(value))
      wrong_type(name, value, "a sequence of whole numbers");
    field.clear();
    for (const nb::handle entry : value) read_field(name, entry, range, field.emplace_back());
  } else if constexpr (std::is_integral_v<F>) {
    const std::int64_t read = read_whole(name, value);
    if (!range.contains(static_cast<double>(read))) wrong_value(name, value, range.text());
    if (!std::in_range<F>(read)) wrong_value(name, value, "a smaller whole number, not below 0");
    field = static_cast<F>(read);
  } else if constexpr (std::is_floating_point_v<F>) {
    field = read_number(name, value);
    if (!range.contains(field)) wrong_value(name, value, range.text());
  } else {
    field = read_text(name, value);
  }
}

/// The keywords of some options: (name, group, type, default, range, text) each.
class KeywordTable {
 public:
  template <class T>
  void add(const std::string& group, const T& defaults) {
    T::fields(defaults, [&]<class F>(std::string_view name, const F& value, const Range& range,
                                     std::string_view text) {
      const bool bounded = std::isfinite(range.lower) || std::isfinite(range.upper);
      rows_.append(nb::make_tuple(std::string(name), group, python_type<F>(name), field_text(value),
                                  bounded ? range.text() : std::string(), std::string(text)));
    });
  }
  [[nodiscard]] nb::list rows() const { return rows_; }

 private:
  nb::list rows_;
};

/// Takes the keywords that are fields of `options` out of a dictionary.
template <class T>
void take_keywords(nb::dict& keywords, T& options) {
  T::fields(options, [&]<class F>(std::string_view name, F& value, const Range& range,
                                  std::string_view /*text*/) {
    const nb::str key(name.data(), name.size());
    if (!keywords.contains(key)) return;
    read_field(name, nb::handle(keywords[key]), range, value);
    nb::del(keywords[key]);
  });
}

/// Options of which every keyword must be a field; TypeError names the nearest.
template <class T>
void read_only(nb::dict keywords, const char* where, T& options) {
  nb::dict open;
  for (const auto& [key, value] : keywords) open[key] = value;
  take_keywords(open, options);
  std::vector<std::string> known;
  for (const FieldDescription& field : describe_fields<T>()) known.push_back(field.name);
  for (const auto& [key, value] : open) unknown_keyword(where, nb::cast<std::string>(key), known);
}

/// Visits the options of explaining as visit(group, keyword, value, range, text). Each keyword
/// stands once: what several methods have is that of `exact`, and a name that is taken has its
/// group before it.
template <class Self, class Visit>
void visit_explain_keywords(RequestKeywords& request, Self& methods, Visit&& visit) {
  // Of Explainer itself, beyond fields.
  std::set<std::string> taken = {"step", "lock", "bounds", "direction", "weight", "allowed"};
  const auto add = [&](std::string_view group, auto& options, bool shared) {
    using Options = std::remove_cvref_t<decltype(options)>;
    Options::fields(options, [&](std::string_view name, auto& value, const Range& range,
                                 std::string_view text) {
      if (shared &&
          (name == "seed" || name == "max_changes" || name == "sparse" || name == "plans"))
        return;
      std::string keyword(name);
      if (!taken.insert(keyword).second) {
        keyword = fmt::format("{}_{}", group, name);
        taken.insert(keyword);
      }
      visit(group, keyword, value, range, text);
    });
  };
  add("request", request, false);
  add("exact", methods.exact, false);
  MethodOptions::groups(methods, [&](std::string_view group, auto& options) {
    if (group != "exact") add(group, options, true);
  });
  add("baseline", methods.baseline, true);
}

/// All keywords of explaining.
[[nodiscard]] nb::list explain_keywords();
/// The request for a model. `constraints` is JSON with the keys of a file of constraints. Throws
/// TypeError for a keyword that nobody knows, naming the nearest.
[[nodiscard]] ExplainRequest request_of(std::shared_ptr<const Model> model, nb::dict keywords,
                                        const std::string& constraints);

}  // namespace ellice::python
