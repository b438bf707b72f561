#include <memory>

#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/rashomon/certificate.hpp"
#include "ellice/rashomon/verification.hpp"
#include "ellice/report/text_table.hpp"
#include "verb.hpp"

namespace ellice::cli {

namespace {

struct VerifyArguments {
  CommonOptions common = {};
  std::string model = {};
  std::string file = {};
  OutputFormat format = OutputFormat::table;
  std::string output = "-";
};

struct Checked {
  Certificate certificate = {};
  Verification verification = {};
};

Json verification_json(const Model& model, const std::vector<Checked>& all, std::size_t failed) {
  Json document = make_envelope("ellice.verification", 1);
  document["model_sha256"] = model.sha256;
  document["checked"] = all.size();
  document["failed"] = failed;
  document["results"] = Json::array();
  for (const Checked& one : all) {
    document["results"].push_back({{"holds", one.verification.holds()},
                                   {"epsilon", one.certificate.epsilon},
                                   {"threshold", one.certificate.threshold},
                                   {"logit", one.verification.logit},
                                   {"robust_logit", one.verification.robust_logit},
                                   {"failures", one.verification.failures}});
  }
  return document;
}

std::string verification_text(const std::vector<Checked>& all, std::size_t failed) {
  using enum TextTable::Align;
  TextTable table({right, left, right, right, right, left});
  table.header({"certificate", "verdict", "epsilon", "threshold", "worst logit", "reason"});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [certificate, verification] = all[i];
    table.row({std::to_string(i), verification.holds() ? "holds" : "FAILS",
               rounded(certificate.epsilon), rounded(certificate.threshold),
               rounded(verification.robust_logit, 6),
               verification.holds() ? "" : verification.failures.front()});
  }
  return table.text() + fmt::format("{} of {} certificates hold for every model of their set\n",
                                    all.size() - failed, all.size());
}

ExitStatus run_verify(const VerifyArguments& arguments) {
  validate(arguments.common, "options");
  const Console console = arguments.common.console();
  const Model model = read_model(arguments.model);
  const std::string source = input_name(arguments.file);
  const Json document = parse_json(read_file(arguments.file), source);
  const Verifier verifier(model);
  std::vector<Checked> all;
  Checked one{.certificate = certificate_from_json(document, model, source)};
  one.verification = verifier.verify(one.certificate);
  all.push_back(std::move(one));

  std::size_t failed = 0;
  for (const Checked& checked : all) failed += checked.verification.holds() ? 0 : 1;
  write_file(arguments.output, arguments.format == OutputFormat::json
                                   ? to_text(verification_json(model, all, failed))
                                   : verification_text(all, failed));
  if (failed > 0)
    console.error(fmt::format("{}: {} of {} certificates failed", source, failed, all.size()));
  return failed > 0 ? not_certified : done;
}

}  // namespace

void add_verify(CLI::App& program, Job& job) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App& verb =
      *program.add_subcommand("verify", "re-check certificates without the code that issued them");
  verb.add_option("model", arguments->model, "model file")->required();
  verb.add_option("file", arguments->file, "certificate file, or - for standard input")->required();
  add_format(verb, arguments->format);
  verb.add_option("-o,--output", arguments->output, "file to write, or - for standard output")
      ->capture_default_str();
  add_flags(verb, arguments->common);
  verb.footer(
      "Examples:\n"
      "  ellice verify m.json certificate.json\n"
      "  ellice verify m.json certificate.json --format json\n"
      "Exit status 4 when a certificate fails, 3 when it belongs to another model.");
  verb.callback([arguments, &job] { job = [arguments] { return run_verify(*arguments); }; });
}

}  // namespace ellice::cli
