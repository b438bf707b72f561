#pragma once

// The parts of the page that html.cpp puts together.

#include <span>
#include <string>
#include <string_view>

#include "report/appraisal.hpp"
#include "report/batch_summary.hpp"
#include "report/html.hpp"

namespace ellice::html {

[[nodiscard]] std::string_view style_sheet();
[[nodiscard]] std::string_view script();  // filters cards; the page is whole without it

/// The class that gives a status its colour.
[[nodiscard]] std::string tone(Status status);

/// «What was asked»: ε in words, set, cost, threshold, model.
[[nodiscard]] std::string request(const Model& model, const PageOptions& options);

/// Outcomes, distances and features of the batch.
[[nodiscard]] std::string overview(const BatchSummary& summary);

/// One answer; `trade_off` is markup that stands before its plan.
[[nodiscard]] std::string card(const Answer& answer, const FrontierCurve* curve,
                               const Appraiser& appraiser, const AlignmentMeter& meter,
                               const std::string& trade_off = {});

/// The plans of a person by their number of changes, the recommended one marked.
[[nodiscard]] std::string trade_off(std::span<const Answer> plans, const Schema& schema,
                                    double worth);

/// The two parts of a letter: why the base model declined (empty where it is not known to have),
/// the heading of the plan, and what sets the two apart.
[[nodiscard]] std::string why_declined(const Answer& answer, const Appraiser& appraiser);
[[nodiscard]] std::string plan_heading(const Answer& answer);
[[nodiscard]] std::string two_things(const Answer& answer);

/// The pictures of a card: each change against the training range, and the frontier.
[[nodiscard]] std::string change_picture(const Change& change, const Encoder& encoder);
[[nodiscard]] std::string frontier(const FrontierCurve& curve, double epsilon);

/// The table of changes of a card; empty without changes.
[[nodiscard]] std::string change_table(const std::vector<Change>& changes, const Encoder& encoder,
                                       std::string_view heading);

}  // namespace ellice::html
