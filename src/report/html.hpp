#pragma once

// Answers as one page: the bundle that page/ makes, with model, answers and curves inlined as data.
// It loads nothing, and the same answers give the same bytes.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/certificate/certificate.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/cost.hpp"
#include "ellice/request/training_rows.hpp"
#include "radius/frontier.hpp"
#include "report/trade_off.hpp"

namespace ellice {

/// What was asked of the whole batch, and how to show it.
struct PageOptions {
  std::string title = "Recourse report";
  double epsilon = 0;
  std::string epsilon_rule = {};  // how ε was chosen: «10 % of the training objective»
  SetChoice set = {};
  Cost cost = {};
  double threshold = 0;
  /// Further lines under «What was asked»: method, locked features, …
  std::vector<std::pair<std::string, std::string>> details = {};
  /// Every option by name, for experts.
  std::vector<std::pair<std::string, std::string>> options = {};
  bool trade_off = false;                         // several plans of a person are one trade-off
  double worth = usual_worth;                     // of a trade-off: what another change must save
  std::shared_ptr<const TrainingRows> rows = {};  // whose distribution is drawn, if any
};

/// «What was asked»: ε in words, set, cost, threshold, model.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> asked_lines(
    const Model& model, const PageOptions& options);

/// The page without data, as page/dist/page.html has it: so it is served.
[[nodiscard]] std::string_view page_bundle();

/// The page of a whole recourse file, with the curves of some of its people.
[[nodiscard]] std::string to_html(const Model& model, const PageOptions& options,
                                  std::string_view recourse_file,
                                  const std::vector<FrontierCurve>& curves = {});

}  // namespace ellice
