#include <memory>
#include <optional>

#include "core/utf8.hpp"
#include "data/csv_detection.hpp"
#include "data/draft.hpp"
#include "data/draft_bins.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/dataset.hpp"
#include "report/text_table.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct SchemaArguments {
  CommonOptions common = {};
  std::string data = {};
  std::string target = {};
  std::string favourable = {};
  std::string separator = "auto";
  std::string decimal = "auto";
  std::string thousands = "auto";
  std::string encoding = "auto";
  std::string missing = "auto";
  bool merge_levels = false;
  bool strict = false;
  std::optional<int> bins = {};
  std::vector<double> special = {};
  std::string format = "yaml";
  std::string output = "-";
};

/// One character of those that are possible, by itself or by its name.
std::optional<char> mark_of(const std::string& option, const std::string& text,
                            std::string_view possible) {
  if (text == "auto") return std::nullopt;
  if (option == "--thousands" && text == "none") return '\0';
  const char mark = text == "tab" || text == "\\t" ? '\t'
                    : text == "space"              ? ' '
                    : text.size() == 1             ? text.front()
                                                   : '\0';
  require(mark != '\0' && possible.find(mark) != std::string_view::npos,
          "{}: found \"{}\", expected auto{} or one of {}", option, text,
          option == "--thousands" ? ", none" : "",
          option == "--separator"   ? ", ; tab |"
          : option == "--thousands" ? ". , space '"
                                    : ". ,");
  return mark;
}

/// The texts between commas.
std::vector<std::string> split_marks(const std::string& text) {
  std::vector<std::string> marks;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string mark = text.substr(begin, end - begin);
    require(!mark.empty(), "--missing: found \"{}\", expected texts between commas such as NA,?,-",
            text);
    marks.push_back(mark);
    begin = end + 1;
  }
  return marks;
}

FormatHints hints_of(const SchemaArguments& arguments) {
  FormatHints hints;
  hints.separator = mark_of("--separator", arguments.separator, separators);
  hints.decimal = mark_of("--decimal", arguments.decimal, decimal_marks);
  hints.thousands = mark_of("--thousands", arguments.thousands, thousands_marks);
  require(!hints.thousands || hints.thousands != hints.decimal,
          "--decimal and --thousands are both \"{}\"; a number cannot be read so",
          arguments.decimal);
  hints.encoding = enum_from_name<Encoding>(arguments.encoding);
  if (arguments.missing == "none") {
    hints.missing_values.emplace();
  } else if (arguments.missing != "auto") {
    hints.missing_values = split_marks(arguments.missing);
  }
  return hints;
}

/// What a row of the table of guesses says of a feature itself.
std::string kind_of(const SchemaDraft& draft, const std::string& column) {
  const std::optional<std::size_t> feature = draft.schema.find(column);
  return feature ? std::string(enum_name(draft.schema.features[*feature].kind)) : "";
}

std::string guess_table(const SchemaDraft& draft) {
  TextTable table(std::vector<TextTable::Align>(4, TextTable::Align::left));
  table.header({"column", "kind", "guess", "why"});
  std::string last;
  for (const Guess& guess : draft.guesses) {
    const bool again = guess.column == last;
    table.row({again ? "" : guess.column, again ? "" : kind_of(draft, guess.column),
               guess.what + (guess.is_doubtful ? " ?" : ""), guess.why});
    last = guess.column;
  }
  return table.text();
}

std::string yaml_text(const SchemaDraft& draft, const std::string& source) {
  std::string text =
      fmt::format("# A first draft from {}. Read it over: what may a person change, and how far?\n",
                  visible(source));
  for (const std::string& note : draft.notes) text += fmt::format("# - {}\n", visible(note));
  for (const std::string& doubt : draft.doubts) text += fmt::format("# - {} (?)\n", visible(doubt));
  return text + to_yaml(draft);
}

std::string json_text(const SchemaDraft& draft) {
  Json document = make_envelope("ellice.schema", 1);
  document["schema"] = to_json(draft.schema);
  document["notes"] = draft.notes;
  document["guesses"] = Json::array();
  for (const Guess& guess : draft.guesses) {
    document["guesses"].push_back({{"column", guess.column},
                                   {"guess", guess.what},
                                   {"why", guess.why},
                                   {"doubtful", guess.is_doubtful}});
  }
  document["doubts"] = draft.open_questions();
  return to_text(document);
}

/// With --strict-draft nothing is written while somebody should decide something.
void require_no_doubts(const SchemaDraft& draft, const std::string& source) {
  const std::vector<std::string> doubts = draft.open_questions();
  require_input(doubts.empty(),
                "{}: a person should decide, and --strict-draft leaves nothing open: {}; answer by "
                "options or in the file, or draft without it and correct the schema",
                source, fmt::join(doubts, "; "));
}

