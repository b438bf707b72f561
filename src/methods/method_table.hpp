#pragma once

// The methods, one entry each. What shells offer and refuse, what studies compare and what the
// reference of options lists is read from here; no method is named in a second place.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/request/method_options.hpp"
#include "ellice/request/training_rows.hpp"
#include "search/generator.hpp"

namespace ellice {

/// What a method has in place of, or beside, the ε of certificates.
enum class MethodParameter { epsilon, tau, delta };
template <>
struct EnumNames<MethodParameter> {
  static constexpr std::array<std::string_view, 3> names = {"epsilon", "tau", "delta"};
};

struct Method {
  std::string_view name = {};
  std::string_view heading = {};  // over its options
  std::string_view summary = {};
  MethodParameter parameter = MethodParameter::epsilon;
  /// What it knows of the wishes in ExactOptions, and of Cost::sparsity_weight.
  bool plans = false;
  bool few_changes = false;
  bool trade_off = false;
  bool limits = false;
  bool sparsity_weight = false;
  bool automatic = false;  // may be what «auto» means
  bool studied = false;    // a plan of a study may name it

  /// Whether every row that it gives is certified.
  bool (*promises)(const MethodOptions&) = nullptr;
  /// Whether it works with the rows that the model was fitted on, and not only better.
  bool (*needs_rows)(const MethodOptions&, const Model&) = nullptr;
  /// Why it cannot take a problem, in one sentence; empty where it can.
  std::string (*why_not)(const Problem&, const MethodOptions&) = nullptr;
  /// What recourse files keep of its options.
  Json (*to_json)(const MethodOptions&) = nullptr;
  /// What it chooses itself where nothing is asked for, so that files say what was used.
  Json (*used)(const Problem&, const MethodOptions&) = nullptr;
  /// Reads the options back.
  void (*from_json)(JsonObject& options, MethodOptions&) = nullptr;
  /// What all values of its parameter share, one number per training row; null where they share
  /// nothing, nothing where these options do not allow it.
  std::optional<Vector> (*scores)(const Problem&, const MethodOptions&, const FittedRows&,
                                  const Execution&) = nullptr;
  /// `problem` must outlive the generator. `scores` (optional) are those above. Throws like the
  /// generator.
  std::unique_ptr<Generator> (*make)(const Problem& problem, const MethodOptions& options,
                                     const FittedRows& rows, const Vector* scores,
                                     const Execution& execution) = nullptr;

  [[nodiscard]] bool is_baseline() const { return parameter != MethodParameter::epsilon; }
};

/// In the order in which people are offered them.
[[nodiscard]] const std::vector<Method>& methods();

/// «auto», then all others.
[[nodiscard]] std::vector<std::string> method_names();

/// «exact, network and data»: those with a fact.
[[nodiscard]] std::string methods_with(bool Method::*fact);
/// «trex, trex-i, delta, proplace and roar».
[[nodiscard]] std::string baseline_names();

/// Throws Error{argument} with a suggestion for a name that there is not.
[[nodiscard]] const Method& find_method(std::string_view name);

/// The same, and for «auto» the first method that may be meant by it and takes the problem.
[[nodiscard]] const Method& choose_method(std::string_view name, const Problem& problem);

/// Why the method cannot do what is asked of it: options of others, wishes that it does not know,
/// what it lacks, models and sets that it is not for. Empty where it can; nothing is solved.
[[nodiscard]] std::string why_unsupported(const Method& method, const Problem& problem,
                                          const MethodOptions& options);
/// The part of it that no problem is needed for.
[[nodiscard]] std::string why_unsupported(const Method& method, const MethodOptions& options);

/// The method's generator; one per acceptable class where there are several (AnyClass). Throws
/// Error{argument} for what is not supported. `problem` must outlive it.
[[nodiscard]] std::unique_ptr<Generator> make_generator(const Method& method,
                                                        const Problem& problem,
                                                        const MethodOptions& options,
                                                        const FittedRows& rows = {},
                                                        const Execution& execution = {});

}  // namespace ellice
