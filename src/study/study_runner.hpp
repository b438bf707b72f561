#pragma once

#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/study/store.hpp"
#include "study/cell.hpp"
#include "study/plan.hpp"

namespace ellice {

/// The names that plans may use here.
[[nodiscard]] StudyNames study_names();

/// All cells of a plan, in the order in which they are run: those of one fold and model together,
/// because they share the models that judge them.
[[nodiscard]] std::vector<CellName> study_cells(const StudyPlan& plan);

/// What identifies a study's results: plan, version, data.
[[nodiscard]] Json study_identity(const StudyPlan& plan);

/// Throws Error{input} for a method whose values or options mean nothing, before anything is run.
void check_study(const StudyPlan& plan);

/// Runs every cell that the store does not hold yet and adds it. Progress counts cells. Ends with
/// Error{cancelled} when told to stop; what is finished stays. A method that cannot be run on a
/// fold (see StudyCell::failure) does not end the study.
///
/// The models that judge are made once per fold; `folder` keeps them until all its cells are there,
/// so that going on does not train them again.
void run_study(const StudyPlan& plan, StudyStore& store, const std::string& folder,
               const Execution& execution);

}  // namespace ellice
