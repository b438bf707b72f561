#pragma once

// The library's front door: a request as a value, an Explainer that answers it, answers that carry
// their certificates, and an auditor that trusts neither.
//
//   const auto model = std::make_shared<const ellice::Model>(ellice::read_model("m.json"));
//   const ellice::Explainer explainer({.model = model, .epsilon = "1%"});
//   for (const ellice::Answer& answer :
//        explainer.explain(ellice::read_queries("declined.csv", *model)))
//     fmt::print("{}\n", sentence(answer));
//
// Who builds or reads JSON includes ellice/core/json.hpp besides, which takes a second to compile.

#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/version.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/data/table.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/coefficients.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "ellice/report/sentence.hpp"
