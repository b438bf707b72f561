// Constraints of a run: what is read is written, and read back as it was.

#include "ellice/request/constraints.hpp"

#include "ellice/core/json.hpp"
#include "fuzz.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  return fuzz::accept([&] {
    Constraints constraints;
    read_constraints(file.path(), fuzz::schema(), constraints);
    validate(constraints, fuzz::schema());
    const Json written = to_json(constraints);
    JsonObject object(written, "written.json");
    const Constraints again = constraints_from_json(object);
    object.finish();
    fuzz::promise(to_text(to_json(again)) == to_text(written), "constraints read back");
  });
}
