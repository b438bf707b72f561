#include "baseline_arguments.hpp"

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/recourse/delta_rows.hpp"
#include "ellice/recourse/roar.hpp"
#include "ellice/recourse/trex.hpp"

namespace ellice::cli {

namespace {

bool uses_tau(const std::string& method) {
  return method == "trex" || method == "trex-i";
}

bool uses_delta(const std::string& method) {
  return method == "delta" || method == "proplace" || method == "roar";
}

}  // namespace

bool is_baseline(const std::string& method) {
  return uses_tau(method) || uses_delta(method);
}

bool baseline_needs_rows(const std::string& method, const BaselineOptions& options,
                         const Model& model) {
  if (method == "roar")
    return options.variant == Variant::published && model.network.layers.size() > 1;
  return method == "trex" || method == "delta" || method == "proplace";
}

void check_baseline_options(const std::string& method, const BaselineOptions& options) {
  BaselineOptions rest = options;
  rest.tau = {};
  rest.delta = {};
  if (is_baseline(method)) rest.variant = Variant::corrected;
  require(rest.variant == Variant::corrected,
          "--variant belongs to --method trex, trex-i, delta, proplace and roar; the paper's own "
          "method has --preset");
  require(method == "proplace" || rest == BaselineOptions{},
          "--hull-rows, --hull-query and --query-seconds belong to --method proplace");
  require(uses_tau(method) || !options.tau, "--tau belongs to --method trex and trex-i");
  require(uses_delta(method) || !options.delta,
          "--delta belongs to --method delta, proplace and roar");
  require(!uses_tau(method) || options.tau,
          "--method {} needs --tau, the stability from 0 to 1 that an answer must have, e.g. --tau "
          "0.6",
          method);
  require(!uses_delta(method) || options.delta,
          "--method {} needs --delta, how far every weight may move, e.g. --delta {}", method,
          method == "roar" ? "0.1" : "0.01");
}

std::unique_ptr<Generator> make_baseline(const BaselineOptions& options, const TrainingRows* rows,
                                         Request& request, const Problem& problem,
                                         const Execution& execution) {
  const std::string& method = request.method;
  const auto note = [&](const auto& chosen) {
    (*request.method_options)[method] = fields_to_json(chosen);
    return chosen;
  };
  if (uses_tau(method)) {
    const TrexOptions chosen =
        note(TrexOptions{.variant = options.variant, .tau = *options.tau, .seed = request.seed});
    if (method == "trex-i") return std::make_unique<TrexContinuous>(problem, chosen);
    return std::make_unique<Trex>(problem, rows->fitted.raw, chosen, execution);
  }
  if (method == "roar") {
    const RoarOptions chosen = note(
        RoarOptions{.variant = options.variant, .delta = *options.delta, .seed = request.seed});
    return std::make_unique<Roar>(problem, chosen,
                                  rows != nullptr ? &rows->fitted.rows.encoded : nullptr);
  }
  if (method == "proplace") {
    const ProplaceOptions chosen = note(ProplaceOptions{.variant = options.variant,
                                                        .delta = *options.delta,
                                                        .hull_rows = options.hull_rows,
                                                        .hull_query = options.hull_query,
                                                        .query_seconds = options.query_seconds});
    return std::make_unique<Proplace>(problem, rows->fitted.raw, chosen, execution);
  }
  const DeltaOptions chosen =
      note(DeltaOptions{.variant = options.variant, .delta = *options.delta});
  return std::make_unique<DeltaRows>(problem, rows->fitted.raw, chosen, execution);
}

}  // namespace ellice::cli
