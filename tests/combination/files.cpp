#include "combination/files.hpp"

#include "combination/draw.hpp"
#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"

namespace ellice::combination {

namespace {

std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

template <class F>
std::string value_text(const F& value) {
  if constexpr (IsOptional<F>::value) {
    return value_text(*value);
  } else if constexpr (std::is_same_v<F, double>) {
    return number_text(value);
  } else {
    return field_text(value);
  }
}

/// The fields that differ from their defaults, as flags.
template <class T>
std::string flags_of(const T& options) {
  std::string text;
  const Json defaults = fields_to_json(T{});
  const Json given = fields_to_json(options);
  T::fields(options, [&]<class F>(std::string_view name, const F& value, const Range& /*range*/,
                                  std::string_view /*text*/) {
    const std::string key(name);
    if (!given.contains(key) || (defaults.contains(key) && defaults.at(key) == given.at(key)))
      return;
    if constexpr (std::is_same_v<F, bool>) {
      text += value ? ' ' + flag_of(name) : " --no-" + flag_of(name).substr(2);
    } else {
      text += fmt::format(" {} {}", flag_of(name), value_text(value));
    }
  });
  return text;
}

bool has_limits(const Constraints& constraints) {
  return !constraints.features.empty() || !constraints.queries.empty() || constraints.horizon;
}

}  // namespace

std::string command_of(const Case& given, const Run& run) {
  const ExplainRequest& asked = given.asked;
  std::string text = fmt::format("explain model.json people.csv --epsilon {} --method {} --seed {}",
                                 asked.epsilon, run.method, asked.seed);
  if (asked.set) text += fmt::format(" --set {}", enum_name(*asked.set));
  if (given.has_member) text += " --ensemble member.json";
  if (asked.damping) text += fmt::format(" --damping {}", *asked.damping);
  text += fmt::format(" --cost {}", enum_name(asked.cost.kind));
  if (asked.cost.sparsity_weight != 0)
    text += " --sparsity-weight " + number_text(asked.cost.sparsity_weight);
  text += fmt::format(" --range {}", enum_name(asked.constraints.range));
  if (has_limits(asked.constraints)) text += " --constraints constraints.yaml";
  if (asked.threshold) text += " --threshold=" + number_text(*asked.threshold);
  if (!asked.target.empty()) text += fmt::format(" --target {}", fmt::join(asked.target, ","));
  if (asked.margin) text += " --margin " + number_text(*asked.margin);
  if (asked.retrain.fresh_rows) text += " --retrain " + asked.retrain.text();
  if (given.gives_rows) text += " --data rows.csv";
  if (asked.declined) text += " --declined";
  if (asked.attack) text += " --attack";
  if (asked.timings) text += " --timings";
  if (!given.reason_codes.empty()) text += " --reason-codes codes.yaml";
  MethodOptions options = run.options;
  options.set_seed(MethodOptions{}.network.seed);  // the request's own counts
  options.gumbel.seed = MethodOptions{}.gumbel.seed;
  options.baseline.seed = MethodOptions{}.baseline.seed;
  // Wishes are given once, whichever method reads them.
  options.data.plans = options.network.plans = 1;
  options.data.sparse = options.network.sparse = false;
  options.data.max_changes.reset();
  options.network.max_changes.reset();
  visit_groups(options,
               [&](std::string_view /*name*/, const auto& group) { text += flags_of(group); });
  return text + " --on-error skip --format " + (asked.display ? "table" : "json");
}

void write_case(const Case& given, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto put = [&](const std::string& name, const std::string& text) {
    write_file((folder / name).string(), text);
  };
  put("schema.yaml", to_yaml(given.schema));
  put("rows.csv", csv_text(given.table));
  put("people.csv", csv_text(given.people));
  if (!given.reason_codes.empty()) put("codes.yaml", given.reason_codes);
  if (has_limits(given.asked.constraints)) {
    Json limits = to_json(given.asked.constraints);
    limits.erase("range");
    put("constraints.yaml", to_text(limits));
  }
  std::string commands = fmt::format("# combination --seed {} --count 1\n", given.seed);
  for (const Run& run : given.runs) {
    commands += fmt::format("ellice {} -o answers.json\n", command_of(given, run));
    if (given.asked.display) continue;
    commands += "ellice verify model.json answers.json";
    if (given.has_member) commands += " --ensemble member.json";
    if (!given.is_imported) commands += " --data rows.csv";
    commands += "\n";
  }
  put("command.txt", commands);
  try {
    const Trained trained = train_case(given);
    write_model((folder / "model.json").string(), *trained.model);
    if (trained.member) write_model((folder / "member.json").string(), *trained.member);
  } catch (const Error& error) {
    put("no_model.txt", error.what());
  }
}

}  // namespace ellice::combination
