#include <memory>

#include "core/utf8.hpp"
#include "data/draft.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct SchemaArguments {
  CommonOptions common = {};
  std::string data = {};
  std::string target = {};
  std::string favourable = {};
  std::string format = "yaml";
  std::string output = "-";
};

ExitStatus run_schema(const SchemaArguments& arguments) {
  const Console console = begin(arguments.common);
  CsvReader source(arguments.data);
  const SchemaDraft draft =
      draft_schema(source, arguments.target, arguments.favourable, console.progress());
  std::string text;
  if (arguments.format == "json") {
    Json document = make_envelope("ellice.schema", 1);
    document["schema"] = to_json(draft.schema);
    document["notes"] = draft.notes;
    text = to_text(document);
  } else {
    text = fmt::format(
        "# A first draft from {}. Read it over: what may a person change, and how far?\n",
        visible(source.name()));
    for (const std::string& note : draft.notes) text += fmt::format("# - {}\n", visible(note));
    text += to_yaml(draft.schema);
  }
  write_file(arguments.output, text);
  if (arguments.output != "-") {
    for (const std::string& note : draft.notes) console.info("note: " + note);
    console.info(
        fmt::format("wrote {}: {} features", arguments.output, draft.schema.features.size()));
  }
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
  verb.add_option("--format", arguments->format, "form of the result")
      ->one_of({"yaml", "json"})
      ->capture_default_str();
  verb.add_option("-o,--output", arguments->output, "file to write, or - for standard output")
      ->capture_default_str();
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice schema loans.csv --target approved --favourable yes\n"
      "  ellice schema loans.csv --target approved --favourable yes -o loans.yaml");
  verb.callback([arguments, &job] { job = [arguments] { return run_schema(*arguments); }; });
}

}  // namespace ellice::cli
