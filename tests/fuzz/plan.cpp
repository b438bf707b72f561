// Plans of studies.

#include "study/plan.hpp"

#include "fuzz.hpp"
#include "study/study_runner.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const StudyNames names = study_names();
  return fuzz::accept([&] { (void)parse_plan(fuzz::text_of(data, size), "fuzzed.yaml", names); });
}
