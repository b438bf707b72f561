#include "core/stop.hpp"
#include "methods/delta_rows.hpp"
#include "methods/interval_robustness.hpp"
#include "methods/method_entries.hpp"
#include "methods/proplace.hpp"
#include "methods/roar.hpp"
#include "methods/trex.hpp"

namespace ellice {

namespace {

using namespace entry;

/// Whether an attempt to prepare something throws, and what it says then.
template <class F>
std::string fault(const F& attempt) {
  try {
    attempt();
    return {};
  } catch (const Error& error) {
    keep_stop(error);
    return error.what();
  }
}

TrexOptions trex_options(const MethodOptions& options) {
  const BaselineOptions& own = options.baseline;
  return {.variant = own.variant, .tau = own.tau.value_or(TrexOptions{}.tau), .seed = own.seed};
}

DeltaOptions delta_options(const MethodOptions& options) {
  const BaselineOptions& own = options.baseline;
  return {.variant = own.variant, .delta = own.delta.value_or(DeltaOptions{}.delta)};
}

RoarOptions roar_options(const MethodOptions& options) {
  const BaselineOptions& own = options.baseline;
  return {
      .variant = own.variant, .delta = own.delta.value_or(RoarOptions{}.delta), .seed = own.seed};
}

ProplaceOptions proplace_options(const MethodOptions& options) {
  const BaselineOptions& own = options.baseline;
  return {.variant = own.variant,
          .delta = own.delta.value_or(ProplaceOptions{}.delta),
          .hull_rows = own.hull_rows,
          .hull_query = own.hull_query,
          .query_seconds = own.query_seconds};
}

/// Reads what a baseline wrote under its name.
template <class T>
void read_baseline(JsonObject& object, std::string_view name, MethodOptions& options) {
  T own;
  read_own(object, name, own);
  BaselineOptions& all = options.baseline;
  all.variant = own.variant;
  if constexpr (requires { own.tau; }) all.tau = own.tau;
  if constexpr (requires { own.delta; }) all.delta = own.delta;
  if constexpr (requires { own.seed; }) all.seed = own.seed;
  if constexpr (requires { own.hull_rows; }) {
    all.hull_rows = own.hull_rows;
    all.hull_query = own.hull_query;
    all.query_seconds = own.query_seconds;
  }
}

std::optional<Vector> row_deltas(const Problem& problem, const MethodOptions& options,
                                 const FittedRows& rows, const Execution& execution) {
  return largest_deltas(problem, rows.rows->encoded, options.baseline.variant, execution);
}

std::string why_no_intervals(const Problem& problem, const MethodOptions& /*options*/) {
  const Network& network = problem.model->network;
  return fault([&] {
    require_relu(network, "interval robustness (`method: delta` and proplace)");
    (void)IntervalRobustness(network, problem.threshold);
  });
}

Method trex() {
  return {
      .name = "trex",
      .heading = "methods of others",
      .summary = "T:Rex (Hamman et al., 2023): the nearest stable training row",
      .parameter = MethodParameter::tau,
      .studied = true,
      .promises = never,
      .needs_rows = with_rows,
      .why_not = nothing_against,
      .to_json = [](const MethodOptions& options) -> Json {
        return {{"trex", fields_to_json(trex_options(options))}};
      },
      .from_json =
          [](JsonObject& object, MethodOptions& options) {
            read_baseline<TrexOptions>(object, "trex", options);
          },
      .scores = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                   const Execution& execution) -> std::optional<Vector> {
        // Whose noise is another one for every τ.
        if (options.baseline.variant == Variant::published) return std::nullopt;
        return stabilities(problem, rows.rows->encoded, trex_options(options), execution);
      },
      .make = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                 const Vector* scores, const Execution& execution) -> std::unique_ptr<Generator> {
        const TrexOptions own = trex_options(options);
        if (scores != nullptr) return std::make_unique<Trex>(problem, raw_rows(rows), *scores, own);
        return std::make_unique<Trex>(problem, raw_rows(rows), own, execution);
      }};
}

