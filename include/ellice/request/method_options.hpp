#pragma once

// The options of the methods, apart from the searches that read them.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ellice/core/fields.hpp"
#include "ellice/sets/variant.hpp"
#include "ellice/solver/search_kind.hpp"

namespace ellice {

struct ExactOptions {
  std::optional<int> max_changes = {};
  bool sparse = false;
  bool trade_off = false;
  int plans = 1;
  std::optional<int> node_limit = {};  // none: 5000, or fewer where each takes long
  std::optional<double> time_limit = {};
  bool proof = false;

  static void fields(auto& self, auto&& visit) {
    visit("max_changes", self.max_changes, at_least(1),
          "no answer changes more features than this");
    visit("sparse", self.sparse, any_value(), "the fewest changes, then the nearest of these");
    visit("trade_off", self.trade_off, any_value(),
          "one answer per number of changes, from the fewest on, as long as more make it cheaper");
    visit("plans", self.plans, at_least(1),
          "different answers per query: none changes all that an earlier one changes");
    visit("node_limit", self.node_limit, at_least(1),
          "parts into which a search may split before it states its gap instead; 5000 where not "
          "given, over the true set 1000");
    visit("time_limit", self.time_limit, greater_than(0),
          "seconds per search after which it states its gap; answers then depend on the machine");
    visit("proof", self.proof, any_value(),
          "in JSON files, what proves the gaps of answers with whole numbers and categories, where "
          "verify could not find it by itself");
  }
  bool operator==(const ExactOptions&) const = default;
};

struct DataSupportedOptions {
  SearchKind search = SearchKind::automatic;
  int plans = 1;
  std::optional<int> max_changes = {};
  bool sparse = false;

  static void fields(auto& self, auto&& visit) {
    visit("search", self.search, any_value(), "how the nearest row is found; never changes it");
    visit("plans", self.plans, at_least(1), "different rows per query, the nearest first");
    visit("max_changes", self.max_changes, at_least(1),
          "rows that differ in more features are out");
    visit("sparse", self.sparse, any_value(),
          "the rows that differ in the fewest features, then the nearest of these");
  }
  bool operator==(const DataSupportedOptions&) const = default;
};

struct LocalSearchOptions {
  int row_starts = 2;
  int random_starts = 4;
  int max_iterations = 25;
  int discrete_nodes = 200;
  std::optional<int> max_changes = {};
  bool sparse = false;
  int plans = 1;
  std::uint64_t seed = 1;

  static void fields(auto& self, auto&& visit) {
    visit("row_starts", self.row_starts, at_least(0), "robust training rows to start from");
    visit("random_starts", self.random_starts, at_least(0),
          "random points to start from where there are no training rows");
    visit("max_iterations", self.max_iterations, at_least(1), "quadratic steps per start");
    visit("discrete_nodes", self.discrete_nodes, at_least(0),
          "solves that choose whole numbers and levels; 0 keeps the query's");
    visit("max_changes", self.max_changes, at_least(1),
          "no answer changes more features than this");
    visit("sparse", self.sparse, any_value(), "few changes, then the nearest of these");
    visit("plans", self.plans, at_least(1),
          "different answers per query: none changes all that an earlier one changes");
    visit("seed", self.seed, any_value(), "of the random points");
  }
  bool operator==(const LocalSearchOptions&) const = default;
};

/// Three readings of the paper's Algorithms 1 and 2.
enum class GradientPreset {
  printed,    // as printed: plain steps, the test before the step, the point after it, no ranges
  as_run,     // as its experiments ran it: Adam, a smaller set, training range, the best point seen
  corrected,  // Adam on the set itself, every step projected onto the constraints, then certified
};
template <>
struct EnumNames<GradientPreset> {
  static constexpr std::array<std::string_view, 3> names = {"printed", "as-run", "corrected"};
};

enum class Optimizer { preset, gd, adam };
template <>
struct EnumNames<Optimizer> {
  static constexpr std::array<std::string_view, 3> names = {"preset", "gd", "adam"};
};

/// What is not given is the preset's.
struct GradientOptions {
  GradientPreset preset = GradientPreset::corrected;
  Optimizer optimizer = Optimizer::preset;
  std::optional<double> alpha = {};
  std::optional<double> beta = {};
  std::optional<double> proximity = {};
  std::optional<double> sparsity = {};
  std::optional<double> step = {};
  std::optional<int> max_steps = {};
  std::optional<int> patience = {};
  std::optional<double> radius_factor = {};
  std::optional<double> jitter = {};

