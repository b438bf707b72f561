#include "explain/recourse_request.hpp"

#include <algorithm>
#include <memory>

#include "core/as_input.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/explain/explain_request.hpp"
#include "methods/method_table.hpp"

namespace ellice {

namespace {

/// A pointer that owns nothing: the model outlives the check.
std::shared_ptr<const Model> borrowed(const Model& model) {
  return {std::shared_ptr<const Model>(), &model};
}

void check_method(JsonObject top) {
  const std::string name = top.string("method");
  const std::vector<Method>& known = methods();
  if (std::any_of(known.begin(), known.end(), [&](const Method& m) { return m.name == name; }))
    return;
  top.wrong("method", fmt::format("one of {}", fmt::join(method_names(), ", ")));
}

/// The models in the order in which the file names them; those that are not given are left out,
/// which others report.
std::vector<std::shared_ptr<const Model>> named_members(JsonObject options,
                                                        const std::vector<const Model*>& given) {
  std::vector<std::shared_ptr<const Model>> members;
  if (!options.has("ensemble")) return members;
  for (const std::string& sha256 : options.strings("ensemble")) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const Model* model) { return model->sha256 == sha256; });
    if (found != given.end()) members.push_back(borrowed(**found));
  }
  return members;
}

}  // namespace

void check_recourse_request(const Json& file, const std::string& source, const Model& model,
                            const std::vector<const Model*>& ensemble) {
  as_input(source, [&] {
    JsonObject top(file, source);
    if (top.string("model_sha256") != model.sha256) return;  // others say what that means
    JsonObject options = top.object("options");
    std::vector<std::shared_ptr<const Model>> members = named_members(options, ensemble);
    const bool all_given =
        !options.has("ensemble") || options.strings("ensemble").size() == members.size();
    if (!all_given) return;
    check_method(top);
    (void)explain_request_from_json(file, source, borrowed(model), std::move(members), nullptr);
  });
}

}  // namespace ellice
