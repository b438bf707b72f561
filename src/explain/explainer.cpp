#include "ellice/explain/explainer.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>

#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "explain/answer_block.hpp"
#include "explain/fewer_changes.hpp"
#include "explain/owned_problem.hpp"
#include "model/deciding.hpp"
#include "radius/attack_answers.hpp"
#include "radius/epsilon_table.hpp"
#include "radius/selection_effect.hpp"
#include "radius/survival_notes.hpp"
#include "request/query_reader.hpp"
#include "request/recourse_file.hpp"
#include "search/exact_search.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

/// How far the base model puts a class before its strongest rival.
double base_lead(const Model& model, const Vector& z, Index winner,
                 const std::vector<Index>& rivals) {
  const Vector scores = model.network.scores(z);
  double lead = std::numeric_limits<double>::infinity();
  for (const Index rival : rivals) lead = std::min(lead, scores(winner) - scores(rival));
  return lead;
}

/// Whether nothing is asked of the number of changes or of plans.
bool asks_for_the_nearest(const ExplainRequest& request) {
  const ExactOptions& wishes = request.options.exact;
  return !wishes.max_changes && !wishes.sparse && !wishes.trade_off && wishes.plans == 1 &&
         request.cost.sparsity_weight == 0;
}

/// What to ask for where ε is above `most`: of survival the next level that is below it.
std::string smaller_epsilon(const OwnedProblem& owned, const EpsilonRule& rule, double most) {
  const std::optional<double> asked = rule.asked_survival(owned.model(), owned.problem().set);
  for (const int percent : {90, 80, 70, 60}) {
    if (!asked || percent >= 100 * *asked) continue;
    const EpsilonRule lower = parse_epsilon_rule(fmt::format("survival:{}%", percent));
    if (const double epsilon = owned.resolve(lower); epsilon < most)
      return fmt::format("ask for less, as in `epsilon: {}` ({:.3g})", lower.text, epsilon);
  }
  return fmt::format("give a smaller one, as in `epsilon: {:.2g}`{}", most / 2,
                     asked ? ", or train on more rows" : "");
}

bool may_anything_change(const Problem& problem) {
  const std::vector<Feature>& features = problem.model->schema().features;
  return std::any_of(features.begin(), features.end(), [&](const Feature& feature) {
    const auto limits = problem.constraints.features.find(feature.name);
    const bool is_locked = limits != problem.constraints.features.end() && limits->second.locked;
    return !feature.immutable && !is_locked;
  });
}

std::vector<std::string> notes_of(const OwnedProblem& owned, const Problem& problem,
                                  const EpsilonRule& rule) {
  std::vector<std::string> notes = owned.notes();
  for (std::string& note : survival_notes(problem)) notes.push_back(std::move(note));
  const double decrement = owned.model().training.head_decrement;
  if (is_ellipsoidal(problem.set.kind) && decrement > 0.01 * problem.epsilon && decrement > 1e-12) {
    notes.push_back(fmt::format(
        "the model's last layer is {:.3g} above the minimum of its objective, which is not small "
        "against epsilon = {:.3g}: the ellipsoid is centred off the optimum{}",
        decrement, problem.epsilon,
        parameter_signs(owned.model().network).size() > 0
            ? ", since monotone features keep their signs"
            : "; refit it first (`refit`, also when training)"));
  }
  if (!may_anything_change(problem)) {
    notes.emplace_back(
        "nothing may change, since every feature is locked or immutable: nobody who is declined "
        "will get a plan; lock fewer");
  } else if (const std::optional<double> most = reachable_epsilon(problem);
             most && problem.epsilon > *most && *most <= 0) {
    notes.emplace_back(
        "what may change has no weight in the model: nobody who is declined will get a plan; lock "
        "fewer features");
  } else if (most && problem.epsilon > *most) {
    const std::optional<bool> declines_all = declines_everybody(problem);
    if (declines_all.value_or(true)) {
      notes.push_back(fmt::format(
          "`epsilon` {:.3g} is above {:.3g}, from where on some models of the set ignore all that "
          "may change: {}; {}",
          problem.epsilon, *most,
          declines_all ? "one of them declines everybody, and nobody who is declined will get an "
                         "answer"
                       : "whoever is declined by one of them will get no answer",
          smaller_epsilon(owned, rule, *most)));
    }
  }
  return notes;
}

}  // namespace

