#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/execution.hpp"
#include "ellice/data/table.hpp"
#include "ellice/explain/explain_request.hpp"
#include "ellice/request/answer.hpp"
#include "ellice/request/query.hpp"

namespace ellice {

struct Method;
struct Problem;
struct Request;

/// When answers get the reasons of refusals: tables have no room for them.
enum class FindReasons { now, later };

/// What people are to change, for every row that is asked about: resolves ε, the set and the method
/// of a request once, prepares the search, and is const from then on, so that threads may share it.
/// A copy shares all of it. Same rows, same answers, for any number of threads and any way to cut
/// rows into calls; query indices decide which of the constraints are a query's own.
class Explainer {
 public:
  /// Throws Error naming the field for what cannot be asked (see why_unsupported). `execution` is
  /// that of preparing: rules of ε and rows may take long.
  explicit Explainer(ExplainRequest request, const Execution& execution = {});

  /// In the order of the queries, one answer per plan; with the request's reasons, attack,
  /// selection effect and timings. People whom the base model accepts have none where the request
  /// is for those alone whom it declines.
  [[nodiscard]] std::vector<Answer> explain(const std::vector<Query>& queries,
                                            const Execution& execution = {},
                                            FindReasons reasons = FindReasons::now) const;
  /// What `later` left out, where the request asks for it.
  void find_reasons(std::vector<Answer>& answers, const Execution& execution = {}) const;
  /// The rows of a table, by the names of its columns, counted from `first`. A row that cannot be
  /// read stops the work (Error{input} with row and column) or becomes an answer `invalid`. Columns
  /// that do not fit always stop it.
  [[nodiscard]] std::vector<Answer> explain(const Table& table, OnError on_error = OnError::stop,
                                            const Execution& execution = {},
                                            std::size_t first = 0) const;

  /// A certificate for a row as it is, or nothing where some model of the set does not accept it.
  [[nodiscard]] std::optional<Certificate> certify(const RawRow& row) const;

  /// Whether the base model itself gives a person (see Query::raw) what is asked for.
  [[nodiscard]] bool accepts(VectorArg raw) const;

  /// Whether answers with several plans are trade-offs for display, as the request has it and the
  /// method can.
  [[nodiscard]] bool shows_trade_off() const;

  [[nodiscard]] const ExplainRequest& request() const;
  [[nodiscard]] const Model& model() const;
  [[nodiscard]] double epsilon() const;
  [[nodiscard]] const Problem& problem() const;
  [[nodiscard]] const Method& method() const;
  /// What was asked, as it was resolved: the head of a recourse file.
  [[nodiscard]] const Request& resolved() const;
  /// What a person should know before trusting answers: rows of other data, a head off its minimum.
  [[nodiscard]] const std::vector<std::string>& notes() const;

 private:
  /// With all that answers have beyond the search; also those that are kept after a stop.
  [[nodiscard]] std::vector<Answer> finished(std::vector<Answer> answers, int threads,
                                             FindReasons reasons) const;

  struct State;
  std::shared_ptr<const State> state_;
};

/// The recourse file of these answers, as `ellice explain` writes it.
[[nodiscard]] std::string recourse_file_text(const Explainer& explainer,
                                             const std::vector<Answer>& answers);

}  // namespace ellice
