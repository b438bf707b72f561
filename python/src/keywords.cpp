#include "keywords.hpp"

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"

namespace ellice::python {

namespace {

std::string shown_value(nb::handle value) {
  std::string text = nb::repr(value).c_str();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

void wrong_type(std::string_view name, nb::handle value, std::string_view expected) {
  throw nb::type_error(fmt::format("{} = {} is of type {}; expected {}", name, shown_value(value),
                                   nb::inst_name(value).c_str(), expected)
                           .c_str());
}

void wrong_value(std::string_view name, nb::handle value, std::string_view expected) {
  throw nb::value_error(
      fmt::format("{} = {} must be {}", name, shown_value(value), expected).c_str());
}

void unknown_keyword(std::string_view where, const std::string& name,
                     const std::vector<std::string>& known) {
  throw nb::type_error(
      fmt::format("{} has no option \"{}\": {}", where, name, suggestion(name, known)).c_str());
}

bool read_flag(std::string_view name, nb::handle value) {
  if (!PyBool_Check(value.ptr())) wrong_type(name, value, "True or False");
  return value.ptr() == Py_True;
}

std::int64_t read_whole(std::string_view name, nb::handle value) {
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0)
    wrong_type(name, value, "a whole number");
  const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
  const long long read = PyLong_AsLongLong(whole.ptr());
  if (read == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_value(name, value, "a whole number of 64 bits");
  }
  return read;
}

double read_number(std::string_view name, nb::handle value) {
  if (PyBool_Check(value.ptr()) || PyUnicode_Check(value.ptr()) || PyNumber_Check(value.ptr()) == 0)
    wrong_type(name, value, "a number");
  const double read = PyFloat_AsDouble(value.ptr());
  if (read == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_type(name, value, "a number");
  }
  return read;
}

std::string read_text(std::string_view name, nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  const bool may_be_number = name == "epsilon" || name == "threshold";
  if (!may_be_number) wrong_type(name, value, "a text");
  if (PyBool_Check(value.ptr()) || PyNumber_Check(value.ptr()) == 0)
    wrong_type(name, value, "a number or a text");
  const double number = read_number(name, value);
  if (!std::isfinite(number)) wrong_value(name, value, "finite");
  return number_text(number);
}

nb::list explain_keywords() {
  RequestKeywords request;
  MethodOptions methods;
  nb::list rows;
  visit_explain_keywords(request, methods,
                         [&]<class F>(std::string_view group, const std::string& name,
                                      const F& value, const Range& range, std::string_view text) {
                           const bool bounded =
                               std::isfinite(range.lower) || std::isfinite(range.upper);
                           rows.append(nb::make_tuple(
                               name, std::string(group), python_type<F>(name), field_text(value),
                               bounded ? range.text() : std::string(), std::string(text)));
                         });
  return rows;
}

ExplainRequest request_of(std::shared_ptr<const Model> model, nb::dict keywords,
                          const std::string& constraints) {
  RequestKeywords asked;
  ExplainRequest request{.model = std::move(model)};
  std::vector<std::string> known;
  nb::dict open;
  for (const auto& [key, value] : keywords) open[key] = value;
  visit_explain_keywords(asked, request.options,
                         [&](std::string_view /*group*/, const std::string& name, auto& value,
                             const Range& range, std::string_view /*text*/) {
                           known.push_back(name);
                           const nb::str key(name.c_str());
                           if (!open.contains(key)) return;
                           read_field(name, nb::handle(open[key]), range, value);
                           nb::del(open[key]);
                         });
  for (const char* const own : {"lock", "immutable", "bounds", "direction", "queries", "rules",
                                "weights", "step", "weight", "allowed", "target", "ensemble",
                                "data", "reason_codes", "threads", "progress", "id", "on_error"})
    known.emplace_back(own);
  for (const auto& [key, value] : open)
    unknown_keyword("explaining", nb::cast<std::string>(key), known);

  request.epsilon = asked.epsilon;
  request.method = asked.method;
  request.set = asked.set;
  request.damping = asked.damping;
  request.cost = {.kind = asked.cost, .sparsity_weight = asked.sparsity_weight};
  if (asked.threshold) request.threshold = parse_threshold(*asked.threshold);
  request.margin = asked.margin;
  request.retrain = parse_retraining(asked.retrain);
  request.seed = asked.seed;
  request.declined = asked.declined;
  request.display = asked.display;
  request.attack = asked.attack;
  request.reasons = asked.reasons;
  request.timings = asked.timings;
  const Json given = parse_json(constraints, "constraints");
  JsonObject object(given, "constraints");
  request.constraints = constraints_from_json(object, asked.range);
  request.constraints.range = asked.range;
  object.finish();
  if (asked.horizon) request.constraints.horizon = parse_horizon(*asked.horizon);
  return request;
}

}  // namespace ellice::python
