#pragma once

#include <span>
#include <string>

#include "ellice/request/answer.hpp"
#include "report/appraisal.hpp"
#include "report/batch_summary.hpp"
#include "report/trade_off.hpp"

namespace ellice {

/// Columns of a terminal of which nothing is known.
inline constexpr std::size_t usual_width = 100;

struct TextOptions {
  bool colour = false;              // ANSI sequences: unchanged features are dimmed, headings bold
  bool all_features = false;        // also those that do not change
  double worth = usual_worth;       // of a trade-off: what another change must save
  std::size_t width = usual_width;  // of the table of a trade-off
};

/// One answer for a terminal: what to change, how the models judge it before and after, or why
/// there is no plan. Ends with a line end.
[[nodiscard]] std::string recourse_text(const Answer& answer, const Appraiser& appraiser,
                                        const TextOptions& options = {});

/// The plans of one person with more and more changes: what each costs and saves, and the
/// recommended one in full.
[[nodiscard]] std::string trade_off_text(std::span<const Answer> plans, const Appraiser& appraiser,
                                         const TextOptions& options = {});

/// A batch for a terminal: outcomes, distances, numbers of changes, features by how often they
/// change.
[[nodiscard]] std::string summary_text(const BatchSummary& summary);

}  // namespace ellice
