#pragma once

// The methods that the paper compares itself with, as `explain` offers them.

#include <memory>
#include <optional>
#include <string>

#include "ellice/rashomon/variant.hpp"
#include "ellice/recourse/generator.hpp"
#include "ellice/recourse/proplace.hpp"
#include "ellice/recourse/recourse_file.hpp"
#include "training_rows.hpp"

namespace ellice::cli {

struct BaselineOptions {
  Variant variant = Variant::corrected;
  std::optional<double> tau = {};
  std::optional<double> delta = {};
  int hull_rows = ProplaceOptions().hull_rows;
  QueryInHull hull_query = ProplaceOptions().hull_query;
  double query_seconds = ProplaceOptions().query_seconds;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(),
          "these methods as the paper's authors ran them, or corrected");
    visit("tau", self.tau, between(0, 1), "stability that an answer must have (trex, trex-i)");
    visit("delta", self.delta, at_least(0),
          "how far every weight and bias may move (delta, proplace), or every weight of the linear "
          "surrogate (roar)");
    visit("hull_rows", self.hull_rows, at_least(1),
          "nearest robust training rows whose convex hull holds the answer (proplace)");
    visit("hull_query", self.hull_query, any_value(),
          "whether the query is a corner of that hull; auto: corrected only (proplace)");
    visit("query_seconds", self.query_seconds, greater_than(0),
          "time after which a query is given up (proplace)");
  }
  bool operator==(const BaselineOptions&) const = default;
};

[[nodiscard]] bool is_baseline(const std::string& method);

/// Whether the method works with the rows that the model was fitted on.
[[nodiscard]] bool baseline_needs_rows(const std::string& method, const BaselineOptions& options,
                                       const Model& model);

/// Throws Error{argument} for an option of another method, and for one that is missing.
void check_baseline_options(const std::string& method, const BaselineOptions& options);

/// The generator of a baseline; its options become part of the request.
[[nodiscard]] std::unique_ptr<Generator> make_baseline(const BaselineOptions& options,
                                                       const TrainingRows* rows, Request& request,
                                                       const Problem& problem,
                                                       const Execution& execution);

}  // namespace ellice::cli
