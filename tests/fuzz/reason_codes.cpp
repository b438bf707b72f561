// A lender's own words for reasons.

#include "ellice/request/reason_codes.hpp"

#include "fuzz.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::accept([&] {
    const ReasonCodes codes =
        parse_reason_codes(fuzz::text_of(data, size), "fuzzed.yaml", fuzz::schema());
    for (const Feature& feature : fuzz::schema().features) {
      const Value value = feature.is_number() ? Value(1.0) : Value(feature.levels.front());
      (void)codes.find(feature, value, 0);
    }
  });
}
