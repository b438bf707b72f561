#include "study/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

// Two means that print alike are equally good.
bool prints_alike(double a, double b, int decimals) {
  return std::abs(a - b) <= 0.5 * std::pow(10, -decimals);
}

std::string number(const Measured& value, int decimals, std::string_view between) {
  if (!value.mean) return "---";
  if (value.spread == 0) return fmt::format("{:.{}f}", *value.mean, decimals);
  return fmt::format("{:.{}f}{}{:.{}f}", *value.mean, decimals, between, value.spread, decimals);
}

std::string csv_number(const std::optional<double>& value) {
  return value ? number_text(*value) : "";
}

std::string latex_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (std::string_view("%&_#$").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

/// Neighbouring columns under one heading: name and count.
std::vector<std::pair<std::string, int>> groups(const ResultTable& table) {
  std::vector<std::pair<std::string, int>> result;
  for (const ResultTable::Column& column : table.columns) {
    if (result.empty() || result.back().first != column.group) {
      result.emplace_back(column.group, 1);
    } else {
      ++result.back().second;
    }
  }
  return result;
}

bool has_groups(const ResultTable& table) {
  for (const ResultTable::Column& column : table.columns) {
    if (!column.group.empty()) return true;
  }
  return false;
}

bool has_paper(const ResultTable& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const ResultTable::Row& row) {
    return row.cells.at(column).paper.mean.has_value();
  });
}

std::string heading(const ResultTable::Column& column) {
  const std::string_view arrow = column.better == ResultTable::Better::higher  ? " ↑"
                                 : column.better == ResultTable::Better::lower ? " ↓"
                                                                               : "";
  return fmt::format("{}{}", column.name, arrow);
}

}  // namespace

std::optional<bool> ResultTable::is_as_good(const Row& row, std::size_t column) const {
  const Column& about = columns.at(column);
  const Cell& cell = row.cells.at(column);
  if (about.better == Better::neither || !cell.ours.mean || !cell.paper.mean) return std::nullopt;
  if (prints_alike(*cell.ours.mean, *cell.paper.mean, about.decimals)) return true;
  return about.better == Better::higher ? *cell.ours.mean > *cell.paper.mean
                                        : *cell.ours.mean < *cell.paper.mean;
}

std::string to_text(const ResultTable& table) {
  std::vector<TextTable::Align> align(table.labels.size(), TextTable::Align::left);
  std::vector<std::string> header = table.labels;
  std::vector<bool> beside;  // columns with one of the paper's numbers next to them
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const ResultTable::Column& column = table.columns[c];
    beside.push_back(has_paper(table, c));
    align.push_back(TextTable::Align::right);
    header.push_back(column.group.empty() ? heading(column)
                                          : fmt::format("{} {}", column.group, heading(column)));
    if (!beside.back()) continue;
    align.push_back(TextTable::Align::right);
    header.emplace_back("paper");
  }
  TextTable text(align);
  text.header(header);
  for (const ResultTable::Row& row : table.rows) {
    std::vector<std::string> cells = row.labels;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ResultTable::Cell& cell = row.cells.at(c);
      const int decimals = table.columns[c].decimals;
      const bool good = table.is_as_good(row, c).value_or(false);
      cells.push_back(cell.note.empty() ? fmt::format("{}{}", number(cell.ours, decimals, " ± "),
                                                      good ? "*" : " ")
                                        : cell.note);
      if (beside[c]) cells.push_back(cell.paper.mean ? number(cell.paper, decimals, " ± ") : "");
    }
    text.row(cells);
  }
  const bool any = std::find(beside.begin(), beside.end(), true) != beside.end();
  return fmt::format("{}\n{}\n{}", table.caption,
                     any ? "* at least as good as the paper's value\n" : "", text.text());
}

std::string to_csv(const ResultTable& table) {
  std::string text;
  for (const std::string& label : table.labels) text += csv_cell(label) + ",";
  text += "group,column,mean,spread,paper_mean,paper_spread,note\n";
  for (const ResultTable::Row& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ResultTable::Cell& cell = row.cells.at(c);
      for (const std::string& label : row.labels) text += csv_cell(label) + ",";
      const auto spread = [](const Measured& m) { return m.mean ? number_text(m.spread) : ""; };
      text += fmt::format("{},{},{},{},{},{},{}\n", csv_cell(table.columns[c].group),
                          csv_cell(table.columns[c].name), csv_number(cell.ours.mean),
                          spread(cell.ours), csv_number(cell.paper.mean), spread(cell.paper),
                          csv_cell(cell.note));
    }
  }
  return text;
}

