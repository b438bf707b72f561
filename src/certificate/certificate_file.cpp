#include <algorithm>

#include "certificate/certificate_json.hpp"
#include "data/row_json.hpp"
#include "ellice/certificate/certificate.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

constexpr std::string_view certificate_format = "ellice.certificate";
constexpr int certificate_version = 1;

void check_class(const JsonObject& object, std::string_view key, const std::string& name,
                 const Model& model) {
  const std::vector<std::string>& classes = model.decision.classes;
  if (std::find(classes.begin(), classes.end(), name) != classes.end()) return;
  object.wrong(key, "a class of the model; " + suggestion(name, classes));
}

/// What takes the place of the worst model where there are many classes.
void read_rivals(JsonObject& object, const Model& model, Certificate& certificate) {
  certificate.target = object.string("target");
  check_class(object, "target", certificate.target, model);
  if (object.has("acceptable")) {
    certificate.acceptable = object.strings("acceptable");
    for (const std::string& name : certificate.acceptable) {
      check_class(object, "acceptable", name, model);
    }
  }
  const Index parameters =
      model.network.outputs() * (model.network.layers.back().weights.cols() + 1);
  for (JsonObject& rival : object.objects("rivals")) {
    certificate.rivals.push_back({.name = rival.string("class"),
                                  .logit = rival.number("logit"),
                                  .robust_logit = rival.number("robust_logit"),
                                  .worst_model = rival.vector("worst_model", parameters)});
    check_class(rival, "class", certificate.rivals.back().name, model);
    rival.finish();
  }
}

}  // namespace

void write_json(JsonOutput& out, const Certificate& certificate, const Schema& schema) {
  using Items = JsonOutput::Items;
  out.begin_object();
  out.put("format", certificate_format);
  out.put("version", certificate_version);
  out.put("model_sha256", certificate.model_sha256);
  out.put("set", certificate.set);
  out.put("epsilon", certificate.epsilon);
  out.put_if("damping", certificate.damping);
  out.put("threshold", certificate.threshold);
  out.key("point");
  write_row(out, schema, certificate.point);
  out.put("encoded", certificate.encoded);
  out.put("logit", certificate.logit);
  out.put("robust_logit", certificate.robust_logit);
  if (is_first_order(certificate.set)) {
    out.put("predicted_logit", certificate.robust_logit);
    out.put("real_logit", certificate.real_logit.value_or(certificate.robust_logit));
  } else if (!certificate.rivals.empty()) {
    out.put("target", certificate.target);
    if (!certificate.acceptable.empty()) out.put("acceptable", certificate.acceptable);
    out.key("rivals");
    out.begin_array(Items::structures);
    for (const RivalCertificate& rival : certificate.rivals) {
      out.begin_object();
      out.put("class", rival.name);
      out.put("logit", rival.logit);
      out.put("robust_logit", rival.robust_logit);
      out.put("worst_model", rival.worst_model);
      out.end_object();
    }
    out.end_array();
  } else {
    out.put("worst_model", certificate.worst_model);
  }
  if (certificate.set == SetKind::ensemble) {
    out.key("members");
    out.begin_array(Items::structures);
    for (const MemberCertificate& member : certificate.members) {
      out.begin_object();
      out.put("model_sha256", member.model_sha256);
      out.put("logit", member.logit);
      out.put("robust_logit", member.robust_logit);
      out.put("worst_model", member.worst_model);
      out.end_object();
    }
    out.end_array();
  }
  out.put("claim", certificate.claim);
  out.end_object();
}

Json to_json(const Certificate& certificate, const Schema& schema) {
  JsonTree tree;
  write_json(tree, certificate, schema);
  return tree.take();
}

Certificate certificate_from_json(const Json& value, const Model& model, const std::string& source,
                                  const std::string& path) {
  JsonObject object(value, source, path);
  object.envelope(certificate_format, certificate_version);
  Certificate certificate{.model_sha256 = object.string("model_sha256")};
  if (certificate.model_sha256 != model.sha256) {
    fail(
        ErrorCode::input,
        "{}: {}: the certificate is for another model: model_sha256 is {}, the model file's is {}; "
        "verify it against the model that it was issued for",
        source, path.empty() ? "top level" : path, certificate.model_sha256, model.sha256);
  }
  certificate.set = object.choice<SetKind>("set");
  certificate.epsilon = object.number("epsilon");
  if (certificate.epsilon < 0) object.wrong("epsilon", "a number >= 0");
  const bool may_have_damping = certificate.set != SetKind::isotropic && object.has("damping");
  if (certificate.set == SetKind::full || may_have_damping) {
    certificate.damping = object.number("damping");
    if (!(*certificate.damping > 0)) object.wrong("damping", "a number > 0");
  }
  certificate.threshold = object.number("threshold");
  certificate.point = row_from_json(model.schema(), object.at("point"), source,
                                    path.empty() ? "point" : path + ".point");
  certificate.encoded = object.vector("encoded", model.encoder.columns());
  certificate.logit = object.number("logit");
  certificate.robust_logit = object.number("robust_logit");
  if (is_first_order(certificate.set)) {
    if (object.number("predicted_logit") != certificate.robust_logit) {
      object.wrong("predicted_logit", "the same number as robust_logit");
    }
    certificate.real_logit = object.number("real_logit");
  } else if (model.network.outputs() > 1) {
    read_rivals(object, model, certificate);
  } else {
    certificate.worst_model =
        object.vector("worst_model", model.network.layers.back().weights.cols() + 1);
  }
  if (certificate.set == SetKind::ensemble) {
    for (JsonObject& member : object.objects("members")) {
      certificate.members.push_back({.model_sha256 = member.string("model_sha256"),
                                     .logit = member.number("logit"),
                                     .robust_logit = member.number("robust_logit"),
                                     .worst_model = member.vector("worst_model")});
      member.finish();
    }
  }
  certificate.claim = object.string("claim");
  object.finish();
  return certificate;
}

}  // namespace ellice
