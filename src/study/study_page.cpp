#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "ellice/core/file.hpp"
#include "ellice/core/version.hpp"
#include "report/svg.hpp"
#include "study/study_results.hpp"

namespace ellice {

namespace {

constexpr std::string_view style = R"(<style>
:root{--ink:#1c2430;--soft:#5d6776;--line:#d9dee6;--good:#0b6b3a;--less:#9a5b00;--paper:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e8ebf0;--soft:#9aa4b2;--line:#39424f;--good:#5fd394;
--less:#f0b35a;--paper:#14181e}}
body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;
max-width:80rem;padding:0 1.2rem}
h1{font-size:1.7rem;margin-bottom:.2rem}h2{margin-top:2.6rem;border-bottom:1px solid var(--line)}
p.lead,figcaption,caption{color:var(--soft)}caption{text-align:left;margin-bottom:.5rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}
th,td{padding:.18rem .6rem;text-align:right;white-space:nowrap}th.label{text-align:left;
font-weight:400}thead th{border-bottom:1px solid var(--line);font-weight:600}
tr.opens td,tr.opens th{border-top:1px solid var(--line)}th.group{text-align:center}
td.good{color:var(--good);font-weight:600}td.less{color:var(--less)}
td .paper{display:block;font-size:.75rem;color:var(--soft);font-weight:400}
figure{margin:1.5rem 0}figure svg{max-width:none}nav a{margin-right:1rem}
code{background:color-mix(in srgb,var(--ink) 8%,transparent);padding:.1rem .3rem}
</style>)";

std::string headline_table(const std::vector<Headline>& lines) {
  std::string text =
      "<table><thead><tr><th class=\"label\">answers</th><th class=\"label\">method</th>"
      "<th>cells</th><th>as robust</th><th>as short</th><th>both</th>"
      "<th>best here</th></tr></thead><tbody>";
  for (const Headline& line : lines) {
    if (line.cells == 0) continue;
    text += fmt::format(
        "<tr><th class=\"label\">{}</th><th class=\"label\">{}</th><td>{}</td><td>{}</td><td>{}"
        "</td><td>{}</td><td>{}</td></tr>",
        enum_name(line.mode), svg::escape(line.method), line.cells, line.as_robust, line.as_short,
        line.both, line.beats_rivals);
  }
  return text + "</tbody></table>";
}

std::string what_was_run(const StudyResults& results) {
  const StudyPlan& plan = results.plan();
  std::vector<std::string> evaluators;
  for (const StudyEvaluator& evaluator : plan.evaluators) {
    const EvaluatorKind kind = parse_evaluators({evaluator.name}).front();
    if (is_per_answer(kind)) {
      evaluators.push_back(fmt::format("{} (a model for each answer)", evaluator.name));
      continue;
    }
    std::string models = fmt::format("{} models", evaluator.models);
    for (const auto& [dataset, count] : evaluator.exceptions)
      models += fmt::format(", {} on {}", count, dataset_title(dataset));
    evaluators.push_back(fmt::format("{} ({})", evaluator.name, models));
  }
  const auto rows = [](const std::optional<int>& most) {
    return most ? fmt::format("at most {}", *most) : std::string("all");
  };
  return fmt::format(
      "<p>{} of {} cells (data set × model × fold × method). Variant: <b>{}</b>. Folds {} of {}. "
      "People explained per fold: {} for tuning, {} for the test. Evaluators: {}; ε of their sets: "
      "{}. Seed {}.</p>",
      results.finished(), results.planned(), enum_name(plan.variant),
      fmt::join(plan.run_folds, ", "), plan.folds, rows(plan.tuning_rows), rows(plan.test_rows),
      fmt::join(evaluators, ", "), fmt::join(plan.targets, ", "), plan.seed);
}

/// Methods that could not be run, each with the reason, and the builds that ran the others.
std::string what_to_know(const StudyResults& results) {
  std::set<std::string> failures;
  std::set<std::string> commits;
  for (const StudyCell& cell : results.cells()) {
    if (!cell.failure.empty()) {
      failures.insert(fmt::format("{}, {} {}: {}", cell.name.method,
                                  dataset_title(cell.name.dataset), enum_name(cell.name.model),
                                  cell.failure));
    }
    if (!cell.commit.empty()) commits.insert(cell.commit);
  }
  std::string text;
  if (!failures.empty()) {
    text += "<p>Could not be run:</p><ul>";
    for (const std::string& failure : failures)
      text += fmt::format("<li>{}</li>", svg::escape(failure));
    text += "</ul>";
  }
  if (commits.size() > 1)
    text += fmt::format("<p>Run by several builds: {}.</p>",
                        svg::escape(fmt::format("{}", fmt::join(commits, ", "))));
  return text;
}

}  // namespace

