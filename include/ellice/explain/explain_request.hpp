#pragma once

// What is asked, as one value: shells fill it in, an Explainer answers it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/constraints.hpp"
#include "ellice/request/cost.hpp"
#include "ellice/request/method_options.hpp"
#include "ellice/request/reason_codes.hpp"
#include "ellice/request/training_rows.hpp"
#include "ellice/sets/retraining.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// All that decides an answer. Owns what it needs; messages name its fields.
struct ExplainRequest {
  std::shared_ptr<const Model> model = {};
  std::string epsilon = "auto";                             // by any rule of EpsilonRule
  std::optional<SetKind> set = {};                          // none: see automatic_set()
  std::optional<double> damping = {};                       // of the set
  std::vector<std::shared_ptr<const Model>> ensemble = {};  // models beside the first
  std::shared_ptr<const TrainingRows> rows = {};            // where the model file holds none
  Cost cost = {};
  Constraints constraints = {};
  std::optional<double> threshold = {};  // of one logit; none: the model's
  std::vector<std::string> target = {};  // of several classes: any will do; none: the favourable
  std::optional<double> margin = {};     // of several classes: the lead in score
  Retraining retrain = {};               // for which survival is predicted
  std::string method = std::string(automatic_method);
  MethodOptions options = {};
  std::uint64_t seed = 0;
  bool display = false;  // answers are rounded to sensible digits where there is no grid
  bool attack = false;   // look for a real network within ε that breaks each answer
  /// For display: where the method can and nothing else is asked of the number of changes, the best
  /// plans with one to `most_shown_changes` changes in place of the nearest alone.
  bool shows_trade_off = false;
  bool declined = false;  // leave out people whom the base model accepts
  bool reasons = true;    // why the base model declined, where that is defined
  ReasonCodes reason_codes = {};
  bool timings = false;  // seconds per answer, which no two runs share
};

/// More changes than this are nothing that a person can act on.
inline constexpr int most_shown_changes = 4;

/// The set that is meant where none is named: ensemble where there are several models, last-layer
/// for linear and softmax models and imported networks, full for other networks.
[[nodiscard]] SetKind automatic_set(const ExplainRequest& request);

/// «T» is a logit, «p=0.7» a probability. Throws Error{argument} for anything else.
[[nodiscard]] double parse_threshold(std::string_view text);

/// Why a request cannot be answered, in one sentence that names the field; empty where it can.
/// Nothing is solved, and the rule of ε is only read.
[[nodiscard]] std::string why_unsupported(const ExplainRequest& request);

/// As recourse files hold it, without `value` of ε and with «auto» where that is asked.
[[nodiscard]] Json to_json(const ExplainRequest& request);
/// Reads such a form, of which only `format`, `version` and `epsilon` (a rule, a number, or an
/// object with `rule`) must be there, or the head of a recourse file, whose results are passed
/// over. `ensemble` and `rows` are what files only name. Reasons are asked for where the form has
/// any. Throws Error{input} naming the key, also for another model and for keys that nobody knows.
[[nodiscard]] ExplainRequest explain_request_from_json(
    const Json& file, const std::string& source, std::shared_ptr<const Model> model,
    std::vector<std::shared_ptr<const Model>> ensemble = {},
    std::shared_ptr<const TrainingRows> rows = {});

}  // namespace ellice
