#include "search/supported_rows.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"
#include "search/comparison.hpp"

namespace ellice {

SupportedRows::SupportedRows(const Problem& problem, RowMatrixArg rows,
                             const std::vector<Index>& chosen, Variant variant)
    : problem_(&problem), variant_(variant), assembler_(problem), chosen_(chosen) {
  validate(problem);
  const Encoder& encoder = problem.model->encoder;
  require(rows.cols() == static_cast<Index>(encoder.schema().features.size()),
          "the rows have {} features, the model has {}", rows.cols(),
          encoder.schema().features.size());
  require(rows.allFinite(), "a training row has an entry that is not finite");
  raw_ = rows(chosen, Eigen::all);
  if (!chosen.empty()) {
    search_.emplace(encoder.encode(raw_), weighted_squares(Vector::Ones(encoder.columns())));
  }
}

void SupportedRows::look_at(Index count, std::vector<bool> passes) {
  looked_at_ = count;
  passes_ = std::move(passes);
}

std::optional<Index> SupportedRows::nearest(const FeasibleSet& feasible) const {
  if (!search_) return std::nullopt;
  if (looked_at_ > 0) {
    for (const Neighbour& near : search_->find_one(feasible.query(), looked_at_)) {
      if (passes_[static_cast<std::size_t>(chosen_[static_cast<std::size_t>(near.row)])])
        return near.row;
    }
    return std::nullopt;
  }
  std::function<bool(Index)> filter;
  if (variant_ == Variant::corrected) {
    filter = [&](Index row) {
      for (std::size_t j = 0; j < feasible.ranges().size(); ++j)
        if (!feasible.ranges()[j].contains(raw_(row, static_cast<Index>(j)))) return false;
      return problem_->model->schema().constraints.empty() ||
             feasible.violations(raw_.row(row).transpose()).empty();
    };
  }
  const std::vector<Neighbour> found = search_->find_one(feasible.query(), 1, filter);
  return found.empty() ? std::nullopt : std::optional(found.front().row);
}

std::vector<Answer> SupportedRows::answer(const std::vector<Query>& queries,
                                          const Execution& execution,
                                          const std::function<bool(const Vector&)>& is_enough,
                                          const std::function<std::string()>& why_nothing) const {
  std::vector<Answer> answers(queries.size());
  parallel_for("searching rows", queries.size(), execution, [&](std::size_t i) {
    const FeasibleSet feasible = feasible_set(*problem_, queries[i], Rounding::none);
    Answer& answer = answers[i] = assembler_.begin(queries[i], feasible);
    if (variant_ == Variant::corrected && is_enough(feasible.query())) {
      keep_query(assembler_, answer, feasible);
      return;
    }
    if (const std::optional<Index> row = nearest(feasible)) {
      assembler_.take(answer, raw_.row(*row).transpose(), feasible);
    } else if (variant_ == Variant::published) {
      return_query(assembler_, answer, feasible);
    } else {
      answer.status = Status::not_found;
      answer.message =
          search_ ? why_nothing() + ", but none of them meets the constraints" : why_nothing();
    }
  });
  return answers;
}

}  // namespace ellice
