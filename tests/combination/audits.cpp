// Honest recourse files and files with one thing altered, held before the audit: none of the first
// may be refused, and no altered claim of the others accepted (docs/reliability.md).

#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "combination/alterations.hpp"
#include "combination/cases.hpp"
#include "combination/draw.hpp"
#include "core/sha256.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/model_file.hpp"
#include "explain/recourse_request.hpp"
#include "methods/method_table.hpp"
#include "request/recourse_file.hpp"

namespace ellice::combination {
namespace {

constexpr std::string_view usage =
    "usage: audits [--seed S] [--count N | --seeds A,B,…] [--alterations M] [--examples K] "
    "[--all]\n"
    "\n"
    "Audits the files of the cases S, S+1, …, S+N-1, or of those listed, and M altered ones of "
    "each file. Prints what "
    "was\n"
    "tried, and of each kind of wrong verdict K examples. --all shows what is no claim as well.\n"
    "With --out it writes models and files, altered ones that were accepted among\n"
    "them, into FOLDER/SEED.\n"
    "ELLICE_SEED in the environment is added to S.\n";

// Files of models beyond it may be refused: what a solve in double precision leaves is nothing.
constexpr double largest_condition = 1e12;

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t count = 100;
  std::vector<std::uint64_t> seeds = {};  // instead of a range
  std::uint64_t alterations = 10;
  std::uint64_t examples = 1;
  bool shows_all = false;
  std::filesystem::path out = {};
};

std::uint64_t whole(const std::string& text) {
  double value = 0;
  require(parse_number(text, value) && value >= 0, "found \"{}\", expected a whole number", text);
  return static_cast<std::uint64_t>(value);
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (words[k] == "--all") {
      arguments.shows_all = true;
      continue;
    }
    require(k + 1 < words.size(), "{}", usage);
    const std::string& value = words[k + 1];
    if (words[k] == "--seed") {
      arguments.seed = whole(value);
    } else if (words[k] == "--count") {
      arguments.count = whole(value);
    } else if (words[k] == "--seeds") {
      std::istringstream list(value);
      for (std::string one; std::getline(list, one, ',');) arguments.seeds.push_back(whole(one));
    } else if (words[k] == "--out") {
      arguments.out = value;
    } else if (words[k] == "--alterations") {
      arguments.alterations = whole(value);
    } else if (words[k] == "--examples") {
      arguments.examples = whole(value);
    } else {
      fail(ErrorCode::argument, "{}", usage);
    }
    ++k;
  }
  if (const char* text = std::getenv("ELLICE_SEED")) arguments.seed += whole(text);
  return arguments;
}

/// Every other case gets number columns that nearly follow from each other, and a penalty so small
/// that the Hessian shows it.
void make_ill_conditioned(Case& drawn) {
  Random random = Random(drawn.seed).split(7);
  drawn.training.l2 = std::pow(10, -3 - static_cast<double>(random.below(9)));
  const double noise = std::pow(10, -static_cast<double>(random.below(6)));
  std::vector<std::vector<double>*> numbers;
  for (Column& column : drawn.table.columns) {
    if (auto* values = std::get_if<std::vector<double>>(&column.values)) numbers.push_back(values);
  }
  if (numbers.size() < 2) return;
  std::vector<double>& first = *numbers[0];
  std::vector<double>& second = *numbers[1];
  const auto spread = [](const std::vector<double>& values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return *high > *low ? *high - *low : 1.0;
  };
  const double scale = spread(second) / spread(first);
  const double shift = second.front() - scale * first.front();
  const bool is_whole = std::all_of(second.begin(), second.end(),
                                    [](double value) { return value == std::round(value); });
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double follows =
        shift + scale * first[i] + noise * (second[i] - shift - scale * first[i]);
    second[i] = is_whole ? std::round(follows) : follows;
  }
}

