// Uses the installed library as a stranger would. It is compiled for the plain architecture,
// whatever instruction set the library was built for, and both sides allocate and free each other's
// vectors: docs/decisions/0005-one-eigen-alignment.md is what makes that safe.

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.hpp"
#include "core/random.hpp"
#include "core/sha256.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"

static_assert(EIGEN_DEFAULT_ALIGN_BYTES == 64, "the package must carry its alignment rule");

namespace {

int failures = 0;

void expect(bool fact, const std::string& what) {
  if (fact) return;
  std::cerr << "FAILED: " << what << '\n';
  ++failures;
}

bool is_aligned(const ellice::Vector& vector) {
  return reinterpret_cast<std::uintptr_t>(vector.data()) % 64 == 0;
}

}  // namespace

int main() {
  expect(ellice::number_text(0.1) == "0.1", "number_text(0.1)");
  expect(ellice::sha256_hex("abc") ==
             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
         "sha256_hex(\"abc\"), an example of FIPS 180-2");

  ellice::Random random(7);
  std::vector<ellice::Vector> kept;
  for (ellice::Index size = 1; size <= 257; ++size) {
    ellice::Vector theirs = random.normal_vector(size);  // allocated there
    const ellice::Vector ours = 2.0 * theirs;            // allocated here
    expect(is_aligned(theirs) && is_aligned(ours), "alignment at size " + std::to_string(size));
    expect(ellice::to_json_array(ours).size() == static_cast<std::size_t>(size), "ours read there");
    theirs.resize(size + 1);  // freed and allocated here
    kept.push_back(std::move(theirs));
  }
  std::cout << "ellice " << ellice::version().number << " (" << ellice::version().build
            << "): " << (failures == 0 ? "all facts hold" : "see above") << '\n';
  return failures == 0 ? 0 : 1;
}
