// Anybody's table of answers, judged.

#include "ellice/core/json.hpp"
#include "fuzz.hpp"
#include "study/answer_file.hpp"
#include "study/evaluation_file.hpp"

using namespace ellice;

namespace {

std::vector<Query> people(const Model& model) {
  std::vector<Query> queries;
  for (const double place : {-1.0, 0.0, 1.0}) {
    const Vector z = Vector::Constant(model.encoder.columns(), place);
    queries.push_back({.index = queries.size(), .raw = model.encoder.raw(model.encoder.decode(z))});
  }
  return queries;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Model& model = fuzz::model_for({});
  static const std::vector<Query> queries = people(model);
  const fuzz::MemoryFile file(data, size);
  return fuzz::accept([&] {
    CsvReader table(file.path());
    AnswerFile answers = answers_from_table(table, queries, model);
    complete_answers(answers, queries, model, 0, ExplainedRows::all, MissingAnswers::not_found,
                     "fuzzed.csv");
    const AnswerBatch batch = answer_batch(answers.answers, model, 0, ExplainedRows::all);
    const EvaluationResult result =
        evaluate(batch, {.model = &model, .intervals = {.resamples = 100}});
    (void)to_text(to_json(result, EvaluationRequest{.model_sha256 = model.sha256}));
  });
}