/// Of the Hessian, with what makes that of several classes regular (theory.md, Result 37).
double condition_of(const Model& model) {
  Matrix hessian = model.curvature.hessian;
  const Index outputs = model.network.outputs();
  const Index p = hessian.rows() / outputs;
  for (Index i = 0; outputs > 1 && i < hessian.rows(); ++i) {
    for (Index j = i % p; j < hessian.cols(); j += p)
      hessian(i, j) += 1 / static_cast<double>(outputs);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(hessian, Eigen::EigenvaluesOnly);
  const Vector& values = solver.eigenvalues();
  return values.maxCoeff() / std::max(values.minCoeff(), 1e-300);
}

/// What the audit says: nothing where the file holds.
struct Verdict {
  std::string words = {};
  FileAudit audit = {};
};

/// With the hashes that a file of this content would have, by the words of
/// docs/reference/formats.md.
Json signed_again(Json file) {
  if (!file.is_object() || !file.contains("results") || !file["results"].is_array()) return file;
  Json asked = Json::object();
  Json end = Json::object();
  for (const auto& [key, value] : file.items()) {
    if (key == "explained" || key == "interrupted") {
      end[key] = value;
    } else if (key != "results" && key != "sha256") {
      asked[key] = value;
    }
  }
  const std::string hash = sha256_hex(canonical_text(asked));
  std::string all;
  for (Json& record : file["results"]) {
    if (!record.is_object()) continue;
    record.erase("sha256");
    record["sha256"] = sha256_hex(hash + canonical_text(record));
    all += record["sha256"].get<std::string>();
  }
  file["sha256"] = sha256_hex(all + hash + canonical_text(end));
  return file;
}

/// What only a hash protects: words, what a search was told, who asked.
bool is_only_hashed(std::string_view name) {
  static const std::vector<std::string_view> names = {"seed",
                                                      "not_stated",
                                                      "results[].id",
                                                      "results[].query",
                                                      "results[].message",
                                                      "results[].seconds",
                                                      "results[].refits",
                                                      "results[].held",
                                                      "results[].optimality",
                                                      "results[].reasons.items[].text",
                                                      "results[].reasons.items[].code"};
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return name.starts_with(one); });
}

/// Whether what a forger did leaves nothing but true statements, which have all been checked: the
/// file answers another question as well, says less than it could, says it in another order or
/// states a bound that is wider.
bool is_another_truth(std::string_view name, const Alteration& one, double reach,
                      bool is_true_set) {
  static const std::vector<std::string_view> asked = {"options", "method",  "cost",
                                                      "epsilon", "reasons", "set"};
  const bool is_question = std::any_of(
      asked.begin(), asked.end(), [&](std::string_view part) { return name.starts_with(part); });
  const bool says_less =
      one.what.ends_with("left out") || (name.ends_with("blocking_is") && one.after == "likely") ||
      ((one.before == "already_robust" || one.before == "optimal") && one.after == "certified") ||
      (one.before == "already_robust" && one.after == "optimal");  // nothing is nearer than staying
  // Lines of an attack are halved until a millionth is left.
  const bool is_within_attack =
      name.starts_with("results[].attack.") && one.what == "by a millionth";
  const bool is_wider = name.ends_with("gap") && one.after.is_number() && one.after > one.before;
  // A narrower one may be true as well: the audit has shown by itself that no row exceeds it, or
  // that nobody has an answer beyond it.
  const bool is_other_bound =
      (name.ends_with("best.bound") || name.ends_with("bounds.upper") || name == "results[].gap") &&
      one.after.is_number();
  // Of constraints that block, too, where the witnesses show either of them.
  const bool is_swapped =
      one.what == "two swapped" && (name.ends_with("models") || name.ends_with("blocking"));
  // Models and weights of a proof that still proves what it says, or the same proofs in another
  // order: the audit has held them against the set and every allowed row.
  const bool is_other_proof =
      name.find("proof") != std::string_view::npos &&
      (name.find("model") != std::string_view::npos || name.ends_with("multiplier") ||
       ((one.what == "two swapped" || one.what == "last twice") &&
        (name.ends_with("proofs") || name.ends_with("rules"))));
  const bool is_other_witness = name.starts_with("results[].infeasible.blocking_witnesses") ||
                                name.starts_with("results[].infeasible.best.point") ||
                                name.starts_with("results[].infeasible.max_epsilon_bounds.point") ||
                                is_other_proof;
  // Bounds over the true set may be lower, and a head that refuses nothing attains them to
  // rounding.
  const bool is_other_head = is_true_set && one.what == "by a millionth" &&
                             (name.ends_with("worst_model[]") ||
                              (name.ends_with("robust_logit") && one.after < one.before));
  // What is left of larger numbers that cancel.
  const bool is_sum = name.starts_with("results[].reasons.") && !name.ends_with("contribution");
  // Scores of people so many standard deviations away are known to that much.
  const double known = std::max(1e-9, 1e-13 * reach);
  const bool is_small = one.before.is_number() && one.after.is_number() &&
                        std::abs(one.before.get<double>() - one.after.get<double>()) < known;
  return is_question || says_less || is_wider || is_other_bound || is_within_attack || is_swapped ||
         is_other_witness || is_other_head || is_sum || is_small;
}

