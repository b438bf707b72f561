#pragma once

// Answers as Python holds them: records, columns and an Arrow stream.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arrow_c.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/explain/explainer.hpp"
#include "frame.hpp"

namespace ellice::python {

struct Answers {
  std::shared_ptr<const Explainer> explainer = {};
  std::vector<Answer> answers = {};
  std::size_t rows = 0;  // that were asked about
  bool is_interrupted = false;
  std::vector<std::string> remarks = {};
  std::vector<std::size_t> incomplete = {};  // queries whose row had empty cells
};

/// The rows of a frame, answered in blocks. Stopped, it holds what was finished.
void explain_frame(const Frame& frame, const std::optional<std::string>& id, OnError on_error,
                   const Execution& execution, Answers& result);

/// The recourse file of `ellice explain`, byte for byte.
[[nodiscard]] std::string file_text(const Answers& answers);

/// One column of the table of answers: what is absent has no value.
struct AnswerColumn {
  std::string name = {};
  std::variant<std::vector<std::optional<double>>, std::vector<std::int64_t>,
               std::vector<std::optional<std::string>>>
      values = {};
};

/// The table: `query`, `plan`, `status`, `id` where asked for, the features of the rows to reach
/// (with `only_changes` those that change, where they do), and the numbers of each answer. A name
/// that a feature has taken has an underscore before it.
[[nodiscard]] std::vector<AnswerColumn> answer_table(const Answers& answers, bool only_changes);

/// Fills in a stream with one batch, which holds the table. The stream owns it.
void export_arrow(std::vector<AnswerColumn> table, std::size_t rows, ArrowArrayStream& stream);

}  // namespace ellice::python
