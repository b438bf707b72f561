#include "combination/reduce.hpp"

#include "combination/draw.hpp"
#include "ellice/core/json.hpp"

namespace ellice::combination {

namespace {

using Change = std::function<void(Case&)>;

void erase_row(Table& table, std::size_t row) {
  for (Column& column : table.columns) {
    std::visit(
        [&](auto& values) { values.erase(values.begin() + static_cast<std::ptrdiff_t>(row)); },
        column.values);
  }
}

void erase_feature(Case& given, std::size_t j) {
  const Feature feature = given.schema.features[j];
  const auto is_named = [&](const std::string& name) { return name == feature.name; };
  const auto is_of_feature = [&](const Column& column) {
    return is_named(column.name) || std::find(feature.one_hot.begin(), feature.one_hot.end(),
                                              column.name) != feature.one_hot.end();
  };
  std::erase_if(given.table.columns, is_of_feature);
  std::erase_if(given.people.columns, is_of_feature);
  given.schema.features.erase(given.schema.features.begin() + static_cast<std::ptrdiff_t>(j));
  std::erase_if(given.schema.constraints, [&](const Rule& rule) {
    return std::any_of(rule.terms.begin(), rule.terms.end(),
                       [&](const auto& term) { return is_named(term.first); });
  });
  std::erase_if(given.schema.implications, [&](const Implication& implication) {
    return is_named(implication.condition.feature) || is_named(implication.consequence.feature);
  });
  given.asked.constraints.features.erase(feature.name);
  for (auto& [query, limits] : given.asked.constraints.queries) limits.erase(feature.name);
  given.reason_codes.clear();
}

/// Sets a group's fields to their defaults, one by one.
void add_field_changes(const Case& given, std::vector<Change>& changes) {
  for (std::size_t r = 0; r < given.runs.size(); ++r) {
    visit_groups(given.runs[r].options, [&]<class T>(std::string_view group, const T& options) {
      const Json written = fields_to_json(options);
      const Json defaults = fields_to_json(T{});
      for (const auto& [key, value] : written.items()) {
        if (defaults.contains(key) && defaults.at(key) == value) continue;
        changes.push_back([r, group = std::string(group), key = key](Case& smaller) {
          visit_groups(smaller.runs[r].options, [&]<class U>(std::string_view name, U& own) {
            if (name != group) return;
            Json rest = fields_to_json(own);
            rest.erase(key);
            U changed;
            fields_from_json(JsonObject(rest, "options"), changed);
            own = changed;
          });
        });
      }
    });
  }
}

std::vector<Change> all_changes(const Case& given) {
  std::vector<Change> changes;
  for (std::size_t r = 0; given.runs.size() > 1 && r < given.runs.size(); ++r) {
    changes.push_back(
        [r](Case& c) { c.runs.erase(c.runs.begin() + static_cast<std::ptrdiff_t>(r)); });
  }
  for (std::size_t i = 0; given.people.rows() > 1 && i < given.people.rows(); ++i) {
    changes.push_back([i](Case& c) { erase_row(c.people, i); });
  }
  for (std::size_t j = 0; given.schema.features.size() > 1 && j < given.schema.features.size(); ++j)
    changes.push_back([j](Case& c) { erase_feature(c, j); });
  if (!given.training.weights.empty()) {
    changes.push_back([](Case& c) {
      std::erase_if(c.table.columns,
                    [&](const Column& column) { return column.name == c.training.weights; });
      c.training.weights.clear();
    });
  }
  if (given.training.class_weight != ClassWeight::none)
    changes.push_back([](Case& c) { c.training.class_weight = ClassWeight::none; });
  if (given.is_deployed) changes.push_back([](Case& c) { c.is_deployed = false; });
  if (given.is_imported) changes.push_back([](Case& c) { c.is_imported = false; });
  for (std::size_t k = 0; k < given.schema.constraints.size(); ++k) {
    changes.push_back([k](Case& c) {
      c.schema.constraints.erase(c.schema.constraints.begin() + static_cast<std::ptrdiff_t>(k));
    });
  }
  for (std::size_t k = 0; k < given.schema.implications.size(); ++k) {
    changes.push_back([k](Case& c) {
      c.schema.implications.erase(c.schema.implications.begin() + static_cast<std::ptrdiff_t>(k));
    });
  }
  for (std::size_t j = 0; j < given.schema.features.size(); ++j) {
    changes.push_back([j](Case& c) { c.schema.features[j].min.reset(); });
    changes.push_back([j](Case& c) { c.schema.features[j].max.reset(); });
    changes.push_back([j](Case& c) { c.schema.features[j].step.reset(); });
    changes.push_back([j](Case& c) { c.schema.features[j].allowed.clear(); });
    changes.push_back([j](Case& c) { c.schema.features[j].direction = Direction::any; });
    changes.push_back([j](Case& c) { c.schema.features[j].immutable = false; });
    changes.push_back([j](Case& c) { c.schema.features[j].weight = 1; });
    changes.push_back([j](Case& c) { c.schema.features[j].slow.reset(); });
  }
  for (const auto& [name, limits] : given.asked.constraints.features)
    changes.push_back([name = name](Case& c) { c.asked.constraints.features.erase(name); });
  changes.push_back([](Case& c) { c.asked.constraints.queries.clear(); });
  changes.push_back([](Case& c) { c.asked.constraints.horizon.reset(); });
  changes.push_back([](Case& c) { c.asked.declined = c.asked.shows_trade_off = false; });
  changes.push_back([](Case& c) { c.asked.constraints.range = RangePolicy::train; });
  changes.push_back([](Case& c) { c.asked.set.reset(), c.has_member = false; });
  changes.push_back([](Case& c) { c.asked.damping.reset(); });
  changes.push_back([](Case& c) { c.asked.cost.kind = CostKind::l2; });
  changes.push_back([](Case& c) { c.asked.cost.sparsity_weight = 0; });
  changes.push_back([](Case& c) { c.asked.threshold.reset(); });
  changes.push_back([](Case& c) { c.asked.margin.reset(); });
  changes.push_back([](Case& c) { c.asked.target.clear(); });
  changes.push_back([](Case& c) { c.asked.retrain = {}; });
  changes.push_back([](Case& c) { c.asked.epsilon = "1%"; });
  changes.push_back([](Case& c) { c.asked.seed = 0; });
  changes.push_back([](Case& c) { c.asked.display = c.asked.attack = c.asked.timings = false; });
  changes.push_back([](Case& c) { c.asked.reasons = false; });
  changes.push_back([](Case& c) { c.reason_codes.clear(); });
  changes.push_back([](Case& c) { c.gives_rows = false; });
  changes.push_back([](Case& c) { c.selection = {}; });
  changes.push_back([](Case& c) { c.training.l2 = 1e-3; });
  changes.push_back([](Case& c) { c.training.penalize_bias = true; });
  changes.push_back([](Case& c) { c.training.store_rows = c.training.refit = false; });
  changes.push_back([](Case& c) { c.training.loss = LossKind::logistic; });
  add_field_changes(given, changes);
  return changes;
}

/// What tells whether a change changed anything.
std::string signature(const Case& given) {
  std::string text = to_yaml(given.schema) + csv_text(given.people) + given.reason_codes +
                     to_text(to_json(given.asked.constraints)) + given.asked.epsilon;
  const ExplainRequest& asked = given.asked;
  text += fmt::format("{} {} ", asked.declined, asked.shows_trade_off);
  text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", asked.set.has_value(),
                      asked.damping.value_or(0), static_cast<int>(asked.cost.kind),
                      asked.cost.sparsity_weight, asked.threshold.value_or(0),
                      asked.margin.value_or(0), asked.target.size(), asked.retrain.text(),
                      asked.seed, asked.display, asked.attack, asked.timings, asked.reasons);
  text += to_text(fields_to_json(given.training)) + to_text(fields_to_json(given.selection));
  text += given.gives_rows ? "rows" : "";
  for (const Run& run : given.runs) {
    text += run.method;
    visit_groups(run.options, [&](std::string_view /*name*/, const auto& group) {
      text += to_text(fields_to_json(group));
    });
  }
  return text;
}

}  // namespace

Case reduced(Case given, const std::function<bool(const Case&)>& fails) {
  bool is_smaller = true;
  while (is_smaller) {
    is_smaller = false;
    const std::vector<Change> changes = all_changes(given);
    for (const Change& change : changes) {
      Case smaller = given;
      change(smaller);
      if (signature(smaller) == signature(given) || !fails(smaller)) continue;
      given = std::move(smaller);
      is_smaller = true;
      break;  // what is left has another list of changes
    }
  }
  return given;
}

}  // namespace ellice::combination