/// Reads the table once more, by the schema that was drafted.
void add_bins(SchemaDraft& draft, const CsvFormat& format, const SchemaArguments& arguments) {
  require(arguments.data != "-",
          "--bins reads the table twice and cannot take standard input; give the name of a file");
  Schema schema = draft.schema;
  schema.missing = MissingPolicy::median;
  CsvReader again(arguments.data, [&](std::string_view) { return format; });
  const Dataset data = read_dataset(again, schema);
  draft_bins(draft, data, {.count = *arguments.bins, .special = arguments.special});
}

ExitStatus run_schema(const SchemaArguments& arguments) {
  const Console console = begin(arguments.common);
  const FormatHints hints = hints_of(arguments);
  Detection detection;
  CsvReader source(arguments.data, [&](std::string_view start) {
    detection = detect_format(start, hints, input_name(arguments.data));
    return detection.format;
  });
  SchemaDraft draft = draft_schema(source,
                                   {.target = arguments.target,
                                    .favourable = arguments.favourable,
                                    .missing_values = detection.missing_values,
                                    .merge_levels = arguments.merge_levels},
                                   console.progress());
  if (arguments.bins) add_bins(draft, detection.format, arguments);
  draft.notes.insert(draft.notes.begin(), detection.found.begin(), detection.found.end());
  draft.doubts.insert(draft.doubts.begin(), detection.doubts.begin(), detection.doubts.end());
  if (arguments.strict) require_no_doubts(draft, source.name());
  write_file(arguments.output,
             arguments.format == "json" ? json_text(draft) : yaml_text(draft, source.name()));
  if (arguments.output == "-") return done;
  for (const std::string& note : draft.notes) console.info("note: " + note);
  if (!draft.guesses.empty()) console.info(guess_table(draft));
  for (const std::string& doubt : draft.doubts) console.warning(doubt);
  const std::size_t open = draft.open_questions().size();
  console.info(fmt::format("wrote {}: {} features{}", arguments.output,
                           draft.schema.features.size(),
                           open == 0 ? std::string()
                                     : fmt::format("; {} guess{} marked \"?\" should be decided by "
                                                   "a person",
                                                   open, open == 1 ? "" : "es")));
  return done;
}

}  // namespace

void add_schema(Verb& program, Job& job) {
  auto arguments = std::make_shared<SchemaArguments>();
  Verb& verb =
      *program.add_subcommand("schema", "draft a schema from a table, for a person to read over");
  verb.add_option("data", arguments->data, "CSV file with a header, or - for standard input")
      ->required();
  verb.add_option("--target", arguments->target, "column that holds the decision")->required();
  verb.add_option("--favourable", arguments->favourable, "its value that people want")->required();
  verb.add_option("--separator", arguments->separator,
                  "between cells: \",\", \";\", tab, \"|\", or auto to find out")
      ->capture_default_str();
  verb.add_option("--decimal", arguments->decimal, "before decimals: \".\", \",\", or auto")
      ->capture_default_str();
  verb.add_option("--thousands", arguments->thousands,
                  "between groups of three digits: \".\", \",\", space, \"'\", none, or auto")
      ->capture_default_str();
  verb.add_option("--encoding", arguments->encoding, "of the text")
      ->one_of({"auto", "utf8", "latin1"})
      ->capture_default_str();
  verb.add_option("--missing", arguments->missing,
                  "cells that mean no value, between commas (NA,?,-), none, or auto")
      ->capture_default_str();
  verb.add_flag("--merge-levels", arguments->merge_levels,
                "levels that differ in case or blanks only are one");
  verb.add_field("--bins", arguments->bins, at_least(2),
                 "draft numbers as binned, each with at most so many intervals at quantiles");
  verb.add_option("--special", arguments->special,
                  "codes that are bins of their own (-9,-8); negative ones among positive numbers "
                  "are found without it")
      ->delimiter(',');
  verb.add_flag("--strict-draft", arguments->strict,
                "fail, and write nothing, while a guess should be decided by a person");
  verb.add_option("--format", arguments->format, "form of the result")
      ->one_of({"yaml", "json"})
      ->capture_default_str();
  add_output(verb, arguments->output);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice schema loans.csv --target approved --favourable yes\n"
      "  ellice schema loans.csv --target approved --favourable yes -o loans.yaml\n"
      "  ellice schema loans.csv --target approved --favourable yes --missing NA,? -o loans.yaml\n"
      "  ellice schema loans.csv --target approved --favourable yes --bins 5 -o loans.yaml");
  verb.callback([arguments, &job] { job = [arguments] { return run_schema(*arguments); }; });
}

}  // namespace ellice::cli