struct Explainer::State {
  State(ExplainRequest request, const Execution& execution)
      : owned(std::move(request)), method(&supported_method(owned)), options(asked().options) {
    options.set_seed(asked().seed);
    resolved = {.problem = owned.problem(),
                .rule = parse_epsilon_rule(asked().epsilon),
                .method = std::string(method->name),
                .seed = asked().seed,
                .declined = asked().declined,
                .method_options = method->to_json(options)};
    Problem& problem = resolved.problem;
    add_used(*resolved.method_options);
    problem.epsilon = owned.resolve(resolved.rule, execution);
    if (asked().display) problem.display_steps = sensible_steps(owned.model().encoder);
    validate(problem);
    notes = notes_of(owned, problem, resolved.rule);
    generator = make(problem, {.threads = execution.threads});
    if (method->limits && options.exact.proof) {
      resolved.make_prover = [this] {
        auto prover = std::make_shared<GapProver>(to_json(resolved), owned.model(),
                                                  owned.problem().set.members, owned.fitted().rows);
        return [prover](const Json& record) { return prover->prove(record); };
      };
    }
    if (!asked().reasons || !Reasoner::supports(owned.model())) return;
    resolved.reference = make_reference(owned.model(), problem.threshold, owned.fitted().rows);
    reasoner.emplace(owned.model(), problem.threshold, *resolved.reference, asked().reason_codes);
  }

  [[nodiscard]] const ExplainRequest& asked() const { return owned.request(); }

  void add_used(Json& stated) const {
    if (method->used == nullptr) return;
    Json used = method->used(owned.problem(), options);
    if (!used.empty()) stated["used"] = std::move(used);
  }

  [[nodiscard]] std::unique_ptr<Generator> make(const Problem& problem,
                                                const Execution& execution) const {
    return make_generator(*method, problem, options, owned.fitted(), execution);
  }

  /// What answers of disturbed models are made by.
  [[nodiscard]] std::unique_ptr<Generator> make_disturbed(const Problem& problem,
                                                          const Execution& execution) const {
    ExactOptions wishes = options.exact;
    wishes.proof = false;  // of the answers themselves alone
    const bool is_plain = method->limits && wishes == ExactOptions{};
    if (is_plain) return disturbed_generator(problem);
    if (method->limits)
      return std::make_unique<ExactSearch>(problem, options.exact, NoAnswer::stated);
    return method->make(problem, options, owned.fitted(), nullptr, execution);
  }

  [[nodiscard]] bool shows_trade_off() const {
    return asked().shows_trade_off && method->few_changes && asks_for_the_nearest(asked());
  }

  /// Plans with at most so many changes, or with the fewest, of people who have one.
  [[nodiscard]] std::vector<Answer> answer_with(std::optional<int> most_changes,
                                                const std::vector<Query>& queries,
                                                const Execution& execution) const {
    const Problem& problem = resolved.problem;
    MethodOptions few = options;
    few.exact.max_changes = most_changes;
    few.exact.sparse = !most_changes;
    few.exact.proof = false;
    const std::optional<Contest>& contest = problem.set.contest;
    const bool one_class = !contest || acceptable_classes(owned.model(), *contest).size() == 1;
    // There is no need to explain why few changes are too few.
    if (method->limits && one_class)
      return ExactSearch(problem, few.exact, NoAnswer::stated).generate(queries, execution);
    return make_generator(*method, problem, few, owned.fitted(), execution)
        ->generate(queries, execution);
  }

  OwnedProblem owned;
  const Method* method;
  MethodOptions options;
  Request resolved;
  std::vector<std::string> notes;
  std::unique_ptr<Generator> generator;
  std::optional<Reasoner> reasoner;
  mutable std::once_flag certifies;
  mutable std::unique_ptr<const Certifier> certifier;
};

Explainer::Explainer(ExplainRequest request, const Execution& execution)
    : state_(std::make_shared<const State>(std::move(request), execution)) {}

bool Explainer::accepts(VectorArg raw) const {
  const Encoder& encoder = model().encoder;
  Vector z(encoder.columns());
  const Vector row = raw;
  encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
  if (const std::optional<Contest>& contest = problem().set.contest) {
    const std::vector<Index> wanted = acceptable_classes(model(), *contest);
    return std::any_of(wanted.begin(), wanted.end(), [&](Index winner) {
      return base_lead(model(), z, winner, contest->rivals) >= problem().threshold;
    });
  }
  return deciding_logit(model(), z) >= problem().threshold;
}