class Campaign {
 public:
  explicit Campaign(const Arguments& arguments) : arguments_(&arguments) {}

  void run_case(std::uint64_t seed) {
    Case drawn = draw_case(seed);
    if (seed % 2 == 0) make_ill_conditioned(drawn);
    drawn.asked.shows_trade_off = false;  // for display: no file is written of it
    try {
      trained_ = train_case(drawn);
      trained_.model = again(*trained_.model);
      if (trained_.member) trained_.member = again(*trained_.member);
    } catch (const Error&) {
      return count("not trained");
    }
    for (const Run& run : drawn.runs) run_file(drawn, run);
  }

  [[nodiscard]] int conclude() const {
    for (const auto& [what, times] : tally_) std::cout << fmt::format("{:>9}  {}\n", times, what);
    std::cout << fmt::format("\n{:<48} {:>8} {:>9} {:>9}\n", "field", "altered", "no claim",
                             "accepted");
    std::uint64_t tried = 0;
    std::uint64_t wrong = 0;
    for (const auto& [name, entry] : fields_) {
      tried += entry.tried;
      wrong += entry.accepted;
      std::cout << fmt::format("{:<48} {:>8} {:>9} {:>9}\n", name, entry.tried, entry.no_claim,
                               entry.accepted);
    }
    std::cout << fmt::format("\n{} honest files, {} refused; {} alterations, {} accepted\n",
                             honest_, refused_, tried, wrong);
    return refused_ == 0 && wrong == 0 && honest_ > 0 && tried > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  static std::shared_ptr<const Model> again(const Model& model) {
    return std::make_shared<const Model>(
        model_from_json(parse_json(to_text(to_json(model)), "model.json"), "model.json"));
  }

  void count(const std::string& what) { ++tally_[what]; }

  /// As `ellice verify` does.
  [[nodiscard]] Verdict audit(const Json& file) const {
    std::vector<const Model*> members;
    if (trained_.member) members.push_back(trained_.member.get());
    const StoredRows* rows = trained_.rows ? &trained_.rows->fitted.rows : nullptr;
    try {
      check_recourse_request(file, "answers.json", *trained_.model, members);
      Verdict verdict{
          .audit = audit_recourse_file(file, *trained_.model, "answers.json", members, rows)};
      for (const std::string& failure : verdict.audit.failures) verdict.words += failure + "; ";
      for (const AnswerAudit& one : verdict.audit) {
        for (const std::string& failure : one.failures)
          verdict.words += fmt::format("{}.{}: {}; ", one.query_index, one.plan, failure);
      }
      return verdict;
    } catch (const Error& error) {
      return {.words = fmt::format("{}", error.what())};
    }
  }

  void write(const Case& drawn, const std::string& answers, const std::string& text) const {
    const std::filesystem::path folder = arguments_->out / std::to_string(drawn.seed);
    std::filesystem::create_directories(folder);
    const auto put = [&](const std::string& name, const std::string& content) {
      std::ofstream(folder / name) << content;
    };
    put("rows.csv", csv_text(drawn.table));
    put("model.json", to_text(to_json(*trained_.model)));
    if (trained_.member) put("member.json", to_text(to_json(*trained_.member)));
    put(answers, text);
  }

  void run_file(const Case& drawn, const Run& run) {
    std::string text;
    std::string method;
    try {
      const Explainer explainer(request_of(drawn, trained_, run));
      const auto answers = explainer.explain(drawn.people, OnError::skip);
      if (answers.empty()) return count("nobody is declined");
      text = recourse_file_text(explainer, answers);
      method = explainer.method().name;
      for (const Answer& answer : answers)
        count("status: " + std::string(enum_name(answer.status)));
    } catch (const Error&) {
      return count("not asked");
    }
    const Json file = parse_json(text, "answers.json");
    if (!arguments_->out.empty()) write(drawn, fmt::format("answers{}.json", honest_ + 1), text);
    const double condition = condition_of(*trained_.model);
    ++honest_;
    count("files: " + method);
    count("files: set " + file.at("set").get<std::string>());
    count("files: cost " + file.at("cost").get<std::string>());
    count(fmt::format("files: condition 1e{:02}",
                      std::clamp(static_cast<int>(std::log10(condition)), 0, 20)));
    const Verdict own = audit(file);
    if (!own.words.empty() && condition > largest_condition) return count("refused beyond");
    if (!own.words.empty()) {
      ++refused_;
      std::cout << fmt::format("REFUSED seed {} {} {} cond {:.1e}: {}\n", drawn.seed, method,
                               file.at("set").get<std::string>(), condition, own.words)
                << std::flush;
      return;
    }
    note_standings(own.audit);
    alter(drawn, method, file, own.audit, condition);
  }

  void note_standings(const FileAudit& audited) {
    const auto note = [&](const std::map<std::string, Standing>& fields, std::string_view where) {
      for (const auto& [name, standing] : fields) {
        if (standing == Standing::not_checked) count(fmt::format("not checked: {}{}", where, name));
      }
    };
    note(audited.fields, "");
    for (const AnswerAudit& one : audited) note(one.fields, "results[].");
  }

  /// How well the audit knows what stands at a place.
  [[nodiscard]] static Standing standing_of(const FileAudit& audited, const Place& place) {
    std::vector<std::string> steps;
    for (Json::json_pointer at = place.at; !at.empty(); at.pop_back())
      steps.insert(steps.begin(), at.back());
    const bool in_record = steps.front() == "results" && steps.size() > 2;
    if (steps.front() == "results" && !in_record) return Standing::consistent;
    const std::map<std::string, Standing>& fields =
        in_record ? audited[std::stoul(steps[1])].fields : audited.fields;
    if (in_record) steps.erase(steps.begin(), steps.begin() + 2);
    for (const std::string& name : {steps.size() > 1 ? steps[0] + "." + steps[1] : "", steps[0]}) {
      const auto found = fields.find(name);
      if (found != fields.end()) return found->second;
    }
    return Standing::consistent;
  }

  /// Whether the audit of an altered file says of what was altered that it is not checked.
  [[nodiscard]] static bool is_openly_unchecked(const FileAudit& audited, const Place& place) {
    return place.name.starts_with("results[].") && audited.size() > 0 &&
           standing_of(audited, place) == Standing::not_checked;
  }

  /// How many standard deviations the person of a place is away.
  [[nodiscard]] double reach_of(const Json& file, const Place& place) const {
    std::vector<std::string> steps;
    for (Json::json_pointer at = place.at; !at.empty(); at.pop_back())
      steps.insert(steps.begin(), at.back());
    if (steps.size() < 2 || steps.front() != "results") return 0;
    const Json& record = file.at("results").at(std::stoul(steps[1]));
    const Encoder& encoder = trained_.model->encoder;
    double most = 0;
    for (std::size_t j = 0; j < encoder.schema().features.size() && record.contains("query"); ++j) {
      const Json value = record.at("query").value(encoder.schema().features[j].name, Json());
      const ColumnStatistics seen = encoder.statistics(j);
      if (encoder.schema().features[j].is_number() && value.is_number())
        most = std::max(most, std::abs((value.get<double>() - seen.mean) / seen.scale));
    }
    return most;
  }

  void alter(const Case& drawn, const std::string& method, const Json& file,
             const FileAudit& audited, double condition) {
    Random random = Random(drawn.seed).split(11).split(file.at("results").size());
    std::map<std::string, std::vector<Place>> by_name;
    for (Place& place : places_of(file)) by_name[place.name].push_back(std::move(place));
    std::vector<std::string> names;
    for (const auto& [name, places] : by_name) names.push_back(name);
    for (std::uint64_t k = 0; k < arguments_->alterations; ++k) {
      const Place& place = one_of(random, by_name[one_of(random, names)]);
      const std::optional<Alteration> one = altered(file, place, condition < 1e6, random);
      if (!one) continue;
      Field& entry = fields_[place.name];
      ++entry.tried;
      // Every other one by somebody who makes the hashes anew.
      const bool is_forged = k % 2 == 1 && place.at.back() != "sha256";
      const Json document = is_forged ? signed_again(one->document) : one->document;
      const Verdict verdict = audit(document);
      if (!verdict.words.empty()) continue;
      // What is not checked any more is not accepted: the audit says so.
      const bool is_claim =
          standing_of(audited, place) != Standing::not_checked &&
          !(is_forged && is_openly_unchecked(verdict.audit, place)) &&
          !(is_forged &&
            (is_only_hashed(place.name) ||
             is_another_truth(place.name, *one, reach_of(file, place), file.at("set") == "true")));
      ++(is_claim ? entry.accepted : entry.no_claim);
      if (!is_claim && !arguments_->shows_all) continue;
      if (++shown_[place.name + one->what] > arguments_->examples) continue;
      if (!arguments_->out.empty())
        write(drawn, fmt::format("accepted{}-{}.json", honest_, k), to_text(document));
      std::cout << fmt::format(
                       "{} seed {} {} {} {}: {}: {} -> {}\n",
                       is_claim ? (is_forged ? "ACCEPTED (forged)" : "ACCEPTED") : "no claim",
                       drawn.seed, method, file.at("set").get<std::string>(), place.at.to_string(),
                       one->what, one->before.dump().substr(0, 150),
                       one->after.dump().substr(0, 150))
                << std::flush;
    }
  }

  struct Field {
    std::uint64_t tried = 0;
    std::uint64_t no_claim = 0;
    std::uint64_t accepted = 0;
  };

  const Arguments* arguments_;
  Trained trained_;
  std::map<std::string, std::uint64_t> tally_;
  std::map<std::string, Field> fields_;
  std::map<std::string, std::uint64_t> shown_;
  std::uint64_t honest_ = 0;
  std::uint64_t refused_ = 0;
};

int run(const Arguments& arguments) {
  Campaign campaign(arguments);
  for (const std::uint64_t seed : arguments.seeds) campaign.run_case(seed);
  if (!arguments.seeds.empty()) return campaign.conclude();
  for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.count; ++seed)
    campaign.run_case(seed);
  return campaign.conclude();
}

}  // namespace
}  // namespace ellice::combination

int main(int argc, char** argv) {
  try {
    return ellice::combination::run(ellice::combination::parse({argv + 1, argv + argc}));
  } catch (const ellice::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
