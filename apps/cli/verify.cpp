#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/as_input.hpp"
#include "data/row_file.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model_file.hpp"
#include "record_audit.hpp"
#include "recourse_stream.hpp"
#include "report/text_table.hpp"
#include "report/verification_file.hpp"
#include "request/query_reader.hpp"
#include "row_arguments.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct VerifyArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string file = {};
  std::string queries = {};
  std::vector<std::string> ensemble = {};
  RowArguments rows = {};
  OutputFormat format = OutputFormat::table;
  std::string output = "-";
};

// A table names every failure, and at most so many answers that hold.
constexpr std::size_t most_shown = 50;

/// Those who asked, as `explain` read them; a column that the schema does not know is the one that
/// --id named.
struct Asked {
  People people = {};
  PeopleIds ids = {};
};

Asked read_people(const std::string& path, const Model& model) {
  CsvReader source = open_rows(path, model.schema().format);
  QueryReader reader(model, source, identifier_column(source, model.schema()), OnError::skip);
  Asked asked;
  constexpr std::size_t block_rows = 4096;
  while (true) {
    const QueryBlock block = reader.next(block_rows);
    if (block.size() == 0) return asked;
    asked.people.resize(asked.people.size() + block.size());
    asked.ids.resize(asked.people.size());
    for (const Query& query : block.queries) {
      asked.people[query.index] =
          model.encoder.values({query.raw.data(), static_cast<std::size_t>(query.raw.size())});
      asked.ids[query.index] = query.id;
    }
    for (const Answer& invalid : block.invalid) asked.ids[invalid.query_index] = invalid.id;
  }
}

/// One line for each standing: which fields have it, and in how many records where not in all.
std::string fields_text(const FileAudit& all) {
  const auto fields = counted_fields(all);
  std::string text;
  for (std::size_t k = 0; k < EnumNames<Standing>::names.size(); ++k) {
    std::vector<std::string> names;
    for (const auto& [name, counts] : fields) {
      if (counts[k] == 0) continue;
      const bool is_mixed = std::count(counts.begin(), counts.end(), 0U) < 3;
      names.push_back(is_mixed ? fmt::format("{} ({})", name, counts[k]) : name);
    }
    if (names.empty()) continue;
    std::string label(EnumNames<Standing>::names[k]);
    std::replace(label.begin(), label.end(), '_', ' ');
    text += fmt::format("{}: {}\n", label, fmt::join(names, ", "));
  }
  return text;
}

/// What there is to say of people without an answer; empty where nobody is known to be missing and
/// the run was not interrupted.
std::string missing_text(const FileAudit& all, bool has_queries) {
  if (!all.is_interrupted) return {};
  std::size_t count = 0;
  for (const auto& [first, last] : all.missing) count += last - first + 1;
  std::string text = "the run was interrupted: ";
  text += count == 0 ? "nobody" : count == 1 ? "1 person" : fmt::format("{} people", count);
  text += has_queries ? " of the query file" : " before the last answer";
  text += count == 1 || count == 0 ? " is missing" : " are missing";
  if (count > 0) text += fmt::format(" (query {})", words(all.missing));
  if (!has_queries) text += "; whether anybody follows after it only --queries can tell";
  return text;
}

/// What of answers that hold was not checked, and in how many.
std::map<std::string, std::size_t> unverified_of(const FileAudit& all) {
  std::map<std::string, std::size_t> result;
  for (const AnswerAudit& one : all)
    if (one.holds() && !one.unverified.empty()) ++result[one.unverified.front()];
  return result;
}

/// What is not checked in all of several answers alike is said once, below them.
bool is_said_once(std::size_t count, std::size_t answers) {
  return answers > 1 && count == answers;
}

/// What there is to say about a verdict.
std::string reason_for(const AnswerAudit& one, const std::map<std::string, std::size_t>& open,
                       std::size_t answers) {
  if (!one.holds()) return one.failures.front();
  if (one.unverified.empty()) return "";
  return is_said_once(open.at(one.unverified.front()), answers)
             ? ""
             : "not checked: " + one.unverified.front();
}

std::string verification_text(const FileAudit& all, std::size_t failed, bool has_queries) {
  using enum TextTable::Align;
  TextTable table({right, right, left, left, right, right, right, left});
  table.header(
      {"query", "plan", "status", "verdict", "epsilon", "threshold", "worst logit", "reason"});
  std::size_t shown = 0;
  std::size_t certified = 0;
  std::size_t proofs = 0;
  const std::map<std::string, std::size_t> open = unverified_of(all);
  for (const AnswerAudit& one : all) {
    const bool has_certificate = is_certified(one.status);
    if (one.holds()) {
      certified += has_certificate ? 1 : 0;
      proofs += one.status == Status::infeasible && is_confirmed(one) ? 1 : 0;
      if (++shown > most_shown) continue;
    }
    table.row({std::to_string(one.query_index), std::to_string(one.plan),
               std::string(enum_name(one.status)),
               !one.holds()        ? "FAILS"
               : is_confirmed(one) ? "holds"
                                   : "no claim",
               rounded(one.epsilon), rounded(one.threshold),
               has_certificate ? rounded(one.robust_logit, 6) : "-",
               reason_for(one, open, all.size())});
  }
  std::string text = table.text();
  if (shown > most_shown) text += fmt::format("… and {} more that hold\n", shown - most_shown);
  text += fmt::format("{} answers: {} certificates and {} proofs of infeasibility hold, {} fail\n",
                      all.size(), certified, proofs, failed);
  std::size_t stated = 0;  // of which the table says what
  for (const auto& [what, count] : open) {
    if (is_said_once(count, all.size())) {
      text += fmt::format("not checked in any of them: {}\n", what);
    } else {
      stated += count;
    }
  }
  if (stated > 0) {
    text += fmt::format(
        "{} of those that hold state something that could be neither confirmed nor refuted\n",
        stated);
  }
  const std::string missing = missing_text(all, has_queries);
  if (!missing.empty()) text += missing + "\n";
  text += fields_text(all);
  for (const std::string& failure : all.failures) text += fmt::format("FAILS: {}\n", failure);
  return text;
}

