#include "study/study_method.hpp"

#include <algorithm>
#include <mutex>

#include "core/stopwatch.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"
#include "methods/method_table.hpp"
#include "sets/epsilon_rule.hpp"
#include "sets/true_set.hpp"

namespace ellice {

namespace {

double number_of(const std::string& text, std::string_view what) {
  double value = 0;
  require(parse_number(text, value), "\"{}\" is no {}", text, what);
  return value;
}

std::optional<std::string> find(const StudyMethod& method, const std::string& option) {
  const auto at = method.options.find(option);
  if (at == method.options.end()) return std::nullopt;
  return at->second;
}

template <class E>
E choice(const StudyMethod& method, const std::string& option, E otherwise) {
  const std::optional<std::string> text = find(method, option);
  if (!text) return otherwise;
  const std::optional<E> value = enum_from_name<E>(*text);
  require(value.has_value(), "{}: {} is \"{}\", expected one of {}", method.name, option, *text,
          join_names(EnumNames<E>::names));
  return *value;
}

constexpr std::string_view target_word = "target";
constexpr std::string_view reach_word = "reach";

/// The factor of «word» (1) or «word*0.5»; nothing for other texts.
std::optional<double> factor_of(const std::string& value, std::string_view word) {
  if (value == word) return 1.0;
  const std::string start = fmt::format("{}*", word);
  if (!value.starts_with(start)) return std::nullopt;
  return number_of(value.substr(start.size()), fmt::format("factor in \"{}\"", value));
}

/// The largest ε at which some training row is an answer; 0 where no row is accepted.
double row_reach(const Model& model, const SetChoice& set, double threshold) {
  const RowMatrix& rows = set.rows->encoded;
  // Radii do not depend on the ε of the set; the true one must be large enough to be known.
  const std::unique_ptr<UncertaintySet> models = make_set(model, set, model.training.objective);
  const std::unique_ptr<RobustFunction> function = models->function();
  double reach = 0;
  for (Index i = 0; i < rows.rows(); ++i)
    reach = std::max(reach, function->radius(rows.row(i).transpose(), threshold));
  return reach;
}

/// Whether the value of a δ may be a share of the largest for which a row is robust.
bool takes_share(const std::string& method) {
  if (takes_epsilon(method)) return false;
  const Method& entry = find_method(method);
  return entry.parameter == MethodParameter::delta && entry.scores != nullptr;
}

}  // namespace

bool takes_epsilon(const std::string& method) {
  return method == automatic_method || !find_method(method).is_baseline();
}

const std::vector<std::string>& study_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result = {std::string(automatic_method)};
    for (const Method& method : methods()) {
      if (method.studied) result.emplace_back(method.name);
    }
    return result;
  }();
  return names;
}

const std::vector<std::string>& study_options() {
  static const std::vector<std::string> names = {"set", "damping", "preset", "shrink"};
  return names;
}

bool follows_target(const std::string& value) {
  return factor_of(value, target_word).has_value();
}

void check_method(const StudyMethod& method) {
  const auto check_value = [&](const std::string& value) {
    if (takes_epsilon(method.method)) {
      std::optional<double> factor = factor_of(value, target_word);
      if (!factor) factor = factor_of(value, reach_word);
      if (factor) {
        require(*factor > 0, "\"{}\": expected a factor > 0", value);
      } else {
        static_cast<void>(parse_epsilon_rule(value));
      }
      return;
    }
    const bool is_share = takes_share(method.method) && value.ends_with('%');
    const double number =
        number_of(is_share ? value.substr(0, value.size() - 1) : value, "value of this method");
    require(number > 0, "\"{}\": expected a number > 0", value);
  };
  try {
    require(takes_epsilon(method.method) || method.options.empty(), "{} has none of the options {}",
            method.method, fmt::join(study_options(), ", "));
    for (const StudyMethod::Grid& grid : method.grids) {
      for (const std::string& value : grid.values) {
        check_value(value);
        require(
            grid.values.size() == 1 || !takes_epsilon(method.method) || !follows_target(value),
            "\"{}\" stands for the evaluators' own epsilon and cannot be tuned with other values",
            value);
      }
    }
    static_cast<void>(choice(method, "set", SetKind::last_layer));
    static_cast<void>(choice(method, "preset", GradientPreset::corrected));
    if (const auto damping = find(method, "damping"))
      require(number_of(*damping, "damping") >= 0, "damping = {} must be >= 0", *damping);
    if (const auto shrink = find(method, "shrink")) {
      const double factor = number_of(*shrink, "factor");
      require(factor > 0 && factor <= 1, "shrink = {} must be in (0, 1]", *shrink);
    }
  } catch (const Error& error) {
    fail(ErrorCode::input, "method {}: {}", method.name, error.what());
  }
}

