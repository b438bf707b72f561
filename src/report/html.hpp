#pragma once

// Answers as one self-contained page: no network, no fonts or scripts from elsewhere, readable
// without JavaScript and on paper. The same answers give the same bytes.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ellice/certificate/certificate.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "ellice/request/cost.hpp"
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
  std::size_t max_cards = 200;
  double worth = usual_worth;  // of a trade-off: what another change must save
};

/// Collects answers one by one: a card for each of the first max_cards, numbers of all of them.
/// Only the cards and eight bytes per answer are kept.
class HtmlReport {
 public:
  /// The model must outlive the report.
  HtmlReport(const Model& model, PageOptions options);
  ~HtmlReport();
  HtmlReport(const HtmlReport&) = delete;
  HtmlReport& operator=(const HtmlReport&) = delete;
  HtmlReport(HtmlReport&&) noexcept;
  HtmlReport& operator=(HtmlReport&&) noexcept;

  /// `curve`, if any, is drawn on the answer's card.
  void add(const Answer& answer, const FrontierCurve* curve = nullptr);
  /// The plans of one person with more and more changes: one card, of the recommended plan, with a
  /// table of all.
  void add_trade_off(std::span<const Answer> plans, const FrontierCurve* curve = nullptr);
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The page of a whole batch; each curve goes to the first plan of its query.
[[nodiscard]] std::string to_html(const Model& model, const PageOptions& options,
                                  const std::vector<Answer>& answers,
                                  const std::vector<FrontierCurve>& curves = {});

}  // namespace ellice
