#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>

#include "data/row_file.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "report/html.hpp"
#include "request/query_reader.hpp"
#include "row_arguments.hpp"
#include "server.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

// Those of `ellice demo`.
constexpr std::size_t demo_rows = 2000;
constexpr std::uint64_t demo_seed = 1;
constexpr std::uint64_t demo_people_seed = 2;
constexpr std::size_t demo_applicants = 300;

struct ServeArguments {
  CommonOptions common = {};
  std::vector<std::string> models = {};
  bool demo = false;
  RowArguments rows = {};
  std::string people = {};
  std::string id = {};
  std::string token_file = {};
  serve::ServerOptions server = {};
};

/// The file's name without its ending, of letters that need no escapes in a path.
std::string model_name(const std::string& path) {
  std::string name = path == "-" ? "model" : std::filesystem::path(path).stem().string();
  for (char& c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
    if (!is_plain) c = '_';
  }
  return name.empty() ? "model" : name;
}

serve::ServedPeople read_served_people(const ServeArguments& arguments, const Model& model,
                                       const Console& console) {
  serve::ServedPeople people;
  if (arguments.people.empty()) return people;
  CsvReader source = open_rows(arguments.people, model.schema().format,
                               [&](const std::string& remark) { console.warning(remark); });
  QueryReader reader(model, source,
                     arguments.id.empty() ? std::nullopt : std::optional(arguments.id),
                     OnError::stop);
  constexpr std::size_t block_rows = 4096;
  while (true) {
    const QueryBlock block = reader.next(block_rows);
    if (block.size() == 0) return people;
    for (const Query& query : block.queries) {
      people.rows.push_back(
          model.encoder.values({query.raw.data(), static_cast<std::size_t>(query.raw.size())}));
      people.ids.push_back(query.id);
    }
  }
}

/// Made-up applicants whom the model turns down.
serve::ServedPeople demo_people(const Model& model) {
  const Dataset data = lending_dataset(demo_applicants, demo_people_seed);
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  serve::ServedPeople people;
  for (Index i = 0; i < data.raw.rows(); ++i) {
    if (logits(i) >= model.decision.threshold) continue;
    const Vector raw = data.raw.row(i);
    people.rows.push_back(model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())}));
    people.ids.emplace_back(fmt::format("applicant {}", i));
  }
  return people;
}

std::shared_ptr<const serve::ServedModels> demo_models(const ServeArguments& arguments) {
  const Dataset data = lending_dataset(demo_rows, demo_seed);
  const auto model = std::make_shared<const Model>(
      train(data, {}, {}, {.threads = arguments.common.threads}).model);
  auto rows = std::make_shared<const TrainingRows>(training_rows_of(data, *model));
  std::vector<std::shared_ptr<const serve::ServedModel>> models = {
      std::make_shared<const serve::ServedModel>("lending", model, std::move(rows),
                                                 demo_people(*model))};
  return std::make_shared<const serve::ServedModels>(std::move(models));
}

std::shared_ptr<const serve::ServedModels> load_models(const ServeArguments& arguments,
                                                       const Console& console) {
  if (arguments.demo) return demo_models(arguments);
  std::vector<std::shared_ptr<const serve::ServedModel>> models;
  for (const std::string& path : arguments.models) {
    const auto model = std::make_shared<const Model>(read_model(path));
    models.push_back(std::make_shared<const serve::ServedModel>(
        model_name(path), model, read_rows(arguments.rows, *model, console),
        read_served_people(arguments, *model, console)));
  }
  return std::make_shared<const serve::ServedModels>(std::move(models));
}

/// The first line of a file that holds nothing else.
std::string read_token(const std::string& path) {
  constexpr std::size_t shortest = 16;
  std::string token = read_file(path);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  require_input(token.size() >= shortest, "{}: a token has {} characters at least; this one has {}",
                path, shortest, token.size());
  const bool is_plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  require_input(is_plain, "{}: a token is one line of ASCII letters, digits and signs", path);
  return token;
}

void check(const ServeArguments& arguments) {
  require(arguments.demo != !arguments.models.empty(),
          "give model files, or --demo for the embedded data{}",
          arguments.demo ? ", not both" : "");
  require(arguments.models.size() <= 1 || (!arguments.rows.given() && arguments.people.empty()),
          "--data, --dataset and --people are for one model: of several, train with --store-rows");
  require(!arguments.demo || (!arguments.rows.given() && arguments.people.empty()),
          "--demo brings its own rows and people");
  require(arguments.id.empty() || !arguments.people.empty(), "--id is a column of --people");
  validate(arguments.server, "options");
  require(!arguments.token_file.empty() || serve::is_loopback(arguments.server.host),
          "--host {} can be reached from other machines: give --token-file FILE, or listen on "
          "127.0.0.1",
          arguments.server.host);
}

ExitStatus run_serve(const ServeArguments& arguments) {
  const Console console = begin(arguments.common);
  check(arguments);
  serve::Service service(load_models(arguments, console), std::string(page_bundle()));
  const bool logs = !arguments.common.quiet && arguments.common.log_level >= LogLevel::info;
  serve::ServerHooks hooks;
  hooks.listening = [&](const std::string& address) {
    std::string names;
    for (const auto& model : service.models()->all())
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", model->name(),
                           model->model()->sha256.substr(0, 12));
    write_file("-", fmt::format("{} serves {}\n", address, names));
  };
  hooks.reload = [&] { return load_models(arguments, console); };
  if (!arguments.token_file.empty()) hooks.token = [&] { return read_token(arguments.token_file); };
  std::mutex mutex;
  if (logs) {
    hooks.log = [&](const std::string& line) {
      const std::lock_guard lock(mutex);
      std::cerr << line + '\n';
    };
  }
  serve::run_server(service, arguments.server, arguments.common.threads, hooks);
  return done;
}

}  // namespace

void add_serve(Verb& program, Job& job) {
  auto arguments = std::make_shared<ServeArguments>();
  Verb& verb = *program.add_subcommand(
      "serve", "a page and an interface over HTTP: explain, certify, verify for other programs");
  verb.add_option("models", arguments->models, "model files, served by their names");
  verb.add_flag("--demo", arguments->demo, "train on the embedded data and serve that");
  add_flags(verb, arguments->server);
  verb.add_option("--token-file", arguments->token_file,
                  "file with the token that clients must send; without one the service is for this "
                  "machine alone")
      ->type_name("FILE");
  verb.add_option("--people", arguments->people, "CSV file with people whom the page offers")
      ->type_name("FILE");
  verb.add_option("--id", arguments->id, "column of --people that names them")->type_name("COLUMN");
  add_row_options(verb, arguments->rows,
                  "Training rows (their distribution is shown; for the set true)");
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice serve --demo\n"
      "  ellice serve m.json --data loans.csv --people declined.csv --id customer\n"
      "  ellice serve a.json b.json --host 0.0.0.0 --token-file token.txt\n"
      "\n"
      "One line of JSON per request goes to standard error. SIGHUP reads models and token again; "
      "SIGTERM and Ctrl-C end the service when what runs is finished, with status 0.");
  verb.callback([arguments, &job] { job = [arguments] { return run_serve(*arguments); }; });
}

}  // namespace ellice::cli
