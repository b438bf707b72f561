#pragma once

#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/request/reasons.hpp"

namespace ellice {

/// Re-checks the reasons of refusals in a recourse file.
class ReasonAudit {
 public:
  /// `rows` are the training rows, where they are at hand: without them a reference made of
  /// accepted rows is taken as stated. Without a reference no answer may state reasons.
  ReasonAudit(const Model& model, double threshold, const std::optional<ReasonReference>& stated,
              const StoredRows* rows);

  /// Whether `answer` has the reasons that its query should have; adds what is wrong.
  void check(JsonObject& answer, const RawRow& query, std::vector<std::string>& failures) const;

  /// What is wrong with the reference; empty where nothing is, or where it cannot be known.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  void check_items(JsonObject reasons, const RawRow& query,
                   std::vector<std::string>& failures) const;
  /// The index of the feature, or nothing after a fault.
  [[nodiscard]] std::optional<std::size_t> check_item(JsonObject item, const RawRow& query,
                                                      const Vector& contributions,
                                                      std::vector<std::string>& failures) const;

  const Model* model_;
  double threshold_;
  std::optional<Reasoner> reasoner_;
  std::string fault_;  // of the reference
};

}  // namespace ellice