std::vector<Answer> Explainer::explain(const std::vector<Query>& given, const Execution& execution,
                                       FindReasons reasons) const {
  std::vector<Query> declined;
  if (state_->asked().declined) {
    std::copy_if(given.begin(), given.end(), std::back_inserter(declined),
                 [&](const Query& query) { return !accepts(query.raw); });
    if (declined.empty()) return {};
  }
  const std::vector<Query>& queries = state_->asked().declined ? declined : given;
  const State& state = *state_;
  const Execution silent{.threads = execution.threads};
  const Stopwatch watch;
  std::vector<Answer> answers = state.generator->generate(queries, execution);
  const FinishedScope whole(false);
  if (state.asked().timings) {
    for (Answer& answer : answers)
      answer.seconds = watch.seconds() / static_cast<double>(answers.size());
  }
  if (is_stop_requested()) return finished(std::move(answers), execution.threads, reasons);
  if (state.shows_trade_off()) {
    answers = with_fewer_changes(std::move(answers), queries, most_shown_changes,
                                 [&](const std::vector<Query>& some, std::optional<int> most) {
                                   return state.answer_with(most, some, silent);
                                 });
    check_stop();
  }
  state_fresh_survival(
      problem(), queries, answers,
      [&](const Problem& disturbed) { return state.make_disturbed(disturbed, silent); }, execution);
  if (state.asked().attack) attack_answers(answers, problem(), *state.owned.fitted().rows, silent);
  return finished(std::move(answers), execution.threads, reasons);
}

void Explainer::find_reasons(std::vector<Answer>& answers, const Execution& execution) const {
  if (state_->reasoner) add_reasons(answers, *state_->reasoner, execution);
}

std::vector<Answer> Explainer::finished(std::vector<Answer> answers, int threads,
                                        FindReasons reasons) const {
  const State& state = *state_;
  std::optional<StopShield> shield;
  if (is_stop_requested()) {
    // What takes searches of its own is not begun for answers that are kept; theirs would be cut.
    if (has_selection_effect(problem()) || state.asked().attack) check_stop();
    shield.emplace();
  }
  if (reasons == FindReasons::now) find_reasons(answers, {.threads = threads});
  const std::shared_ptr<const Schema> schema(state.owned.shared_model(), &model().schema());
  for (Answer& answer : answers) answer.schema = schema;
  return answers;
}

std::vector<Answer> Explainer::explain(const Table& table, OnError on_error,
                                       const Execution& execution, std::size_t first) const {
  std::vector<Answer> all;
  TableSource source(table);
  QueryReader reader(model(), source, std::nullopt, on_error);
  const std::size_t rows = table.rows();
  const std::size_t together = block_rows(execution.threads);
  for (std::size_t done = 0; done < rows; done += together) {
    QueryBlock block = reader.next(together);
    for (Query& query : block.queries) query.index += first;
    for (Answer& invalid : block.invalid) invalid.query_index += first;
    std::vector<Answer> answers =
        in_order(explain(block.queries, execution), std::move(block.invalid));
    std::move(answers.begin(), answers.end(), std::back_inserter(all));
  }
  return all;
}

std::optional<Certificate> Explainer::certify(const RawRow& row) const {
  std::call_once(state_->certifies, [&] {
    state_->certifier =
        std::make_unique<const Certifier>(model(), problem().set, epsilon(), problem().threshold);
  });
  return state_->certifier->certify(row);
}

bool Explainer::shows_trade_off() const {
  return state_->shows_trade_off();
}

const ExplainRequest& Explainer::request() const {
  return state_->asked();
}

const Model& Explainer::model() const {
  return state_->owned.model();
}

double Explainer::epsilon() const {
  return problem().epsilon;
}

const Problem& Explainer::problem() const {
  return state_->resolved.problem;
}

const Method& Explainer::method() const {
  return *state_->method;
}

const Request& Explainer::resolved() const {
  return state_->resolved;
}

const std::vector<std::string>& Explainer::notes() const {
  return state_->notes;
}

std::string recourse_file_text(const Explainer& explainer, const std::vector<Answer>& answers) {
  RecourseWriter writer(explainer.resolved());
  std::string text = writer.begin();
  for (const Answer& answer : answers) text += writer.answer(answer);
  return text + writer.end();
}

}  // namespace ellice
