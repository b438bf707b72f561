// Certificates: read and verified.

#include "ellice/certificate/certificate.hpp"

#include "ellice/certificate/verification.hpp"
#include "ellice/core/json.hpp"
#include "fuzz.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::accept([&] {
    const Json file = parse_json(fuzz::text_of(data, size), "fuzzed.json");
    std::string sha256;
    if (file.is_object() && file.contains("model_sha256") && file.at("model_sha256").is_string())
      sha256 = file.at("model_sha256").get<std::string>();
    const Model& model = fuzz::model_for(sha256);
    const Certificate certificate = certificate_from_json(file, model, "fuzzed.json");
    (void)Verifier(model).verify(certificate);
  });
}
