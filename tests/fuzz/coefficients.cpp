// Coefficients of other programs, as JSON and as PMML, and the model that they make.

#include "ellice/model/coefficients.hpp"

#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "fuzz.hpp"

using namespace ellice;

namespace {

// That of tests/golden/inputs/imported.yaml.
const char* const schema_text = R"(target: {column: approved, favourable: "yes"}
features:
  income:  {kind: integer, min: 500, max: 9000, step: 50, direction: increase}
  debt:    {kind: numeric, min: 0, max: 20}
  purpose: {kind: categorical, levels: [boat, car, home]}
  member:  {kind: binary, levels: ["no", "yes"], immutable: true}
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Schema schema = parse_schema(schema_text, "schema.yaml");
  return fuzz::accept([&] {
    Coefficients read = parse_coefficients(std::string(fuzz::text_of(data, size)), "fuzzed");
    if (read.rows == 0) read.rows = 500;
    if (read.log_likelihood == 0) read.log_likelihood = -246;
    read.sha256 = std::string(64, 'a');
    const Model model = model_of(read, schema);
    (void)model_from_json(to_json(model), "again");
  });
}
