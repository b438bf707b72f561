// ONNX files, and the model that they make of some rows.

#include "ellice/model/onnx.hpp"

#include "core/random.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "fuzz.hpp"

using namespace ellice;

namespace {

// Those of tests/model/onnx.
const char* const numbers_text = R"(target: {column: approved, favourable: "yes"}
features:
  income:  {kind: integer, min: 500, max: 20000}
  debt:    {kind: numeric, min: 0, max: 20}
  years:   {kind: integer, min: 0, max: 40}
)";
const char* const texts_text = R"(  purpose: {kind: categorical, levels: [boat, car, home]}
  member:  {kind: binary, levels: ["no", "yes"]}
)";

Dataset some_rows(const std::string& schema_text) {
  Dataset data{.schema = parse_schema(schema_text, "schema.yaml"), .classes = {"no", "yes"}};
  const auto features = static_cast<Index>(data.schema.features.size());
  Random random(3);
  data.raw.resize(30, features);
  for (Index i = 0; i < 30; ++i) {
    data.raw(i, 0) = 500 + 100 * static_cast<double>(i * 7 % 30);
    data.raw(i, 1) = 20 * random.uniform();
    data.raw(i, 2) = static_cast<double>(i % 11);
    for (Index j = 3; j < features; ++j) data.raw(i, j) = static_cast<double>(i % (6 - j));
    data.labels.push_back(i % 3 == 0 ? 1 : 0);
  }
  data.source = "rows";
  data.sha256 = std::string(64, 'a');
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Dataset numbers = some_rows(numbers_text);
  static const Dataset all = some_rows(std::string(numbers_text) + texts_text);
  return fuzz::accept([&] {
    const std::string bytes(fuzz::text_of(data, size));
    const bool has_texts = bytes.find("purpose") != std::string::npos;
    const Model model = model_of_onnx(bytes, "fuzzed", has_texts ? all : numbers, {.l2 = 0.01});
    (void)model_from_json(to_json(model), "again");
  });
}