std::string to_latex(const ResultTable& table) {
  std::string text =
      fmt::format("% {}\n\\begin{{tabular}}{{{}{}}}\n\\toprule\n", table.caption,
                  std::string(table.labels.size(), 'l'), std::string(table.columns.size(), 'r'));
  if (has_groups(table)) {
    if (!table.labels.empty())
      text += fmt::format("\\multicolumn{{{}}}{{l}}{{}}", table.labels.size());
    for (const auto& [name, count] : groups(table))
      text += fmt::format(" & \\multicolumn{{{}}}{{c}}{{{}}}", count, latex_text(name));
    text += " \\\\\n";
  }
  for (std::size_t k = 0; k < table.labels.size(); ++k)
    text += (k == 0 ? "" : " & ") + latex_text(table.labels[k]);
  for (const ResultTable::Column& column : table.columns) {
    const std::string_view arrow = column.better == ResultTable::Better::higher  ? " $\\uparrow$"
                                   : column.better == ResultTable::Better::lower ? " $\\downarrow$"
                                                                                 : "";
    text += fmt::format(" & {}{}", latex_text(column.name), arrow);
  }
  text += " \\\\\n\\midrule\n";
  for (const ResultTable::Row& row : table.rows) {
    for (std::size_t k = 0; k < row.labels.size(); ++k)
      text += (k == 0 ? "" : " & ") + latex_text(row.labels[k]);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ResultTable::Cell& cell = row.cells.at(c);
      std::string shown = cell.note.empty()
                              ? number(cell.ours, table.columns[c].decimals, " $\\pm$ ")
                              : latex_text(cell.note);
      if (table.is_as_good(row, c).value_or(false)) shown = fmt::format("\\textbf{{{}}}", shown);
      if (cell.paper.mean) {
        shown += fmt::format(" {{\\scriptsize ({})}}",
                             number(cell.paper, table.columns[c].decimals, " $\\pm$ "));
      }
      text += " & " + shown;
    }
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string to_html(const ResultTable& table) {
  std::string text = fmt::format("<table class=\"result\"><caption>{}</caption><thead>",
                                 svg::escape(table.caption));
  if (has_groups(table)) {
    text += fmt::format("<tr><th colspan=\"{}\"></th>", table.labels.size());
    for (const auto& [name, count] : groups(table))
      text += fmt::format("<th class=\"group\" colspan=\"{}\">{}</th>", count, svg::escape(name));
    text += "</tr>";
  }
  text += "<tr>";
  for (const std::string& label : table.labels)
    text += fmt::format("<th class=\"label\">{}</th>", svg::escape(label));
  for (const ResultTable::Column& column : table.columns)
    text += fmt::format("<th>{}</th>", svg::escape(heading(column)));
  text += "</tr></thead><tbody>";
  std::string last;
  for (const ResultTable::Row& row : table.rows) {
    const bool opens = !row.labels.empty() && row.labels.front() != last;
    text += opens ? "<tr class=\"opens\">" : "<tr>";
    for (std::size_t k = 0; k < row.labels.size(); ++k) {
      text += fmt::format("<th class=\"label\">{}</th>",
                          k == 0 && !opens ? "" : svg::escape(row.labels[k]));
    }
    if (!row.labels.empty()) last = row.labels.front();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ResultTable::Cell& cell = row.cells.at(c);
      const int decimals = table.columns[c].decimals;
      const std::optional<bool> good = table.is_as_good(row, c);
      text += fmt::format(
          "<td class=\"{}\">{}",
          !good   ? "plain"
          : *good ? "good"
                  : "less",
          svg::escape(cell.note.empty() ? number(cell.ours, decimals, " ± ") : cell.note));
      if (cell.paper.mean) {
        text += fmt::format("<span class=\"paper\">{}</span>",
                            svg::escape(number(cell.paper, decimals, " ± ")));
      }
      text += "</td>";
    }
    text += "</tr>";
  }
  return text + "</tbody></table>\n";
}

}  // namespace ellice