struct StudyMethodFactory::Shared {
  std::once_flag once = {};
  std::optional<Vector> scores = {};  // of the training rows
  double reach = 0;
  double seconds = 0;
};

StudyMethodFactory::StudyMethodFactory(const StudyMethod& method, const StudyFold& fold,
                                       const StudyPlan& plan)
    : method_(&method), fold_(&fold), plan_(&plan), shared_(std::make_unique<Shared>()) {
  check_method(method);
  set_.kind = choice(method, "set", SetKind::last_layer);
  set_.rows = &fold.fitted;
  if (const auto damping = find(method, "damping")) set_.damping = number_of(*damping, "damping");
  if (const auto shrink = find(method, "shrink")) shrink_ = number_of(*shrink, "factor");
}

StudyMethodFactory::~StudyMethodFactory() = default;

double StudyMethodFactory::epsilon(const std::string& value, const SetChoice& set,
                                   std::optional<double> target) const {
  double epsilon = 0;
  if (const std::optional<double> factor = factor_of(value, target_word)) {
    require(target.has_value(), "{}: \"{}\" needs a target", method_->name, value);
    epsilon = *factor * *target;
  } else if (const std::optional<double> share = factor_of(value, reach_word)) {
    std::call_once(shared_->once, [&] {
      const ThreadStopwatch watch;
      shared_->reach = row_reach(fold_->model, set, fold_->model.decision.threshold);
      shared_->seconds = watch.seconds();
    });
    epsilon = *share * shared_->reach;
  } else {
    epsilon = parse_epsilon_rule(value).resolve(fold_->model, set, {.rows = &fold_->fitted});
  }
  return shrink_ * shrink_ * epsilon;  // the penalty is proportional to its root
}

double StudyMethodFactory::parameter(const std::string& value) const {
  if (!takes_share(method_->method) || !value.ends_with('%'))
    return number_of(value, "value of this method");
  return number_of(value.substr(0, value.size() - 1), "share") / 100 *
         std::max(0.0, shared_->scores->maxCoeff());
}

std::unique_ptr<Generator> StudyMethodFactory::make(const Problem& problem,
                                                    const std::string& value) const {
  const Method& method = choose_method(method_->method, problem);
  const FittedRows rows{.raw = &fold_->fitted_raw, .rows = &fold_->fitted};
  MethodOptions options;
  options.gradient.preset = choice(*method_, "preset", GradientPreset::corrected);
  options.baseline.variant = plan_->variant;
  options.baseline.seed = plan_->seed;
  options.baseline.query_seconds = plan_->time_limit;
  if (method.scores != nullptr) {
    std::call_once(shared_->once, [&] {
      const ThreadStopwatch watch;
      shared_->scores = method.scores(problem, options, rows, {});
      if (shared_->scores) shared_->seconds = watch.seconds();
    });
  }
  if (method.parameter == MethodParameter::tau) options.baseline.tau = parameter(value);
  if (method.parameter == MethodParameter::delta) options.baseline.delta = parameter(value);
  return method.make(problem, options, rows, shared_->scores ? &*shared_->scores : nullptr, {});
}

PreparedMethod StudyMethodFactory::prepare(const std::string& value,
                                           std::optional<double> target) const {
  PreparedMethod prepared{.problem = std::make_unique<Problem>()};
  Problem& problem = *prepared.problem;
  problem.model = &fold_->model;
  problem.threshold = fold_->model.decision.threshold;
  problem.set = set_;
  const double before = shared_->seconds;
  const ThreadStopwatch watch;
  if (takes_epsilon(method_->method)) problem.epsilon = epsilon(value, set_, target);
  prepared.generator = make(problem, value);
  prepared.seconds = watch.seconds() + before;
  return prepared;
}

}  // namespace ellice
