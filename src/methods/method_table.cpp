#include "methods/method_table.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/data/schema.hpp"
#include "methods/method_entries.hpp"
#include "search/any_class.hpp"

namespace ellice {

namespace {

/// «a, b and c».
std::string listed(const std::vector<std::string_view>& names) {
  if (names.size() < 2) return names.empty() ? "" : std::string(names.front());
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

template <class F>
std::string names_where(const F& fits) {
  std::vector<std::string_view> names;
  for (const Method& method : methods()) {
    if (fits(method)) names.push_back(method.name);
  }
  return listed(names);
}

/// «`method: exact`, network and data»: the first as a field that shells may translate.
std::string mention(const std::string& names) {
  const std::size_t end = std::min(names.find(", "), names.find(" and "));
  if (end == std::string::npos) return fmt::format("`method: {}`", names);
  return fmt::format("`method: {}`{}", names.substr(0, end), names.substr(end));
}

/// Wishes that the method does not know.
std::string why_not_wishes(const Method& method, const ExactOptions& wishes) {
  const ExactOptions none;
  const bool has_limits =
      wishes.node_limit != none.node_limit || wishes.time_limit != none.time_limit;
  if (has_limits && !method.limits) {
    return fmt::format("`node_limit` and `time_limit` belong to {}",
                       mention(methods_with(&Method::limits)));
  }
  if (wishes.proof && !method.limits) {
    return fmt::format("`proof` belongs to {}, which states gaps",
                       mention(methods_with(&Method::limits)));
  }
  if (wishes.trade_off && !method.trade_off) {
    return fmt::format("`trade_off` belongs to {}, which proves the fewest changes",
                       mention(methods_with(&Method::trade_off)));
  }
  if (wishes.plans != none.plans && !method.plans) {
    return fmt::format("`plans: {}`: several plans are found by {} only", wishes.plans,
                       mention(methods_with(&Method::plans)));
  }
  if ((wishes.max_changes || wishes.sparse) && !method.few_changes) {
    return fmt::format("`max_changes` and `sparse` belong to {}",
                       mention(methods_with(&Method::few_changes)));
  }
  return {};
}

std::string names_by(MethodParameter parameter) {
  return names_where([&](const Method& method) { return method.parameter == parameter; });
}

/// Options of other methods, and one that is missing.
std::string why_not_baseline(const Method& method, const BaselineOptions& options) {
  const Method& hull = find_method("proplace");
  BaselineOptions rest = options;
  rest.tau = {};
  rest.delta = {};
  rest.seed = {};
  if (method.is_baseline()) rest.variant = Variant::corrected;
  if (rest.variant != Variant::corrected) {
    return fmt::format("`variant` belongs to {}; the paper's own method has `preset`",
                       mention(baseline_names()));
  }
  if (method.name != hull.name && rest != BaselineOptions{}) {
    return fmt::format("`hull_rows`, `hull_query` and `query_seconds` belong to `method: {}`",
                       hull.name);
  }
  const auto check = [&](MethodParameter parameter, const std::optional<double>& value,
                         std::string_view meaning, std::string_view example) -> std::string {
    const std::string_view name = enum_name(parameter);
    const bool uses = method.parameter == parameter;
    if (!uses && value)
      return fmt::format("`{}` belongs to {}", name, mention(names_by(parameter)));
    if (uses && !value) {
      return fmt::format("`method: {}` needs `{}`, {}, e.g. `{}: {}`", method.name, name, meaning,
                         name, example);
    }
    return {};
  };
  const std::string reason = check(MethodParameter::tau, options.tau,
                                   "the stability from 0 to 1 that an answer must have", "0.6");
  if (!reason.empty()) return reason;
  // A surrogate's weights are on the scale of standard deviations, a network's are smaller.
  return check(MethodParameter::delta, options.delta, "how far every weight may move",
               method.scores == nullptr ? "0.1" : "0.01");
}

/// A binned feature that may change; empty where there is none.
std::string movable_binned(const Problem& problem) {
  for (const Feature& feature : problem.model->schema().features) {
    if (feature.is_binned() && !feature.immutable) return feature.name;
  }
  return {};
}

std::string why_out_of_range(const MethodOptions& options) {
  try {
    MethodOptions::groups(options,
                          [](std::string_view name, const auto& own) { validate(own, name); });
    validate(options.baseline, "baseline");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

void MethodOptions::set_seed(std::uint64_t seed) {
  groups(*this, [&](std::string_view /*name*/, auto& own) {
    if constexpr (requires { own.seed; }) own.seed = seed;
  });
  baseline.seed = seed;
}

const std::vector<Method>& methods() {
  static const std::vector<Method> all = method_entries();
  return all;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names = {std::string(automatic_method)};
  for (const Method& method : methods()) names.emplace_back(method.name);
  return names;
}

std::string methods_with(bool Method::*fact) {
  return names_where([&](const Method& method) { return method.*fact; });
}

std::string baseline_names() {
  return names_where([](const Method& method) { return method.is_baseline(); });
}

const Method& find_method(std::string_view name) {
  for (const Method& method : methods()) {
    if (method.name == name) return method;
  }
  fail(ErrorCode::argument, "`method`: there is no \"{}\"; {}", name,
       suggestion(std::string(name), method_names()));
}

const Method& choose_method(std::string_view name, const Problem& problem) {
  if (name != automatic_method) return find_method(name);
  Problem plain =
      problem;  // a cost that neither minimises is said of the method that fits otherwise
  plain.cost = {};
  const Method* last = nullptr;
  for (const Method& method : methods()) {
    if (!method.automatic) continue;
    if (method.why_not(plain, {}).empty()) return method;
    last = &method;
  }
  return *last;
}

std::string why_unsupported(const Method& method, const MethodOptions& options) {
  std::string reason = why_not_baseline(method, options.baseline);
  if (reason.empty()) reason = why_not_wishes(method, options.exact);
  if (reason.empty()) reason = why_out_of_range(options);
  return reason;
}

std::string why_unsupported(const Method& method, const Problem& problem,
                            const MethodOptions& options) {
  const std::string reason = why_unsupported(method, options);
  if (!reason.empty()) return reason;
  if (method.is_baseline() && problem.model->network.outputs() > 1) {
    return fmt::format(
        "`method: {}` is for models with one logit (logistic, mlp), and this one has a score for "
        "each of the classes {}",
        method.name, fmt::join(problem.model->decision.classes, ", "));
  }
  if (method.is_baseline() && problem.model->deployed) {
    return fmt::format(
        "`method: {}` searches with the parameters at the minimum of the model's objective, and "
        "what decides is the deployed model, which may decline what it finds; `method: auto` holds "
        "every plan against the deployed model as well",
        method.name);
  }
  const std::string binned = method.name == "exact" ? "" : movable_binned(problem);
  if (!binned.empty()) {
    return fmt::format(
        "`method: {}` moves points of model space, where the numbers of the binned feature \"{}\" "
        "are not to be seen; `method: exact`, for linear models, searches bins, or make the "
        "feature immutable",
        method.name, binned);
  }
  return method.why_not(problem, options);
}

std::unique_ptr<Generator> make_generator(const Method& method, const Problem& problem,
                                          const MethodOptions& options, const FittedRows& rows,
                                          const Execution& execution) {
  const std::string reason = why_unsupported(method, problem, options);
  require(reason.empty(), "{}", reason);
  const auto make = [&](const Problem& single) {
    return method.make(single, options, rows, nullptr, execution);
  };
  if (!has_several_targets(problem)) return make(problem);
  return std::make_unique<AnyClass>(problem, make, options.exact.sparse);
}

}  // namespace ellice