std::string study_page(const StudyResults& results, const PaperValues& paper,
                       const std::string& command) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>ellice study: {0}</title>{1}</head>"
      "<body><h1>Study «{0}»</h1><p class=\"lead\">Do answers that were robust on paper stay valid "
      "when the model is trained again?</p><nav><a href=\"#run\">What was run</a><a "
      "href=\"#headline\">Headline</a><a href=\"#tables\">Tables</a><a href=\"#figures\">Figures"
      "</a><a href=\"#again\">Run it again</a></nav>",
      svg::escape(results.plan().name), style);
  page += "<h2 id=\"run\">What was run</h2>" + what_was_run(results) + what_to_know(results);
  page +=
      "<h2 id=\"headline\">Headline</h2><p>A cell is a data set, model and evaluator for which the "
      "paper prints both numbers. «As robust»: robustness at least that of the best of the "
      "paper's methods there. «As short»: mean length at most that of the paper's ElliCE. «Best "
      "here»: robustness at least that of every other method of the paper as run in this study, "
      "by the same models on the same people.</p>";
  const std::vector<Headline> lines = headlines(results, paper);
  const bool has_cells =
      std::any_of(lines.begin(), lines.end(), [](const Headline& line) { return line.cells > 0; });
  page += has_cells ? headline_table(lines)
                    : "<p>Nothing to compare with: no number of the paper is for a cell of this "
                      "study, or there is no <code>paper_values.csv</code> beside the plan.</p>";
  page +=
      "<h2 id=\"tables\">Tables</h2><p>Small numbers: the paper's value for the method of the same "
      "name, or for its ElliCE where it has no such method. Green: at least as good.</p>";
  for (const ResultTable& table : study_tables(results, paper))
    page += fmt::format("<div class=\"scroll\">{}</div>", to_html(table));
  page += "<h2 id=\"figures\">Figures</h2>";
  for (const NamedFigure& figure : study_figures(results)) {
    page += fmt::format(
        "<figure id=\"{}\"><div class=\"scroll\">{}</div><figcaption>{}"
        "</figcaption></figure>",
        figure.name, to_svg(figure.figure), svg::escape(figure.caption));
  }
  page += fmt::format(
      "<h2 id=\"again\">Run it again</h2><p><code>{}</code></p><p>ellice {} ({}), {}. Every number "
      "but the times is the same for any number of threads, unless an answer of PROPLACE met its "
      "time limit.</p></body></html>\n",
      svg::escape(command), version().number, version().commit, svg::escape(version().build));
  return page;
}

void write_study(const StudyResults& results, const PaperValues& paper, const std::string& folder,
                 const std::string& command) {
  std::filesystem::create_directories(folder + "/tables");
  std::filesystem::create_directories(folder + "/figures");
  for (const ResultTable& table : study_tables(results, paper)) {
    const std::string base = fmt::format("{}/tables/{}", folder, table.name);
    write_file(base + ".txt", to_text(table));
    write_file(base + ".csv", to_csv(table));
    write_file(base + ".tex", to_latex(table));
    write_file(base + ".html", to_html(table));
  }
  for (const NamedFigure& figure : study_figures(results))
    write_file(fmt::format("{}/figures/{}.svg", folder, figure.name), to_svg(figure.figure));
  write_file(folder + "/index.html", study_page(results, paper, command));
}

}  // namespace ellice