ExitStatus run_verify(const VerifyArguments& arguments) {
  const Console console = begin(arguments.common);
  const Model model = read_model(arguments.model);
  std::vector<Model> others;
  for (const std::string& other : arguments.ensemble) others.push_back(read_model(other));
  std::vector<const Model*> ensemble;
  for (const Model& other : others) ensemble.push_back(&other);
  const std::string source = input_name(arguments.file);
  const bool has_table = arguments.file.ends_with(".csv");
  std::optional<RecordFile> file;
  if (!has_table) file.emplace(arguments.file);
  const bool has_lines = has_table || file->has_lines();
  const std::unique_ptr<RecourseStream> stream =
      has_lines || arguments.file == "-" ? nullptr : RecourseStream::open(arguments.file);
  Json document = has_lines || stream ? Json() : parse_json(file->text(), source);
  std::shared_ptr<const TrainingRows> training;
  const auto read_rows = [&](bool is_true) {
    if (!training && (is_true || arguments.rows.given()))
      training =
          read_needed_rows(arguments.rows, model, console, is_true ? "the set true" : "verify");
    return training ? &training->fitted.rows : nullptr;
  };
  const StoredRows* const known = read_rows(is_about_true_set(stream ? stream->head() : document));
  const std::optional<Asked> people = arguments.queries.empty()
                                          ? std::nullopt
                                          : std::optional(read_people(arguments.queries, model));
  const FileAudit all = as_input(source, [&] {
    if (!has_lines) {
      const AuditSources sources{.members = ensemble,
                                 .rows = known,
                                 .people = people ? &people->people : nullptr,
                                 .ids = people ? &people->ids : nullptr};
      if (stream) {
        std::optional<FileAudit> found =
            audit_stream(*stream, model, source, sources, arguments.common.threads);
        if (found) return *std::move(found);
        document = parse_json(file->text(), source);
      }
      return audit_document(document, model, ensemble, known, sources.people, source, sources.ids);
    }
    require(!people, "--queries is for files of --format json, and {} holds records alone", source);
    std::mutex
        making;  // guards the verifiers, which are made when a record is the first to need one
    std::optional<Verifier> of_true;
    std::optional<Verifier> of_others;
    const auto of_record = [&](const Json& record) -> const Verifier& {
      const bool is_true = is_about_true_set(record);
      std::optional<Verifier>& verifier = is_true ? of_true : of_others;
      const std::lock_guard lock(making);
      if (!verifier) verifier.emplace(model, ensemble, is_true ? read_rows(true) : known);
      return *verifier;
    };
    return audit_records(has_table ? records_of_table(arguments.file, model) : file->records(),
                         model, of_record, source, arguments.common.threads);
  });
  if (all.is_interrupted)
    console.warning(fmt::format("{}: {}", source, missing_text(all, people.has_value())));
  const auto failed = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const AnswerAudit& one) { return !one.holds(); }));
  write_file(arguments.output, arguments.format == OutputFormat::json
                                   ? to_text(verification_document(model, all))
                                   : verification_text(all, failed, people.has_value()));
  const bool weak = std::any_of(all.begin(), all.end(), [&](const AnswerAudit& one) {
    return is_certified(one.status) && one.threshold < model.decision.threshold;
  });
  if (weak) {
    console.warning(fmt::format(
        "{}: some answers are certified for a threshold below the model's own, {}: that is no yes",
        source, model.decision.threshold));
  }
  if (failed > 0)
    console.error(fmt::format(
        "{}: {} of {} answers failed; do not rely on them, ask for new ones (`ellice explain`)",
        source, failed, all.size()));
  for (const std::string& failure : all.failures)
    console.error(fmt::format("{}: {}", source, failure));
  return all.holds() ? done : not_certified;
}

}  // namespace

void add_verify(Verb& program, Job& job) {
  auto arguments = std::make_shared<VerifyArguments>();
  Verb& verb =
      *program.add_subcommand("verify", "re-check certificates without the code that issued them");
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("file", arguments->file,
                  "recourse file (explain --format json, or the certificates of jsonl and csv) or "
                  "certificate file, "
                  "or - for standard input")
      ->required();
  verb.add_option("--ensemble", arguments->ensemble,
                  "the other model files, for answers of the set ensemble")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FILE,...");
  verb.add_option("--queries", arguments->queries,
                  "the table of those who asked: every record must be about its own person, and "
                  "who is missing is named");
  add_row_options(verb, arguments->rows,
                  "Training rows (for the set true, and reasons against accepted rows)");
  add_format(verb, arguments->format);
  add_output(verb, arguments->output);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice verify m.json plans.json\n"
      "  ellice verify m.json certificate.json --format json\n"
      "  ellice verify m.json plans.json --data loans.csv --queries people.csv\n"
      "Exit status 4 when a certificate fails, 3 when it belongs to another model.");
  verb.callback([arguments, &job] { job = [arguments] { return run_verify(*arguments); }; });
}

}  // namespace ellice::cli
