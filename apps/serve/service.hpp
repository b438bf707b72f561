#pragma once

// The routes: what the service answers, without any network.

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "exchange.hpp"
#include "metrics.hpp"
#include "request/query_reader.hpp"
#include "served_model.hpp"

namespace ellice::serve {

class Service;

/// What a handler works with.
struct RouteCall {
  const Call* call = nullptr;
  std::string_view name = {};  // what stands for {name} in the path
  std::shared_ptr<const ServedModels> models = {};
  Service* service = nullptr;
};

/// What stands in the body of a request.
enum class BodyKind { none, asked, frontier, file, instances, tensors };

/// One path and method. The reference of the service is made from this table, too.
struct Route {
  std::string_view method = {};
  std::string_view path = {};  // {name} stands for one segment, or what comes before a colon
  std::string_view summary = {};
  Reply (*answer)(const RouteCall&) = nullptr;
  BodyKind body = BodyKind::none;
  std::string_view result = {};  // the schema of the answer; empty: not JSON
  std::string_view type = "application/json";
  std::span<const std::string_view> query = {};  // parameters of the URL
  bool is_open = false;                          // needs no token: says nothing of models or people
  bool is_long = false;                          // takes more than a moment, though it has no body

  [[nodiscard]] bool has_body() const { return body != BodyKind::none; }
  /// Whether it waits for a thread that computes.
  [[nodiscard]] bool is_queued() const { return has_body() || is_long; }
};

[[nodiscard]] std::span<const Route> routes();

struct FoundRoute {
  const Route* route = nullptr;
  std::string name = {};  // of {name}
};

/// Throws Refusal{404} for a path that there is not, and {405} for another method there; the
/// methods that the path has are then in `allowed`.
[[nodiscard]] FoundRoute find_route(std::string_view method, std::string_view path,
                                    std::string& allowed);

/// What the network knows and routes say.
struct Surroundings {
  std::function<Gauges()> gauges = {};
  std::function<int()> idle_threads = {};
  bool needs_token = false;
};

class Service {
 public:
  Service(std::shared_ptr<const ServedModels> models, std::string page);

  /// Throws what the route throws. Several threads may call it.
  [[nodiscard]] Reply answer(const FoundRoute& found, const Call& call);

  [[nodiscard]] std::shared_ptr<const ServedModels> models() const;
  /// From now on these; who is being answered keeps those before.
  void replace(std::shared_ptr<const ServedModels> models);

  [[nodiscard]] Metrics& metrics() { return metrics_; }
  [[nodiscard]] const std::string& page() const { return page_; }
  /// The content-security policy of the page: what it holds inline, by hash, and nothing else.
  [[nodiscard]] const std::string& policy() const { return policy_; }
  [[nodiscard]] const Surroundings& surroundings() const { return surroundings_; }
  void set_surroundings(Surroundings surroundings) { surroundings_ = std::move(surroundings); }
  /// For a batch: one thread, and those that have nothing to do.
  [[nodiscard]] int batch_threads(std::size_t people) const;

 private:
  mutable std::mutex mutex_;  // guards models_
  std::shared_ptr<const ServedModels> models_;
  std::string page_;
  std::string policy_;
  Metrics metrics_;
  Surroundings surroundings_;
};

/// The model that a call names in its URL, or its body by hash, or the only one. Throws Refusal.
[[nodiscard]] const ServedModel& model_of(const RouteCall& call, const Json* body = nullptr);
/// The model with the name in the path. Throws Refusal{404}.
[[nodiscard]] const ServedModel& named_model(const RouteCall& call);

// The handlers, by file.
[[nodiscard]] Reply answer_explain(const RouteCall& call);
[[nodiscard]] Reply answer_certify(const RouteCall& call);
[[nodiscard]] Reply answer_frontier(const RouteCall& call);
[[nodiscard]] Reply answer_verify(const RouteCall& call);
[[nodiscard]] Reply answer_openapi(const RouteCall& call);
[[nodiscard]] Reply answer_v1_models(const RouteCall& call);
[[nodiscard]] Reply answer_v1_model(const RouteCall& call);
[[nodiscard]] Reply answer_v1_predict(const RouteCall& call);
[[nodiscard]] Reply answer_v1_explain(const RouteCall& call);
[[nodiscard]] Reply answer_v2_server(const RouteCall& call);
[[nodiscard]] Reply answer_v2_model(const RouteCall& call);
[[nodiscard]] Reply answer_v2_ready(const RouteCall& call);
[[nodiscard]] Reply answer_v2_infer(const RouteCall& call);

/// The people of a request and their answers, for handlers that give answers another form. Counts
/// them.
[[nodiscard]] std::vector<Answer> explain_people(const RouteCall& call, const ServedModel& model,
                                                 const Asked& asked);
[[nodiscard]] QueryBlock read_people(const ServedModel& model, const Asked& asked);

/// What the base model gives a person.
struct Prediction {
  bool accepted = false;
  double probability = 0;  // of the favourable class
};
[[nodiscard]] Prediction predict(const Model& model, const Query& query);

/// The policy for a page: hashes of its inline scripts and styles.
[[nodiscard]] std::string policy_of(std::string_view page);

}  // namespace ellice::serve
