#include "request/recourse_file.hpp"

#include "ellice/core/json.hpp"
#include "request/answer_json.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

constexpr int recourse_version = 1;

}  // namespace

Json to_json(const Request& request) {
  const Problem& problem = request.problem;
  Json result = make_envelope(recourse_format, recourse_version);
  result["model_sha256"] = problem.model->sha256;
  result["epsilon"] = {{"value", problem.epsilon}, {"rule", request.rule.text}};
  result["set"] = std::string(enum_name(problem.set.kind));
  result["cost"] = std::string(enum_name(problem.cost.kind));
  result["method"] = request.method;
  result["seed"] = request.seed;
  Json options = {{"threshold", problem.threshold}};
  if (problem.cost.sparsity_weight > 0) options["sparsity_weight"] = problem.cost.sparsity_weight;
  if (problem.set.damping) options["damping"] = *problem.set.damping;
  if (problem.set.contest) {
    const Model& model = *problem.model;
    for (const Index k : acceptable_classes(model, *problem.set.contest)) {
      options["target"].push_back(model.decision.classes[static_cast<std::size_t>(k)]);
    }
  } else if (problem.set.kind == SetKind::last_layer || problem.set.kind == SetKind::true_set) {
    options["retrain"] = problem.retraining.text();
  }
  for (const Model* member : problem.set.members) options["ensemble"].push_back(member->sha256);
  if (request.declined) options["declined"] = true;
  options.update(to_json(problem.constraints));
  options.update(*request.method_options);
  result["options"] = options;
  const std::string no_radius = no_radius_reason(problem);
  const std::string no_survival = no_survival_reason(problem);
  if (!no_radius.empty()) result["not_stated"]["robustness_radius"] = no_radius;
  if (!no_survival.empty()) result["not_stated"]["predicted_survival"] = no_survival;
  if (request.reference) result["reasons"] = to_json(*request.reference);
  return result;
}

bool is_json_lines(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return false;
  const std::string line =
      text.substr(start, std::min(text.find('\n', start), text.size()) - start);
  if (!Json::accept(line)) return false;
  const Json first = Json::parse(line);
  return first.is_object() && first.contains("query_index");
}

std::vector<Json> parse_json_lines(const std::string& text, const std::string& source) {
  std::vector<Json> lines;
  std::size_t number = 0;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = std::min(text.find('\n', first), text.size());
    const std::string line = text.substr(first, end - first);
    ++number;
    first = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    lines.push_back(parse_json(line, fmt::format("{}: line {}", source, number)));
  }
  return lines;
}

RecourseWriter::RecourseWriter(const Request& request)
    : request_(&request), asked_(sha256_hex(canonical_text(to_json(request)))) {
  if (request.make_prover) prove_ = request.make_prover();
}

std::string RecourseWriter::begin() const {
  std::string text = to_text(to_json(*request_));
  text.resize(text.size() - 3);  // "\n}\n": the object goes on
  return text + ",\n  \"results\": [";
}

RecourseRecords RecourseWriter::records(std::span<const Answer> answers) const {
  const Schema& schema = request_->problem.model->schema();
  RecourseRecords result;
  std::string hashed;
  JsonText canonical(hashed, JsonText::Style::canonical);
  JsonText indented(result.text, JsonText::Style::indented, 2);
  for (const Answer& answer : answers) {
    const Json proof = prove_ ? prove_(to_json(answer, schema)) : Json();
    const auto write = [&](JsonText& out, std::string_view sha256) {
      out.begin_object();
      write_members(out, answer, schema);
      if (!proof.empty()) {
        out.key("optimality");
        write_json(out, proof);
      }
      if (!sha256.empty()) out.put("sha256", sha256);
      out.end_object();
    };
    hashed = asked_;
    write(canonical, {});
    const std::string sha256 = sha256_hex(hashed);
    result.text += ",\n    ";
    write(indented, sha256);
    result.hashes += sha256;
    result.explained += answer.plan == 0 ? 1 : 0;
  }
  return result;
}

std::string_view RecourseWriter::add(const RecourseRecords& records) {
  if (records.text.empty()) return {};
  records_.update(records.hashes);
  explained_ += records.explained;
  return std::string_view(records.text).substr(std::exchange(first_, false) ? 1 : 0);
}

std::string RecourseWriter::end(Ending ending) {
  Json rest = {{"explained", explained_}};
  if (ending == Ending::interrupted) rest["interrupted"] = true;
  records_.update(asked_ + canonical_text(rest));
  rest["sha256"] = records_.hex();
  const std::string text = to_text(rest);  // "{\n": the object goes on
  return fmt::format("{}],{}", first_ ? "" : "\n  ", text.substr(1));
}

}  // namespace ellice
