// Files of answers: audited, asked again, judged.

#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "ellice/explain/explain_request.hpp"
#include "fuzz.hpp"
#include "study/answer_file.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  return fuzz::accept([&] {
    const Json file = parse_json(text, "fuzzed.json");
    std::string sha256;
    if (file.is_object() && file.contains("model_sha256") && file.at("model_sha256").is_string())
      sha256 = file.at("model_sha256").get<std::string>();
    const Model& model = fuzz::model_for(sha256);
    (void)fuzz::accept([&] { (void)audit_recourse_file(file, model, "fuzzed.json"); });
    (void)fuzz::accept([&] {
      const std::shared_ptr<const Model> shared(std::shared_ptr<const Model>(), &model);
      const ExplainRequest request = explain_request_from_json(file, "fuzzed.json", shared);
      (void)why_unsupported(request);
    });
    const AnswerFile answers = answers_from_json(text, model, "fuzzed.json");
    require_all_answers(answers, "fuzzed.json");
    (void)answer_batch(answers.answers, model, answers.threshold.value_or(0), ExplainedRows::all);
  });
}
