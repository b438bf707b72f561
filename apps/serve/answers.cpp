// Explaining, certifying, tracing and verifying: what the verbs of the command line do, with the
// same bytes.

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/as_input.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/table.hpp"
#include "ellice/model/loss.hpp"
#include "explain/answer_block.hpp"
#include "explain/fewer_changes.hpp"
#include "model/deciding.hpp"
#include "report/verification_file.hpp"
#include "request/problem.hpp"
#include "request/query_reader.hpp"
#include "service.hpp"

namespace ellice::serve {

namespace {

// Of a stream: so many people are answered together, and then sent.
constexpr std::size_t stream_block = 64;

const std::vector<std::string>& default_epsilons() {
  static const std::vector<std::string> levels = {"0",  "0.5%", "1%",  "2%",
                                                  "5%", "10%",  "15%", "20%"};
  return levels;
}

Asked asked_of(const RouteCall& call, const ServedModel& model, Json body, bool takes_epsilons) {
  return read_asked(std::move(body), model.model(), model.given_rows(), *call.models,
                    takes_epsilons);
}

/// As the command line does: constraints of a query that there is not are a mistake.
void check_query_indices(const Asked& asked) {
  const auto& queries = asked.request.constraints.queries;
  if (queries.empty()) return;
  const std::size_t last = queries.rbegin()->first;
  const std::size_t rows = asked.people.rows();
  if (last >= rows) {
    throw Refusal(422, fmt::format("there are {} people, counted from 0", rows),
                  fmt::format("options.queries.{}", last));
  }
}

/// The answers to people, as files have them.
std::vector<Answer> explained(const RouteCall& call, const Explainer& explainer,
                              const std::vector<Query>& queries) {
  if (queries.empty()) return {};
  std::vector<Answer> answers =
      explainer.explain(queries, {.threads = call.service->batch_threads(queries.size())});
  if (explainer.shows_trade_off()) reasons_to_messages(answers);
  return answers;
}

void count(const RouteCall& call, const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) call.service->metrics().count_answer(answer.status);
}

/// What a stream holds between its pieces, when no thread works for it.
struct StreamState {
  RouteCall call = {};
  std::shared_ptr<const ServedModels> models = {};  // which own the model
  std::shared_ptr<const WarmExplainer> warm = {};
  QueryBlock people = {};
  std::size_t next_query = 0;
  std::size_t next_invalid = 0;
};

/// The answers to the next people in the order of their rows, one per line; false after the last.
bool next_lines(StreamState& state, std::string& piece) {
  std::vector<Query> queries;
  std::vector<Answer> invalid;
  while (queries.size() + invalid.size() < stream_block) {
    const bool has_query = state.next_query < state.people.queries.size();
    const bool has_invalid = state.next_invalid < state.people.invalid.size();
    if (!has_query && !has_invalid) break;
    if (has_query && (!has_invalid || state.people.queries[state.next_query].index <
                                          state.people.invalid[state.next_invalid].query_index)) {
      queries.push_back(std::move(state.people.queries[state.next_query++]));
    } else {
      invalid.push_back(std::move(state.people.invalid[state.next_invalid++]));
    }
  }
  if (queries.empty() && invalid.empty()) return false;
  const Explainer& explainer = state.warm->explainer();
  const Schema& schema = explainer.model().schema();
  const std::vector<Answer> all =
      in_order(explained(state.call, explainer, queries), std::move(invalid));
  count(state.call, all);
  for (const Answer& answer : all) piece += compact_text(to_json(answer, schema)) + '\n';
  return true;
}

bool wants_lines(const Call& call) {
  return call.accept.find("application/x-ndjson") != std::string::npos;
}

}  // namespace

QueryBlock read_people(const ServedModel& model, const Asked& asked) {
  check_query_indices(asked);
  TableSource source(asked.people);
  QueryReader reader(*model.model(), source, asked.options.id,
                     asked.options.on_error == OnBadRow::skip ? OnError::skip : OnError::stop);
  return reader.next(asked.people.rows());
}

std::vector<Answer> explain_people(const RouteCall& call, const ServedModel& model,
                                   const Asked& asked) {
  const std::shared_ptr<const WarmExplainer> warm = model.explainer(asked);
  QueryBlock block = read_people(model, asked);
  std::vector<Answer> answers =
      in_order(explained(call, warm->explainer(), block.queries), std::move(block.invalid));
  count(call, answers);
  return answers;
}

Prediction predict(const Model& model, const Query& query) {
  Vector z(model.encoder.columns());
  model.encoder.encode({query.raw.data(), static_cast<std::size_t>(query.raw.size())}, z);
  if (model.network.outputs() == 1) {
    const double logit = deciding_logit(model, z);
    return {.accepted = logit >= model.decision.threshold, .probability = sigmoid(logit)};
  }
  const Vector scores = model.network.scores(z);
  const auto& classes = model.schema().target.classes;
  const auto favourable =
      std::find(classes.begin(), classes.end(), model.schema().target.favourable);
  const auto wanted = static_cast<Index>(favourable - classes.begin());
  Index best = 0;
  const double most = scores.maxCoeff(&best);
  const Vector shares = (scores.array() - most).exp();
  return {.accepted = best == wanted, .probability = shares(wanted) / shares.sum()};
}

