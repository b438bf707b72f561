#pragma once

// Answers to be judged, from our own files or from anybody's table. Only what an evaluation needs
// is read: query, counterfactual, status, plan, seconds; distances, logits and certificates of a
// file are not trusted but computed again.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "request/problem.hpp"
#include "study/metrics.hpp"

namespace ellice {

/// For which models a certificate speaks, and what it says of them.
struct Promise {
  std::string model_sha256 = {};
  SetKind set = SetKind::last_layer;
  double epsilon = 0;
  double threshold = 0;
  std::optional<double> damping = {};
  std::vector<std::string> acceptable = {};  // of many classes: any of them will do
};

struct AnswerFile {
  std::vector<Answer> answers = {};
  std::vector<std::optional<Promise>> promises =
      {};  // of answers with a certificate; our files only
  // Of our own recourse files:
  std::optional<std::string> model_sha256 = {};
  std::optional<double> threshold = {};
  std::optional<double> epsilon = {};  // largest that the file is about
  std::string method = {};
  std::optional<std::size_t> explained = {};  // queries, by the file's own count
  bool declined = false;                      // who was accepted was not asked about
};

/// A recourse file, or its records one per line. Throws Error{input} naming the place.
[[nodiscard]] AnswerFile answers_from_json(const std::string& text, const Model& model,
                                           const std::string& source);

/// A table with the column query_index (row of the query file, from 0) and the features in original
/// units, matched by name in any order; the columns of our own CSV (plan, status, distances …) are
/// understood, and `seconds`; a one-hot group may also be one column that names its level. A row
/// whose features are all empty says that nothing was found. Whole numbers may be fractions here:
/// what an answer breaks of the schema is found later (answer_batch). Throws Error{input} for any
/// other column, an index beyond the queries or one that is there twice, and where a distance of
/// the table is not the one from that query.
[[nodiscard]] AnswerFile answers_from_table(RowSource& table, const std::vector<Query>& queries,
                                            const Model& model);

/// All rows of a query file.
[[nodiscard]] std::vector<Query> read_queries(RowSource& table, const Model& model);

/// What a query without an answer is.
enum class MissingAnswers {
  error,
  not_found,  // counted as not robust
};
template <>
struct EnumNames<MissingAnswers> {
  static constexpr std::array<std::string_view, 2> names = {"error", "not-found"};
};

/// Without a query file: Error{input} where answers are missing from our own file, by its count of
/// queries or by a gap in query_index. Judged without them a method would look better than it is.
void require_all_answers(const AnswerFile& file, const std::string& source);

/// Adds an answer `not_found` for each query that has none; where it counts (see ExplainedRows)
/// that is an Error{input} unless `missing` allows it, and so is an answer whose query is not the
/// row of that index.
void complete_answers(AnswerFile& file, const std::vector<Query>& queries, const Model& model,
                      double threshold, ExplainedRows rows, MissingAnswers missing,
                      const std::string& source);

}  // namespace ellice
