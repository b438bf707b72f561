#pragma once

// The auditor of recourse files, who trusts nothing that stands in them: nothing here searches for
// answers, and nothing that does is used here.

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"

namespace ellice {

/// How well what a field says is known after an audit.
enum class Standing {
  proved,       // for every model of the set, or every row that is allowed
  recomputed,   // equal to what the model, the rows and the rest of the file give
  consistent,   // held against the rest of the file, which would contradict most other values
  not_checked,  // taken as it stands
};
template <>
struct EnumNames<Standing> {
  static constexpr std::array<std::string_view, 4> names = {"proved", "recomputed", "consistent",
                                                            "not_checked"};
};

/// What an independent look at one answer of a file found.
struct AnswerAudit {
  std::size_t query_index = 0;
  int plan = 0;
  Status status = Status::not_found;
  double epsilon = 0;
  double threshold = 0;
  double logit = 0;                           // recomputed, where there is a certificate
  double robust_logit = 0;                    // likewise
  std::optional<Index> winner = {};           // many classes: the one that the answer names
  std::optional<Vector> breaking_model = {};  // true set: one of it that rejects the row
  std::vector<std::string> changed = {};      // features, sorted
  double cost = 0;                            // recomputed, of the row
  std::vector<std::string> failures = {};
  /// What is stated and was neither confirmed nor refuted, each with what it is about first.
  std::vector<std::string> unverified = {};
  /// By field of the record, where nothing failed.
  std::map<std::string, Standing> fields = {};
  [[nodiscard]] bool holds() const { return failures.empty(); }
};

/// Those who asked, in the order of their table; nothing where a row could not be read.
using People = std::vector<std::optional<RawRow>>;
/// What their table says who they are; nothing where it does not.
using PeopleIds = std::vector<std::optional<std::string>>;

/// People by number, both ends included.
struct PeopleRange {
  std::size_t first = 0;
  std::size_t last = 0;
};
/// «0, 5 to 9».
[[nodiscard]] std::string words(const std::vector<PeopleRange>& people);

/// What it found about a whole file.
struct FileAudit {
  std::vector<AnswerAudit> answers = {};
  std::vector<std::string> failures = {};       // of what stands around the answers
  std::map<std::string, Standing> fields = {};  // of the same, where nothing failed
  bool is_interrupted = false;                  // as the file says: some people may be missing
  /// Who is: of those who asked, or, where they are not known, of those before the last answer.
  std::vector<PeopleRange> missing = {};
  [[nodiscard]] bool holds() const;  // it, and every answer
  [[nodiscard]] std::size_t size() const { return answers.size(); }
  [[nodiscard]] const AnswerAudit& operator[](std::size_t i) const { return answers[i]; }
  [[nodiscard]] auto begin() const { return answers.begin(); }
  [[nodiscard]] auto end() const { return answers.end(); }
};

/// Re-checks every answer of a recourse file against the model: certificates (by the independent
/// Verifier), that they speak of the ε, the threshold and the row of the answer, that the row keeps
/// the schema's and the request's constraints, that changes, distances and logits are those of the
/// row, that plans differ as they should, that no cheaper row contradicts the stated gap, the
/// proofs of infeasibility with their largest ε, and the reasons of refusals; and that nobody is
/// missing, and that ε, method and options go together. A file without answers holds nothing. Where
/// rows are at hand the model's curvature and loss must be theirs. Throws Error{input}
/// for a file that is not one, or for another model, Error{argument} where the answers are for an
/// ensemble and not all its other models are given as `members`, or for the true set and neither
/// `rows` are given nor does the model file hold them. Where `people` are given, every record must
/// be about its own one, by the identifier, too, where both have one, and who is missing is known
/// to the last.
[[nodiscard]] FileAudit audit_recourse_file(const Json& file, const Model& model,
                                            const std::string& source,
                                            const std::vector<const Model*>& members = {},
                                            const StoredRows* rows = nullptr,
                                            const People* people = nullptr,
                                            const PeopleIds* ids = nullptr);

/// Finds what proves the gaps of records, for a later audit: points in which the models of the set
/// are worst, of a tree that decides all that is discrete. Nothing of the search that found the
/// answers takes part.
class GapProver {
 public:
  /// `asked` is a recourse file without results, `model` as the run asks it (`with_wishes`); model,
  /// members and rows must outlive this.
  GapProver(const Json& asked, const Model& model, const std::vector<const Model*>& members,
            const StoredRows* rows);

  /// Of the next record, in the order of the file; an empty object where there is no such proof or
  /// none was found.
  [[nodiscard]] Json prove(const Json& record);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ellice
