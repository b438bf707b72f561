#pragma once

// A case: everything that answers depend on, drawn from one seed, small enough to be solved in
// milliseconds, and plain data, so that it can be made smaller and written down.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/data/table.hpp"
#include "ellice/explain/explain_request.hpp"
#include "ellice/model/training.hpp"

namespace ellice::combination {

/// One way to ask: a method with its options.
struct Run {
  std::string method = {};
  MethodOptions options = {};
};

struct Case {
  std::uint64_t seed = 0;
  Schema schema = {};
  Table table = {};  // training rows with the target
  Selection selection = {};
  TrainingOptions training = {};
  bool is_imported = false;  // known by coefficients and covariance alone, no row at hand
  bool is_deployed = false;  // its head is moved, and what was moved decides
  bool has_member = false;   // a second model, of the set ensemble
  bool gives_rows = false;   // the training rows are at hand when explaining
  ExplainRequest asked =
      {};  // without models, rows, method and options, which follow from the rest
  std::string reason_codes = {};  // YAML; empty for none
  Table people = {};
  std::vector<Run> runs = {};
};

/// The case of a seed; the same on every machine. From 500 000 on some have weights of rows and
/// classes, and some models come from elsewhere; from 600 000 on some of these decide elsewhere and
/// are not at their minimum; from 700 000 on training is asked all that it can be. Below, seeds
/// draw what they drew before.
[[nodiscard]] Case draw_case(std::uint64_t seed);

/// What a case trains.
struct Trained {
  Dataset data = {};
  std::shared_ptr<const Model> model = {};
  std::shared_ptr<const Model> member = {};  // null without
  std::shared_ptr<const TrainingRows> rows = {};
};
/// Throws what training throws.
[[nodiscard]] Trained train_case(const Case& given);

/// The request of one run.
[[nodiscard]] ExplainRequest request_of(const Case& given, const Trained& trained, const Run& run);

/// A table as a CSV file holds it.
[[nodiscard]] std::string csv_text(const Table& table);

}  // namespace ellice::combination
