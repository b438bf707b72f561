#pragma once

// The body of a request: bytes become JSON, JSON becomes what an Explainer is asked.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/table.hpp"
#include "ellice/explain/explain_request.hpp"

namespace ellice::serve {

enum class OnBadRow { stop, skip };

/// What a request says beyond the head of a recourse file and the people.
struct AskedOptions {
  std::optional<std::string> id = {};
  OnBadRow on_error = OnBadRow::stop;
  bool display = false;
  bool reasons = true;

  static void fields(auto& self, auto&& visit) {
    visit("id", self.id, any_value(),
          "key of each person whose value is echoed as `id`, as `explain --id` does");
    visit("on_error", self.on_error, any_value(),
          "a person whose values cannot be used refuses the request, or has an answer `invalid`");
    visit("display", self.display, any_value(),
          "answers as tables and pages show them: rounded where there is no grid, and the best "
          "plans with one to four changes");
    visit("reasons", self.reasons, any_value(), "why the model declines, where that is defined");
  }
};

struct Asked {
  ExplainRequest request = {};
  AskedOptions options = {};
  std::vector<std::string> epsilons = {};  // of /api/frontier
  Table people = {};
  std::string key = {};  // the same for requests that one Explainer answers
};

/// Other models of the process, by their hash; null where there is none.
class ModelFinder {
 public:
  virtual ~ModelFinder() = default;
  [[nodiscard]] virtual std::shared_ptr<const Model> find(const std::string& sha256) const = 0;
};

/// Throws Refusal{400} for what is no JSON document, or is nested too deeply.
[[nodiscard]] Json parse_body(std::string_view body);

/// What is asked of `model`: the head of a recourse file, all of it optional, `people`, and the
/// fields of AskedOptions; `epsilons` where they are allowed. Throws Error{input} and Refusal.
[[nodiscard]] Asked read_asked(Json body, const std::shared_ptr<const Model>& model,
                               const std::shared_ptr<const TrainingRows>& rows,
                               const ModelFinder& others, bool takes_epsilons);

/// A list of objects, one per person, as a table: values are numbers, texts or null, which is an
/// empty cell, as is what a person does not have. Throws Refusal{422} naming the person and the
/// key.
[[nodiscard]] Table table_of(const Json& people, const Schema& schema);

}  // namespace ellice::serve

template <>
struct ellice::EnumNames<ellice::serve::OnBadRow> {
  static constexpr std::array<std::string_view, 2> names = {"stop", "skip"};
};