Reply answer_explain(const RouteCall& call) {
  Json body = parse_body(call.call->body);
  const ServedModel& model = model_of(call, &body);
  const Asked asked = asked_of(call, model, std::move(body), false);
  call.service->metrics().count_people("/api/explain", asked.people.rows());
  if (!wants_lines(*call.call)) {
    const std::shared_ptr<const WarmExplainer> warm = model.explainer(asked);
    return {.body = recourse_file_text(warm->explainer(), explain_people(call, model, asked)),
            .model = model.name()};
  }
  auto state = std::make_shared<StreamState>();
  state->call = {.service = call.service};
  state->models = call.models;
  state->warm = model.explainer(asked);
  state->people = read_people(model, asked);
  return {.type = "application/x-ndjson",
          .next = [state](std::string& piece) { return next_lines(*state, piece); },
          .model = model.name()};
}

Reply answer_certify(const RouteCall& call) {
  Json body = parse_body(call.call->body);
  const ServedModel& model = model_of(call, &body);
  const Asked asked = asked_of(call, model, std::move(body), false);
  call.service->metrics().count_people("/api/certify", asked.people.rows());
  const std::shared_ptr<const WarmExplainer> warm = model.explainer(asked);
  const Explainer& explainer = warm->explainer();
  const Schema& schema = model.model()->schema();
  const QueryBlock block = read_people(model, asked);
  std::vector<std::pair<std::size_t, Json>> results;
  for (const Query& query : block.queries) {
    const RawRow row = model.model()->encoder.values(
        {query.raw.data(), static_cast<std::size_t>(query.raw.size())});
    const std::optional<Certificate> certificate = warm->certifier().certify(row);
    const Evaluation numbers = warm->certifier().evaluate(row);
    Json result = {{"query_index", query.index}, {"certified", certificate.has_value()}};
    if (query.id) result["id"] = *query.id;
    result["accepted"] = explainer.accepts(query.raw);
    result["logit"] = numbers.logit;
    result["robust_logit"] = numbers.robust_logit;
    if (numbers.real_logit) result["real_logit"] = *numbers.real_logit;
    result["certificate"] = certificate ? to_json(*certificate, schema) : Json();
    results.emplace_back(query.index, std::move(result));
  }
  for (const Answer& answer : block.invalid) {
    results.emplace_back(answer.query_index, Json{{"query_index", answer.query_index},
                                                  {"certified", false},
                                                  {"message", answer.message}});
  }
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  Json document = make_envelope("ellice.certification", 1);
  document["model_sha256"] = model.model()->sha256;
  document["set"] = std::string(enum_name(explainer.problem().set.kind));
  document["epsilon"] = explainer.epsilon();
  document["threshold"] = explainer.problem().threshold;
  document["results"] = Json::array();
  for (auto& [index, result] : results) document["results"].push_back(std::move(result));
  return {.body = to_text(document), .model = model.name()};
}

Reply answer_frontier(const RouteCall& call) {
  Json body = parse_body(call.call->body);
  const ServedModel& model = model_of(call, &body);
  Asked asked = asked_of(call, model, std::move(body), true);
  if (asked.epsilons.empty()) asked.epsilons = default_epsilons();
  call.service->metrics().count_people("/api/frontier", asked.people.rows());
  const std::shared_ptr<const WarmFrontier> warm = model.frontier(asked);
  asked.options.on_error = OnBadRow::stop;
  const QueryBlock block = read_people(model, asked);
  Json document = frontier_document(warm->owned.problem(), warm->tracer.epsilons());
  for (const FrontierCurve& curve : warm->tracer.trace(
           block.queries, {.threads = call.service->batch_threads(block.queries.size())}))
    document["results"].push_back(to_json(curve));
  return {.body = to_text(document), .model = model.name()};
}

Reply answer_verify(const RouteCall& call) {
  const Json body = parse_body(call.call->body);
  const ServedModel& model = model_of(call, &body);
  std::vector<const Model*> ensemble;
  const auto add = [&](const Json& sha256) {
    const ServedModel* const other =
        sha256.is_string() ? call.models->by_hash(sha256.get<std::string>()) : nullptr;
    if (other != nullptr) ensemble.push_back(other->model().get());
  };
  if (body.is_object() && body.contains("options") && body["options"].is_object() &&
      body["options"].contains("ensemble")) {
    for (const Json& sha256 : body["options"]["ensemble"]) add(sha256);
  }
  if (body.is_object() && body.contains("members") && body["members"].is_array()) {
    for (const Json& member : body["members"])
      if (member.is_object() && member.contains("model_sha256")) add(member["model_sha256"]);
  }
  const auto& rows = is_about_true_set(body) ? model.rows() : model.given_rows();
  const FileAudit all = as_input("request", [&] {
    return audit_document(body, *model.model(), ensemble, rows ? &rows->fitted.rows : nullptr,
                          nullptr, "request");
  });
  return {.body = to_text(verification_document(*model.model(), all)), .model = model.name()};
}

}  // namespace ellice::serve