  static void fields(auto& self, auto&& visit) {
    visit("preset", self.preset, any_value(), "reading of the paper's algorithm");
    visit("optimizer", self.optimizer, any_value(), "plain gradient steps or Adam");
    visit("alpha", self.alpha, at_least(0), "weight of the centre model's loss");
    visit("beta", self.beta, at_least(0), "weight of the worst model's loss");
    visit("proximity", self.proximity, at_least(0), "weight λ of ‖x − x₀‖₂²");
    visit("sparsity", self.sparsity, at_least(0), "weight γ of ‖x − x₀‖₁");
    visit("step", self.step, greater_than(0), "step length η, Adam's learning rate");
    visit("max_steps", self.max_steps, at_least(1), "steps T");
    visit("patience", self.patience, at_least(0),
          "steps without a better worst-case logit after which to stop; 0 for none");
    visit("radius_factor", self.radius_factor, at_least(0),
          "factor on the penalty that the search sees");
    visit("jitter", self.jitter, at_least(0),
          "added to the diagonal of H/(2ε) that the search sees");
  }
  bool operator==(const GradientOptions&) const = default;
};

/// How a greedy search optimises the features that may change.
enum class GreedyStep {
  gradient,   // Adam on the paper's loss, from where the last one ended, to the first robust point
  quadratic,  // the nearest robust point, by sequential quadratic steps
};
template <>
struct EnumNames<GreedyStep> {
  static constexpr std::array<std::string_view, 2> names = {"gradient", "quadratic"};
};

struct GreedyOptions {
  GreedyStep greedy_step = GreedyStep::gradient;

  static void fields(auto& self, auto&& visit) {
    visit("greedy_step", self.greedy_step, any_value(),
          "how the features that may change are optimised: the paper's loss, or nearest");
  }
  bool operator==(const GreedyOptions&) const = default;
};

struct GumbelOptions {
  double temperature = 0.5;
  double cooling = 0.99;
  double own_logit = 3;
  int samples = 4;
  int extra_samples = 200;
  std::uint64_t seed = 1;

  static void fields(auto& self, auto&& visit) {
    visit("temperature", self.temperature, greater_than(0), "τ of the relaxed categories at first");
    visit("cooling", self.cooling, between(0.5, 1),
          "factor on τ per step, down to a tenth of it; 1 keeps it, as the paper does");
    visit("own_logit", self.own_logit, at_least(0),
          "lead that the query's own level of a category has at first");
    visit("samples", self.samples, at_least(1), "discrete candidates drawn per step");
    visit("extra_samples", self.extra_samples, at_least(0),
          "further candidates once one is certified");
    visit("seed", self.seed, any_value(), "of all draws");
  }
  bool operator==(const GumbelOptions&) const = default;
};

/// Whether the query is a corner of the plausible region. `automatic` is yes for corrected, as the
/// method's authors have it, and no for published.
enum class QueryInHull { automatic, yes, no };
template <>
struct EnumNames<QueryInHull> {
  static constexpr std::array<std::string_view, 3> names = {"auto", "yes", "no"};
};

struct ProplaceOptions {
  Variant variant = Variant::corrected;
  double delta = 0.01;
  int hull_rows = 10;
  QueryInHull hull_query = QueryInHull::automatic;
  double query_seconds = 30;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(),
          "the compared methods as the paper's authors ran them, or corrected");
    visit("delta", self.delta, at_least(0), "how far every weight and bias may move");
    visit("hull_rows", self.hull_rows, at_least(1),
          "nearest robust training rows that span the region of PROPLACE's answers");
    visit("hull_query", self.hull_query, any_value(),
          "whether the query is a corner of that region; auto: corrected only");
    visit(
        "query_seconds", self.query_seconds, greater_than(0),
        "processor time after which PROPLACE stops searching; answers then depend on the machine");
  }
  bool operator==(const ProplaceOptions&) const = default;
};

/// Of the methods that the paper compares itself with.
struct BaselineOptions {
  Variant variant = Variant::corrected;
  std::optional<double> tau = {};
  std::optional<double> delta = {};
  int hull_rows = ProplaceOptions().hull_rows;
  QueryInHull hull_query = ProplaceOptions().hull_query;
  double query_seconds = ProplaceOptions().query_seconds;
  std::uint64_t seed = 0;

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
    visit("seed", self.seed, any_value(), "of the noise (trex, trex-i, roar)");
  }
  bool operator==(const BaselineOptions&) const = default;
};

/// The options of all methods, of which each reads its own.
struct MethodOptions {
  /// Several plans, few changes and limits count for every method that knows them; what is asked
  /// here is asked of `data` and `network`, too.
  ExactOptions exact = {};
  DataSupportedOptions data = {};
  LocalSearchOptions network = {};
  GradientOptions gradient = {};
  GreedyOptions greedy = {};
  GumbelOptions gumbel = {};
  BaselineOptions baseline = {};

  void set_seed(std::uint64_t seed);  // of every method that draws

  /// Visits the options of each method by its name; those of the baselines are shared by them.
  static void groups(auto& self, auto&& visit) {
    visit("exact", self.exact);
    visit("network", self.network);
    visit("gradient", self.gradient);
    visit("greedy", self.greedy);
    visit("gumbel", self.gumbel);
    visit("data", self.data);
  }
  bool operator==(const MethodOptions&) const = default;
};

/// What leaves the choice to the table of methods.
inline constexpr std::string_view automatic_method = "auto";

}  // namespace ellice