Method trex_continuous() {
  return {.name = "trex-i",
          .heading = "methods of others",
          .summary = "T:Rex:I (Hamman et al., 2023): up the stability",
          .parameter = MethodParameter::tau,
          .studied = true,
          .promises = never,
          .needs_rows = without_rows,
          .why_not = nothing_against,
          .to_json = [](const MethodOptions& options) -> Json {
            return {{"trex-i", fields_to_json(trex_options(options))}};
          },
          .from_json =
              [](JsonObject& object, MethodOptions& options) {
                read_baseline<TrexOptions>(object, "trex-i", options);
              },
          .make = [](const Problem& problem, const MethodOptions& options, const FittedRows&,
                     const Vector*, const Execution&) -> std::unique_ptr<Generator> {
            return std::make_unique<TrexContinuous>(problem, trex_options(options));
          }};
}

Method delta() {
  return {
      .name = "delta",
      .heading = "methods of others",
      .summary = "RNCE (Jiang et al., 2024): the nearest interval-robust training row",
      .parameter = MethodParameter::delta,
      .studied = true,
      .promises = never,
      .needs_rows = with_rows,
      .why_not = why_no_intervals,
      .to_json = [](const MethodOptions& options) -> Json {
        return {{"delta", fields_to_json(delta_options(options))}};
      },
      .from_json =
          [](JsonObject& object, MethodOptions& options) {
            read_baseline<DeltaOptions>(object, "delta", options);
          },
      .scores = row_deltas,
      .make = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                 const Vector* scores, const Execution& execution) -> std::unique_ptr<Generator> {
        const DeltaOptions own = delta_options(options);
        if (scores != nullptr)
          return std::make_unique<DeltaRows>(problem, raw_rows(rows), *scores, own);
        return std::make_unique<DeltaRows>(problem, raw_rows(rows), own, execution);
      }};
}

Method proplace() {
  return {
      .name = "proplace",
      .heading = "methods of others",
      .summary = "PROPLACE (Jiang et al., 2023): the nearest robust point among robust rows",
      .parameter = MethodParameter::delta,
      .studied = true,
      .promises = never,
      .needs_rows = with_rows,
      .why_not = [](const Problem& problem, const MethodOptions& options) -> std::string {
        const std::string reason = why_not_proplace();
        if (!reason.empty()) return reason;
        return why_no_intervals(problem, options);
      },
      .to_json = [](const MethodOptions& options) -> Json {
        return {{"proplace", fields_to_json(proplace_options(options))}};
      },
      .from_json =
          [](JsonObject& object, MethodOptions& options) {
            read_baseline<ProplaceOptions>(object, "proplace", options);
          },
      .scores = row_deltas,
      .make = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                 const Vector* scores, const Execution& execution) -> std::unique_ptr<Generator> {
        const ProplaceOptions own = proplace_options(options);
        if (scores != nullptr)
          return std::make_unique<Proplace>(problem, raw_rows(rows), *scores, own);
        return std::make_unique<Proplace>(problem, raw_rows(rows), own, execution);
      }};
}

Method roar() {
  return {.name = "roar",
          .heading = "methods of others",
          .summary = "ROAR (Upadhyay et al., 2021): robust to moves of a linear surrogate",
          .parameter = MethodParameter::delta,
          .studied = true,
          .promises = never,
          .needs_rows =
              [](const MethodOptions& options, const Model& model) {
                return options.baseline.variant == Variant::published &&
                       model.network.layers.size() > 1;
              },
          .why_not = nothing_against,
          .to_json = [](const MethodOptions& options) -> Json {
            return {{"roar", fields_to_json(roar_options(options))}};
          },
          .from_json =
              [](JsonObject& object, MethodOptions& options) {
                read_baseline<RoarOptions>(object, "roar", options);
              },
          .make = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                     const Vector*, const Execution&) -> std::unique_ptr<Generator> {
            return std::make_unique<Roar>(problem, roar_options(options),
                                          rows.rows != nullptr ? &rows.rows->encoded : nullptr);
          }};
}

}  // namespace

std::vector<Method> baseline_entries() {
  return {trex(), trex_continuous(), delta(), proplace(), roar()};
}

}  // namespace ellice
