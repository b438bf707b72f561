// Answers again what a recourse file says was asked, by the library alone: for the test that the
// command line is nothing but a shell.
//
//   front_door MODEL.json PLANS.json PEOPLE.csv [ROWS.csv]

#include <cstdio>
#include <ellice/core/json.hpp>
#include <ellice/ellice.hpp>

int main(int argc, char** argv) {
  using namespace ellice;
  if (argc < 4) return 2;
  try {
    const auto model = std::make_shared<const Model>(read_model(argv[1]));
    const auto rows =
        argc > 4 ? std::make_shared<const TrainingRows>(read_training_rows(argv[4], *model))
                 : nullptr;
    const Explainer explainer(explain_request_from_json(parse_json(read_file(argv[2]), argv[2]),
                                                        argv[2], model, {}, rows));
    write_file("-", recourse_file_text(explainer, explainer.explain(read_queries(argv[3], *model),
                                                                    {.threads = 0})));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
