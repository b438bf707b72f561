// The body and the target of a request to the service: refused with a status and a place, or asked.

#include "asked.hpp"
#include "call_text.hpp"
#include "ellice/core/json.hpp"
#include "exchange.hpp"
#include "fuzz.hpp"

using namespace ellice;

namespace {

class Others final : public serve::ModelFinder {
 public:
  [[nodiscard]] std::shared_ptr<const Model> find(const std::string& sha256) const override {
    const Model& model = fuzz::model_for(sha256);
    return model.sha256 == sha256 ? borrowed(model) : nullptr;
  }
  [[nodiscard]] static std::shared_ptr<const Model> borrowed(const Model& model) {
    return {std::shared_ptr<const Model>(), &model};
  }
};

/// What the service would answer to an exception is always an error of its own form.
template <class F>
void answered(const F& work) {
  try {
    work();
  } catch (...) {
    std::string failure;
    const serve::Reply reply = serve::reply_of_exception(failure);
    fuzz::promise(failure.empty(), "bad input is no fault of ours");
    fuzz::promise(reply.status == 400 || reply.status == 422, "bad input is 400 or 422");
    fuzz::promise(parse_json(reply.body, "reply").contains("error"), "errors are JSON");
  }
}

std::string hash_of(const Json& body) {
  if (!body.is_object() || !body.contains("model_sha256")) return {};
  const Json& hash = body["model_sha256"];
  return hash.is_string() ? hash.get<std::string>() : std::string();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  answered([&] { (void)serve::read_target(text); });
  answered([&] {
    const Json body = serve::parse_body(text);
    const Model& model = fuzz::model_for(hash_of(body));
    const serve::Asked asked =
        serve::read_asked(body, Others::borrowed(model), nullptr, Others(), true);
    fuzz::promise(asked.people.rows() > 0, "somebody asks");
    fuzz::promise(!asked.key.empty() && parse_json(asked.key, "key").is_object(), "it has a key");
    (void)why_unsupported(asked.request);
  });
  return 0;
}
