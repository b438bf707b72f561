// Schemas: what is read is written, and read back as it was.

#include "ellice/data/schema.hpp"

#include "ellice/core/json.hpp"
#include "fuzz.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::accept([&] {
    const Schema schema = parse_schema(fuzz::text_of(data, size), "fuzzed.yaml");
    fuzz::promise(parse_schema(to_yaml(schema), "written.yaml") == schema, "YAML reads back");
    fuzz::promise(schema_from_json(to_json(schema), "written.json") == schema, "JSON reads back");
  });
}
