#pragma once

// What Python holds of ours.

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answers.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/model.hpp"
#include "frame.hpp"

namespace ellice::python {

namespace nb = nanobind;

using Keywords = nb::typed<nb::dict, nb::str, nb::any>;
using List = nb::typed<nb::list, nb::any>;

struct HeldFrame {
  HeldFrame() = default;
  HeldFrame(HeldFrame&&) = default;
  HeldFrame& operator=(HeldFrame&&) = default;
  HeldFrame(const HeldFrame&) = delete;
  HeldFrame& operator=(const HeldFrame&) = delete;
  ~HeldFrame() = default;

  Frame frame = {};
  nb::list kept = {};  // what its columns look into
};

struct HeldModel {
  std::shared_ptr<const Model> model = {};
};

struct HeldExplainer {
  std::shared_ptr<const Explainer> explainer = {};
};

/// All that a question needs beside the model.
struct Asked {
  nb::dict keywords = {};
  std::string constraints = "{}";  // JSON
  std::vector<std::string> target = {};
  std::vector<HeldModel> ensemble = {};
  std::string reason_codes = {};    // YAML
  const HeldFrame* data = nullptr;  // the training rows, labelled,
  std::string data_file = {};       // or the CSV file that holds them
  int threads = 0;
};

[[nodiscard]] ExplainRequest request_of(const HeldModel& model, const Asked& asked);

[[nodiscard]] HeldModel held(Model model);
[[nodiscard]] Schema schema_of(const std::string& text);
/// Labelled rows, with their hash. Errors name rows.
[[nodiscard]] Dataset read_frame(const HeldFrame& frame, const Schema& schema,
                                 const std::string& weights, ClassValues classes,
                                 const Progress& progress);

void bind_tables(nb::module_& module);
void bind_models(nb::module_& module);
void bind_importing(nb::module_& module);
void bind_explaining(nb::module_& module);
void bind_judging(nb::module_& module);

}  // namespace ellice::python
