#include "report/shapes.hpp"

#include <memory>

#include "core/utf8.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "problem_arguments.hpp"
#include "row_arguments.hpp"
#include "sets/epsilon_rule.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

enum class ShapeFormat { table, svg, html, json };

}  // namespace

}  // namespace ellice::cli

template <>
struct ellice::EnumNames<ellice::cli::ShapeFormat> {
  static constexpr std::array<std::string_view, 4> names = {"table", "svg", "html", "json"};
};

namespace ellice::cli {

namespace {

struct ShapeArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string epsilon = "auto";
  RowArguments rows = {};
  ShapeFormat format = ShapeFormat::table;
  std::string output = "-";
};

/// What the ending of the file's name says, where --format was not given.
ShapeFormat format_of(const ShapeArguments& arguments, bool gives_format) {
  if (gives_format) return arguments.format;
  const std::size_t dot = arguments.output.rfind('.');
  if (dot == std::string::npos) return arguments.format;
  return enum_from_name<ShapeFormat>(arguments.output.substr(dot + 1)).value_or(arguments.format);
}

std::string written(const Shapes& shapes, const Model& model, ShapeFormat format) {
  switch (format) {
    case ShapeFormat::svg:
      return shapes_svg(shapes, model);
    case ShapeFormat::html:
      return shapes_html(shapes, model);
    case ShapeFormat::json:
      return to_text(shapes_json(shapes, model));
    case ShapeFormat::table:
      break;
  }
  return visible_lines(shapes_text(shapes, model));
}

ExitStatus run_shapes(const ShapeArguments& arguments, bool gives_format) {
  const Console console = begin(arguments.common);
  const Model model = read_model(arguments.model);
  const std::shared_ptr<const TrainingRows> rows =
      or_stored_rows(read_rows(arguments.rows, model, console), model);
  if (rows) require_rows(rows.get(), model, "a centre over the training rows", RowsOf::model);
  const double epsilon = parse_epsilon_rule(arguments.epsilon)
                             .resolve(model, {.kind = SetKind::last_layer},
                                      {.rows = rows ? &rows->fitted.rows : nullptr,
                                       .execution = {.threads = arguments.common.threads}});
  const Shapes shapes =
      shape_functions(model, epsilon, rows ? &rows->fitted.rows.encoded : nullptr);
  write_file(arguments.output, written(shapes, model, format_of(arguments, gives_format)));
  return done;
}

}  // namespace

void add_shapes(Verb& program, Job& job) {
  auto arguments = std::make_shared<ShapeArguments>();
  Verb& verb = *program.add_subcommand(
      "shapes", "what each feature adds to the score of an additive model, and how sure that is");
  verb.add_option("model", arguments->model, "model file: logistic, additive or nam")->required();
  verb.add_option("--epsilon", arguments->epsilon, epsilon_help)->capture_default_str();
  add_row_options(verb, arguments->rows, "Training rows (over which the functions are centred)");
  add_choice(verb, "--format", arguments->format,
             "form of the result; that of the file's ending where not given");
  add_output(verb, arguments->output);
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice shapes m.json\n"
      "  ellice shapes m.json --epsilon 1% --data loans.csv -o shapes.html");
  verb.callback([arguments, &job, &verb] {
    const bool gives_format = verb.gives("--format");
    job = [arguments, gives_format] { return run_shapes(*arguments, gives_format); };
  });
}

}  // namespace ellice::cli
