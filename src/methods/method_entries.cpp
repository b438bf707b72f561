#include "methods/method_entries.hpp"

#include "methods/greedy.hpp"
#include "methods/gumbel.hpp"
#include "search/data_supported.hpp"
#include "search/exact_search.hpp"
#include "search/gradient.hpp"
#include "search/local_search.hpp"

namespace ellice {

namespace {

using namespace entry;

/// The options of `data` and `network` with the wishes that all share.
template <class T>
T with_wishes(T options, const ExactOptions& wishes) {
  options.max_changes = wishes.max_changes;
  options.sparse = wishes.sparse;
  options.plans = wishes.plans;
  return options;
}

template <class T>
void take_wishes(const T& options, ExactOptions& wishes) {
  wishes.max_changes = options.max_changes;
  wishes.sparse = options.sparse;
  wishes.plans = options.plans;
}

Method exact() {
  return {
      .name = "exact",
      .heading = "the exact search",
      .summary = "the nearest row, proved, for linear models",
      .plans = true,
      .few_changes = true,
      .trade_off = true,
      .limits = true,
      .sparsity_weight = true,
      .automatic = true,
      .promises = always,
      .needs_rows = without_rows,
      .why_not = [](const Problem& problem,
                    const MethodOptions& options) { return why_not_exact(problem, options.exact); },
      .to_json =
          [](const MethodOptions& options) {
            if (options.exact == ExactOptions{}) return Json(Json::object());
            return Json{{"exact", fields_to_json(options.exact)}};
          },
      .used =
          [](const Problem& problem, const MethodOptions& options) {
            if (options.exact.node_limit) return Json(Json::object());
            return Json{{"node_limit", usual_node_limit(problem)}};
          },
      .from_json = [](JsonObject& object,
                      MethodOptions& options) { read_own(object, "exact", options.exact); },
      .make = [](const Problem& problem, const MethodOptions& options, const FittedRows&,
                 const Vector*, const Execution&) -> std::unique_ptr<Generator> {
        return std::make_unique<ExactSearch>(problem, options.exact);
      }};
}

Method network() {
  return {
      .name = "network",
      .heading = "the search for networks",
      .summary = "a near row from several starts, for every model and set",
      .plans = true,
      .few_changes = true,
      .automatic = true,
      .studied = true,
      .promises = always,
      .needs_rows = without_rows,
      .why_not = [](const Problem& problem,
                    const MethodOptions&) { return why_not_local(problem); },
      .to_json =
          [](const MethodOptions& options) {
            return Json{{"network", fields_to_json(with_wishes(options.network, options.exact))}};
          },
      .from_json =
          [](JsonObject& object, MethodOptions& options) {
            if (!object.has("network")) return;  // «auto» may mean another, with wishes of its own
            read_own(object, "network", options.network);
            take_wishes(options.network, options.exact);
          },
      .make = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                 const Vector*, const Execution& execution) -> std::unique_ptr<Generator> {
        return std::make_unique<LocalSearch>(
            problem, rows.rows, with_wishes(options.network, options.exact), execution);
      }};
}

Method gradient() {
  return {
      .name = "gradient",
      .heading = "the paper's method",
      .summary = "the paper's own method, by gradient steps",
      .studied = true,
      .promises =
          [](const MethodOptions& options) {
            return options.gradient.preset == GradientPreset::corrected;
          },
      .needs_rows = without_rows,
      .why_not = nothing_against,
      .to_json = [](const MethodOptions& options) -> Json {
        return {{"gradient", fields_to_json(options.gradient)}};
      },
      .from_json = [](JsonObject& object,
                      MethodOptions& options) { read_own(object, "gradient", options.gradient); },
      .make = [](const Problem& problem, const MethodOptions& options, const FittedRows&,
                 const Vector*, const Execution&) -> std::unique_ptr<Generator> {
        return std::make_unique<GradientSearch>(problem, options.gradient);
      }};
}

Method greedy() {
  return {.name = "greedy",
          .heading = "the paper's few changes",
          .summary = "the paper's few changes, one feature after another",
          .promises = always,
          .needs_rows = without_rows,
          .why_not =
              [](const Problem&, const MethodOptions& options) {
                return why_not_projected(options.gradient, "greedy");
              },
          .to_json = [](const MethodOptions& options) -> Json {
            return {{"greedy", fields_to_json(options.greedy)},
                    {"gradient", fields_to_json(options.gradient)}};
          },
          .from_json =
              [](JsonObject& object, MethodOptions& options) {
                read_own(object, "greedy", options.greedy);
                read_own(object, "gradient", options.gradient);
              },
          .make = [](const Problem& problem, const MethodOptions& options, const FittedRows&,
                     const Vector*, const Execution&) -> std::unique_ptr<Generator> {
            return std::make_unique<GreedySearch>(problem, options.greedy, options.gradient);
          }};
}

Method gumbel() {
  return {.name = "gumbel",
          .heading = "the paper's mixed features",
          .summary = "the paper's mixed features, with relaxed categories",
          .promises = always,
          .needs_rows = without_rows,
          .why_not =
              [](const Problem&, const MethodOptions& options) {
                return why_not_projected(options.gradient, "gumbel");
              },
          .to_json = [](const MethodOptions& options) -> Json {
            return {{"gumbel", fields_to_json(options.gumbel)},
                    {"gradient", fields_to_json(options.gradient)}};
          },
          .from_json =
              [](JsonObject& object, MethodOptions& options) {
                read_own(object, "gumbel", options.gumbel);
                read_own(object, "gradient", options.gradient);
              },
          .make = [](const Problem& problem, const MethodOptions& options, const FittedRows&,
                     const Vector*, const Execution&) -> std::unique_ptr<Generator> {
            return std::make_unique<GumbelSearch>(problem, options.gumbel, options.gradient);
          }};
}

Method data() {
  return {.name = "data",
          .heading = "the nearest training row",
          .summary = "the nearest training row that is certified",
          .plans = true,
          .few_changes = true,
          .sparsity_weight = true,
          .studied = true,
          .promises = always,
          .needs_rows = with_rows,
          .why_not = nothing_against,
          .to_json = [](const MethodOptions& options) -> Json {
            return {{"data", fields_to_json(with_wishes(options.data, options.exact))}};
          },
          .from_json =
              [](JsonObject& object, MethodOptions& options) {
                read_own(object, "data", options.data);
                take_wishes(options.data, options.exact);
              },
          .make = [](const Problem& problem, const MethodOptions& options, const FittedRows& rows,
                     const Vector*, const Execution& execution) -> std::unique_ptr<Generator> {
            return std::make_unique<DataSupported>(
                problem, raw_rows(rows), with_wishes(options.data, options.exact), execution);
          }};
}

}  // namespace

std::vector<Method> method_entries() {
  std::vector<Method> all = {exact(), network(), gradient(), greedy(), gumbel(), data()};
  for (Method& method : baseline_entries()) all.push_back(method);
  return all;
}

}  // namespace ellice
