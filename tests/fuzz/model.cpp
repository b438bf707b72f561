// Model files: one that is read can be asked, and is written as it was read.

#include "ellice/core/json.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/model_file.hpp"
#include "fuzz.hpp"

using namespace ellice;

namespace {

/// Somebody in the middle of the training rows.
RawRow middle(const Model& model) {
  Vector z = Vector::Zero(model.encoder.columns());
  return model.encoder.decode(z);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::accept([&] {
    const auto model = std::make_shared<const Model>(
        model_from_json(parse_json(fuzz::text_of(data, size), "fuzzed.json"), "fuzzed.json"));
    const Model again = model_from_json(to_json(*model), "written.json");
    fuzz::promise(again.sha256 == model->sha256, "a model reads back");
    ExplainRequest request{.model = model, .epsilon = "1%"};
    request.options.exact.node_limit = 5;
    request.options.network.max_iterations = 3;
    request.options.network.discrete_nodes = 3;
    const Explainer explainer(request);
    (void)explainer.explain(std::vector<Query>{{.raw = model->encoder.raw(middle(*model))}});
  });
}
