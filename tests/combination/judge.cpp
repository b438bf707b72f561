#include "combination/judge.hpp"

#include <algorithm>
#include <cmath>

#include "combination/draw.hpp"
#include "combination/model_oracle.hpp"
#include "combination/pairs.hpp"
#include "combination/row_oracle.hpp"
#include "core/number_text.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/model_file.hpp"
#include "methods/method_table.hpp"
#include "report/html.hpp"
#include "report/recourse_csv.hpp"
#include "report/recourse_text.hpp"
#include "request/problem.hpp"
#include "request/query_reader.hpp"
#include "request/recourse_file.hpp"
#include "search/stated_gap.hpp"
#include "study/answer_file.hpp"
#include "study/evaluation_file.hpp"

namespace ellice::combination {

namespace {

/// Whether a person may be told so; anything else is a fault of ours.
bool is_documented(ErrorCode code) {
  return code == ErrorCode::argument || code == ErrorCode::input;
}

/// The same fault has the same words, but for numbers and names.
std::string without_numbers(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 120)) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_plain = c >= ' ' && c <= '~';  // a cut must not leave half a character
    if (is_plain && !is_digit && !(c == '.' && result.ends_with('#'))) result += c;
    if (is_digit && !result.ends_with('#')) result += '#';
  }
  return result;
}

class Judge {
 public:
  explicit Judge(const Case& given) : case_(&given) {}

  Verdict run() {
    count("cases");
    if (!attempt("train", [&] { trained_ = train_case(*case_); })) return verdict_;
    if (!attempt("model file", [&] { reread(); })) return verdict_;
    std::vector<Told> told;
    for (const Run& run : case_->runs) {
      Told answers;
      if (explain(run, answers)) told.push_back(std::move(answers));
    }
    for (std::size_t a = 0; a < told.size(); ++a) {
      for (std::size_t b = 0; b < told.size(); ++b) {
        if (a != b) compare_told(told[a], told[b]);
      }
    }
    if (!told.empty()) attempt("evaluate", [&] { evaluate_all(told); });
    return verdict_;
  }

 private:
  void count(const std::string& what, std::uint64_t times = 1) { verdict_.tally[what] += times; }

  void fail_with(const std::string& kind, const std::string& text) {
    verdict_.failures.push_back({.kind = kind, .text = text});
  }

  /// False where the work throws: counted if the error is documented, else a failure.
  template <class F>
  bool attempt(const std::string& what, const F& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (is_documented(error.code())) {
        count("refused: " + what);
        count("  " + without_numbers(error.what()).substr(0, 70));
      } else {
        fail_with(what + ": internal error: " + without_numbers(error.what()), error.what());
      }
    } catch (const std::exception& error) {
      fail_with(what + ": exception: " + without_numbers(error.what()), error.what());
    }
    return false;
  }

  /// The same, where nothing may be refused any more.
  template <class F>
  bool demand(const std::string& what, const F& work) {
    std::string message;
    const bool done = attempt(what, [&] {
      try {
        work();
      } catch (const Error& error) {
        message = error.what();
        if (!is_documented(error.code())) throw;
      }
    });
    if (!message.empty()) fail_with(what + " throws: " + without_numbers(message), message);
    return done && message.empty();
  }

  /// Of the model; none of one that comes from elsewhere.
  [[nodiscard]] const StoredRows* rows() const {
    return case_->is_imported ? nullptr : &all_rows_.fitted.rows;
  }

  /// The model as its file gives it back.
  void reread() {
    const auto again = [&](const std::shared_ptr<const Model>& model) {
      auto read = std::make_shared<const Model>(
          model_from_json(parse_json(to_text(to_json(*model)), "model.json"), "model.json"));
      if (read->sha256 != model->sha256)
        fail_with("model file differs", read->sha256 + " " + model->sha256);
      return std::shared_ptr<const Model>(read);
    };
    trained_.model = again(trained_.model);
    if (trained_.member) trained_.member = again(trained_.member);
    if (!case_->is_imported) all_rows_ = training_rows_of(trained_.data, *trained_.model);
    count(case_->is_imported                 ? "imported"
          : case_->is_deployed               ? "deployed"
          : trained_.model->training.weights ? "weighted"
                                             : "plain");
  }

  bool explain(const Run& run, Told& told) {
    const std::string label = run.method;
    ExplainRequest request;
    if (!attempt("request", [&] { request = request_of(*case_, trained_, run); })) return false;
    const std::string reason = why_unsupported(request);
    try {
      told.explainer = std::make_shared<const Explainer>(request);
    } catch (const Error& error) {
      count("refused: " + label);
      count("  " + without_numbers(error.what()).substr(0, 70));
      if (!is_documented(error.code()))
        fail_with("explain: internal error: " + without_numbers(error.what()), error.what());
      if (!reason.empty() && reason != error.what())
        fail_with("refused in other words", reason + "\n" + error.what());
      return false;
    }
    if (!reason.empty()) {
      fail_with("refused beforehand only: " + without_numbers(reason), reason);
      return false;
    }
    const std::vector<Feature>& features = case_->schema.features;
    if (case_->asked.constraints.horizon &&
        std::any_of(features.begin(), features.end(),
                    [](const Feature& feature) { return feature.slow.has_value(); }))
      count("paces within a horizon");
    told.run = run;
    told.run.method = std::string(told.explainer->method().name);
    count("explained: " + told.run.method);
    count("set: " + std::string(enum_name(told.explainer->problem().set.kind)));
    const bool explained = demand(
        "explain", [&] { told.answers = told.explainer->explain(case_->people, OnError::skip); });
    if (!explained) return false;
    if (!check_counts(told)) return false;
    for (const Answer& answer : told.answers) {
      count("status: " + std::string(enum_name(answer.status)));
      count("answers: " + told.run.method);
      count(fmt::format("answers: {}: {}", told.run.method, enum_name(answer.status)));
      if (answer.message.starts_with(contradicted))
        fail_with("a bound exceeds the cost of an answer", answer.message);
      if (answer.status == Status::not_found && told.run.method == "exact")
        count("  " + without_numbers(answer.message).substr(0, 100));
    }
    check_notes(told);
    demand("recourse file", [&] { told.text = recourse_file_text(*told.explainer, told.answers); });
    if (told.text.empty()) return false;
    // What is shown beside the nearest is for display; no file is written of it.
    const bool is_shown = told.explainer->shows_trade_off();
    if (is_shown) check_shown(told);
    if (!is_shown) demand("verify", [&] { verify(told); });
    demand("rows", [&] { check_rows(told); });
    demand("report", [&] { report(told); });
    if (case_->seed % 4 == 1) demand("largest epsilon", [&] { check_largest_epsilon(told); });
    if (case_->seed % 8 == 0 && !request.timings && !is_shown)
      demand("again", [&] { ask_again(told); });
    return true;
  }

  /// Every person has one first plan, in order; where the declined alone were asked about, all whom
  /// the base model declines.
  bool check_counts(const Told& told) {
    std::set<std::size_t> told_of;
    for (const Answer& answer : told.answers) {
      if (answer.plan == 0) told_of.insert(answer.query_index);
    }
    const auto all = static_cast<std::size_t>(case_->people.rows());
    std::set<std::size_t> wanted;
    for (std::size_t i = 0; i < all; ++i) wanted.insert(i);
    if (case_->asked.declined) {
      count("runs for the declined alone");
      for (const std::size_t i : accepted(told)) wanted.erase(i);
    }
    if (told_of == wanted) return true;
    fail_with("people without answers, or answers without people",
              fmt::format("{} of {}: {}", told_of.size(), wanted.size(), told.run.method));
    return false;
  }

  /// What is said beforehand of everybody.
  void check_notes(const Told& told) {
    const std::vector<std::string>& notes = told.explainer->notes();
    const auto says_nobody = [](const std::string& note) {
      return note.find("nobody who is declined will get") != std::string::npos;
    };
    const auto note = std::find_if(notes.begin(), notes.end(), says_nobody);
    if (note == notes.end()) return;
    count("told that nobody will get an answer");
    const std::set<std::size_t> others = accepted(told);
    for (const Answer& answer : told.answers) {
      const bool is_certain =
          answer.status == Status::optimal || answer.status == Status::certified;
      // Methods of others may tell somebody who is accepted to stay, or where to go.
      if (is_certain && !answer.changes.empty() && !others.contains(answer.query_index))
        fail_with("an answer where nobody gets one", *note);
    }
  }

  /// What decides about people.
  [[nodiscard]] Network deciding() const {
    Network network = trained_.model->network;
    if (trained_.model->deployed) network.set_head(trained_.model->deployed->head);
    return network;
  }

  /// Whom the base model accepts, by plain sums over the rows as they are read.
  [[nodiscard]] std::set<std::size_t> accepted(const Told& told) const {
    const Problem& problem = told.explainer->problem();
    TableSource source(case_->people);
    QueryReader reader(*trained_.model, source, std::nullopt, OnError::skip);
    const RowOracle oracle(problem.constraints, problem.cost, *trained_.model);
    std::set<std::size_t> found;
    for (const Query& query : reader.next(case_->people.rows()).queries) {
      const Vector scores = deciding().scores(oracle.encoded(query.raw));
      double lead = scores(0);
      if (problem.set.contest) {
        const std::vector<Index>& rivals = problem.set.contest->rivals;
        double best_rival = -std::numeric_limits<double>::infinity();
        double best_own = best_rival;
        for (Index k = 0; k < scores.size(); ++k) {
          const bool is_rival = std::find(rivals.begin(), rivals.end(), k) != rivals.end();
          double& best = is_rival ? best_rival : best_own;
          best = std::max(best, scores(k));
        }
        lead = best_own - best_rival;
      }
      if (lead >= problem.threshold) found.insert(query.index);
    }
    return found;
  }

  [[nodiscard]] People readable_people() const {
    People people(case_->people.rows());
    TableSource source(case_->people);
    QueryReader reader(*trained_.model, source, std::nullopt, OnError::skip);
    for (const Query& query : reader.next(case_->people.rows()).queries) {
      people[query.index] = trained_.model->encoder.values(
          {query.raw.data(), static_cast<std::size_t>(query.raw.size())});
    }
    return people;
  }

  /// Each further plan of a person changes more and costs less.
  void check_shown(const Told& told) {
    for (std::size_t i = 0; i + 1 < told.answers.size(); ++i) {
      const Answer& before = told.answers[i];
      const Answer& after = told.answers[i + 1];
      if (after.query_index != before.query_index || !after.counterfactual) continue;
      count("plans of a trade-off that is shown");
      if (before.distance.changed >= after.distance.changed ||
          before.distance.weighted <= after.distance.weighted) {
        fail_with(
            "a plan that is shown is beaten",
            fmt::format("{}, query {}, plan {}: {} changes for {}, then {} for {}", told.run.method,
                        after.query_index, after.plan, before.distance.changed,
                        before.distance.weighted, after.distance.changed, after.distance.weighted));
      }
    }
  }

  void verify(const Told& told) {
    const Json file = parse_json(told.text, "answers.json");
    std::vector<const Model*> members;
    if (trained_.member) members.push_back(trained_.member.get());
    const People people = readable_people();
    const FileAudit audits =
        audit_recourse_file(file, *trained_.model, "answers.json", members, rows(), &people);
    if (audits.size() != told.answers.size())
      fail_with("audits and answers differ in number", fmt::format("{}", audits.size()));
    for (const std::string& failure : audits.failures)
      fail_with("own file refused: " + without_numbers(failure), failure);
    for (const AnswerAudit& audit : audits) {
      count("verified");
      if (audit.holds()) continue;
      fail_with("own file refused: " + std::string(enum_name(audit.status)) + ": " +
                    without_numbers(audit.failures.front()),
                fmt::format("{}, query {}, plan {}: {}", told.run.method, audit.query_index,
                            audit.plan, fmt::join(audit.failures, "; ")));
    }
  }

  [[nodiscard]] Judged judged_by(const Told& told, const Answer& answer) const {
    const Problem& problem = told.explainer->problem();
    Judged judged{.kind = problem.set.kind,
                  .damping = problem.set.damping,
                  .epsilon = answer.attained_epsilon.value_or(problem.epsilon),
                  .threshold = problem.threshold};
    if (!problem.set.contest) return judged;
    const std::vector<std::string>& classes = trained_.model->decision.classes;
    const auto index_of = [&](const std::string& name) {
      return static_cast<Index>(std::find(classes.begin(), classes.end(), name) - classes.begin());
    };
    judged.winner = index_of(answer.target);
    for (const std::string& name : case_->asked.target) judged.acceptable.push_back(index_of(name));
    if (case_->asked.target.empty())
      judged.acceptable = {index_of(case_->schema.target.favourable)};
    return judged;
  }

  /// Every written row keeps the constraints, costs what it says, and is accepted by the set.
  void check_rows(Told& told) {
    const Problem& problem = told.explainer->problem();
    const RowOracle oracle(problem.constraints, problem.cost, *trained_.model);
    const Json file = parse_json(told.text, "answers.json");
    for (std::size_t i = 0; i < told.answers.size(); ++i) {
      const Answer& answer = told.answers[i];
      const Json& written = file.at("results").at(i);
      const std::string place =
          fmt::format("{}, query {}, plan {}", told.run.method, answer.query_index, answer.plan);
      if (!answer.counterfactual) continue;
      const Vector from = oracle.numbers(written.at("query"));
      const Vector to = oracle.numbers(written.at("counterfactual"));
      const double cost = oracle.cost(from, to);
      // Of what is far away the difference is small, and known as well as the numbers are.
      const double size = oracle.encoded(from).cwiseAbs().maxCoeff() + 1;
      if (std::isfinite(cost) &&
          std::abs(cost - answer.distance.weighted) > 1e-9 * (cost + size * size * 1e-6)) {
        fail_with("another cost",
                  fmt::format("{}: {} instead of {}", place, answer.distance.weighted, cost));
      }
      if (!is_certified(answer.status)) continue;
      count("certified rows checked");
      const std::string breach = oracle.breach(answer.query_index, from, to);
      if (!breach.empty() && answer.status != Status::already_robust)
        fail_with("a row breaks a constraint", place + ": " + breach);
      check_models(told, answer, to, place);
      if (answer.certificate && trained_.model->deployed) check_deployed(told, to, place);
    }
  }

  /// What decides gives a certified row the threshold, and in its own arithmetic, of which one
  /// order stands for all, its own.
  void check_deployed(const Told& told, const Vector& raw, const std::string& place) {
    const Vector row =
        RowOracle(case_->asked.constraints, case_->asked.cost, *trained_.model).encoded(raw);
    count("rows that the deployed model accepts");
    const Deployed& deployed = *trained_.model->deployed;
    const double threshold = told.explainer->problem().threshold;
    const double score = deciding().scores(row)(0);
    if (score < threshold - 1e-12 * (1 + std::abs(score) + deployed.constant))
      fail_with("the deployed model declines a plan", fmt::format("{}: {}", place, score));
    std::vector<float> values;
    for (const double entry : row) values.push_back(static_cast<float>(entry));
    for (const Layer& layer : deciding().layers) {
      std::vector<float> next;
      for (Index k = 0; k < layer.weights.rows(); ++k) {
        auto sum = static_cast<float>(layer.bias(k));
        for (std::size_t i = values.size(); i-- > 0;)
          sum += static_cast<float>(layer.weights(k, static_cast<Index>(i))) * values[i];
        if (layer.activation == Activation::relu) sum = std::max(sum, 0.0F);
        if (layer.activation == Activation::tanh) sum = std::tanh(sum);
        if (layer.activation == Activation::sigmoid) sum = 1 / (1 + std::exp(-sum));
        next.push_back(sum);
      }
      values = std::move(next);
    }
    if (deployed.precision == Precision::float32 &&
        static_cast<double>(values.front()) < threshold - deployed.margin)
      fail_with("the deployed model declines a plan in single precision",
                fmt::format("{}: {}", place, values.front()));
  }

  void check_models(const Told& told, const Answer& answer, const Vector& row,
                    const std::string& place) {
    const Judged judged = judged_by(told, answer);
    std::vector<const Model*> models = {trained_.model.get()};
    if (judged.kind == SetKind::ensemble && trained_.member)
      models.push_back(trained_.member.get());
    for (const Model* model : models) {
      const StoredRows* rows = model == trained_.model.get() ? this->rows() : nullptr;
      // A member has means and scales of its own.
      const Vector z = RowOracle(case_->asked.constraints, case_->asked.cost, *model).encoded(row);
      const std::string rejection =
          ModelOracle(*model, rows).rejection(judged, z, Random(case_->seed).split(2));
      if (!rejection.empty()) {
        fail_with(fmt::format("a model rejects: {}", enum_name(judged.kind)),
                  place + ": " + rejection);
      }
    }
  }

  /// Every form of output can be written.
  void report(const Told& told) {
    const Problem& problem = told.explainer->problem();
    const Schema& schema = trained_.model->schema();
    const Appraiser appraiser(*trained_.model, problem.epsilon, problem.threshold, problem.set);
    FormulaGuard guard(case_->seed % 3 == 0);
    std::string text = recourse_csv_header(schema, CsvColumns{}, guard);
    for (const Answer& answer : told.answers) {
      text += recourse_csv_row(answer, schema, CsvColumns{}, guard);
      text += recourse_text(answer, appraiser, {.all_features = case_->seed % 2 == 0});
    }
    text += to_html(*trained_.model,
                    {.epsilon = problem.epsilon,
                     .epsilon_rule = case_->asked.epsilon,
                     .set = problem.set,
                     .cost = problem.cost,
                     .threshold = problem.threshold},
                    told.text);
    if (text.find("nan") != std::string::npos && case_->seed % 1000 == 999)
      count("nan in a report");
  }

  /// The request of the file, and another number of threads, give the same bytes.
  void ask_again(const Told& told) {
    const ExplainRequest again = explain_request_from_json(
        parse_json(told.text, "answers.json"), "answers.json", trained_.model,
        trained_.member ? std::vector{trained_.member}
                        : std::vector<std::shared_ptr<const Model>>{},
        trained_.rows);
    ExplainRequest whole = again;
    whole.display = case_->asked.display;  // what files do not hold
    whole.attack = case_->asked.attack;
    whole.shows_trade_off = case_->asked.shows_trade_off;
    whole.reasons = case_->asked.reasons;
    whole.reason_codes = told.explainer->request().reason_codes;
    const Explainer explainer(whole, {.threads = 2});
    const std::string text = recourse_file_text(
        explainer, explainer.explain(case_->people, OnError::skip, {.threads = 2}));
    count("asked again");
    if (text != told.text) fail_with("other answers when asked again: " + told.run.method, text);
  }

  /// Of a person without an answer: the row at the lower bound of the largest ε is one there, and
  /// at the upper bound there is none.
  void check_largest_epsilon(const Told& told) {
    const Problem& problem = told.explainer->problem();
    const RowOracle oracle(problem.constraints, problem.cost, *trained_.model);
    for (const Answer& answer : told.answers) {
      if (answer.status != Status::infeasible) continue;
      const EpsilonBounds& bounds = answer.infeasible->max_epsilon;
      const std::string place = fmt::format("{}, query {}", told.run.method, answer.query_index);
      if (bounds.lower && !bounds.point.empty()) {
        count("answers at the largest epsilon checked");
        const Schema& schema = trained_.model->schema();
        const Vector from = oracle.numbers(row_to_json(schema, answer.query));
        const Vector to = oracle.numbers(row_to_json(schema, bounds.point));
        const std::string breach = oracle.breach(answer.query_index, from, to);
        if (!breach.empty())
          fail_with("the row of the largest epsilon breaks a constraint", breach);
        Answer there = answer;
        there.attained_epsilon = *bounds.lower;
        // At 0 the minimiser alone accepts it: others that its objective cannot tell from it are
        // no models of the true set.
        const bool is_alone = problem.set.kind == SetKind::true_set && *bounds.lower == 0;
        if (!is_alone && (!problem.set.contest || !answer.target.empty()))
          check_models(told, there, to, place + ", at the largest epsilon");
      }
      if (bounds.upper <= 1e-9 || bounds.upper >= told.explainer->epsilon()) continue;
      ExplainRequest request = told.explainer->request();
      request.epsilon = number_text(bounds.upper * 1.000001);
      if (!why_unsupported(request).empty()) continue;
      count("largest epsilons tried");
      for (const Answer& other : Explainer(request).explain(case_->people, OnError::skip)) {
        const bool has_answer = is_certified(other.status) && other.status != Status::reduced;
        if (other.query_index != answer.query_index || other.plan > 0 || !has_answer) continue;
        // Who is robust already keeps a row that breaks a rule, which no answer may.
        const Vector own = oracle.numbers(row_to_json(trained_.model->schema(), answer.query));
        if (other.status == Status::already_robust &&
            !oracle.breach(answer.query_index, own, own).empty())
          continue;
        fail_with("an answer above the largest epsilon",
                  fmt::format("{}: {} at {}", place, enum_name(other.status), request.epsilon));
      }
    }
  }

  void compare_told(const Told& a, const Told& b) {
    count("pairs of methods");
    for (const Answer& one : a.answers) {
      for (const Answer& other : b.answers) {
        const bool is_same = one.query_index == other.query_index && one.plan + other.plan == 0;
        if (is_same && one.status == Status::not_found && is_certified(other.status))
          count(fmt::format("not found by {}, certified by {}", a.run.method, b.run.method));
      }
    }
    for (const std::string& text : contradictions(a, b)) {
      const std::string kind = text.substr(0, text.find(':'));
      fail_with(kind + ": " + a.run.method + " and " + b.run.method, text);
    }
  }

  /// Evaluators of the same set and ε agree with the certificates, and the file can be written.
  void evaluate_all(const std::vector<Told>& told) {
    const Problem& problem = told.front().explainer->problem();
    if (trained_.model->network.outputs() > 1 || problem.epsilon <= 0 || case_->is_imported) return;
    EvaluationSetup setup{.model = trained_.model.get(),
                          .threshold = problem.threshold,
                          .intervals = {.resamples = 100},
                          .seeds = Random(case_->seed)};
    const EvaluationSource source{
        .model = trained_.model.get(), .fitted = rows(), .threshold = problem.threshold};
    setup.evaluators = make_evaluators(
        source, {EvaluatorKind::ellipsoid, EvaluatorKind::true_set, EvaluatorKind::dropout},
        {problem.epsilon}, {.dropout_models = 3}, Random(case_->seed));
    std::vector<EvaluationResult> results;
    for (const Told& one : told) {
      AnswerFile file;
      if (!demand("answers of a file",
                  [&] { file = answers_from_json(one.text, *trained_.model, "answers.json"); }))
        return;
      require_all_answers(file, "answers.json");
      const AnswerBatch batch =
          answer_batch(file.answers, *trained_.model, problem.threshold, ExplainedRows::all);
      if (batch.size() == 0) return;
      results.push_back(evaluate(batch, setup));
      (void)to_text(to_json(results.back(), EvaluationRequest{.epsilon = problem.epsilon}));
      check_evaluation(one, results.back());
    }
    count("evaluated", results.size());
    for (std::size_t k = 1; k < results.size(); ++k)
      (void)to_text(to_json(compare(results.front(), results[k], setup.intervals, setup.seeds)));
  }

  void check_evaluation(const Told& told, const EvaluationResult& result) {
    const SetChoice& set = told.explainer->problem().set;
    std::size_t evaluator = result.evaluators.size();
    if (set.kind == SetKind::last_layer && !set.damping) evaluator = 0;
    if (set.kind == SetKind::true_set) evaluator = 1;
    if (evaluator == result.evaluators.size()) return;
    for (std::size_t i = 0; i < result.answers.size(); ++i) {
      for (const Answer& answer : told.answers) {
        const bool is_same =
            answer.plan == 0 && answer.query_index == result.answers[i].measured.query_index;
        const bool is_robust = answer.status == Status::optimal ||
                               answer.status == Status::certified ||
                               answer.status == Status::already_robust;
        if (!is_same || !is_robust) continue;
        count("evaluations compared with certificates");
        if (!result.is_robust(i, evaluator).value_or(true)) {
          fail_with(fmt::format("an evaluator rejects what is certified: {}", enum_name(set.kind)),
                    fmt::format("{}, query {}", told.run.method, answer.query_index));
        }
      }
    }
  }

  const Case* case_;
  Trained trained_;
  TrainingRows all_rows_;
  Verdict verdict_;
};

}  // namespace

Verdict judge(const Case& given) {
  return Judge(given).run();
}

}  // namespace ellice::combination
