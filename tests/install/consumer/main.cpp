// Uses the installed library as a stranger would. It is compiled for the plain architecture,
// whatever instruction set the library was built for, and both sides allocate and free each other's
// vectors: docs/decisions/0005-one-eigen-alignment.md is what makes that safe.

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "ellice/model/network.hpp"

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
  expect(ellice::compact_text(ellice::Json(0.1)) == "0.1", "compact_text(0.1)");

  std::vector<ellice::Vector> kept;
  for (ellice::Index size = 2; size <= 257; ++size) {
    ellice::Vector theirs = ellice::linear_network(ellice::Vector::Random(size)).head();  // there
    const ellice::Vector ours = 2.0 * theirs;  // allocated here
    expect(is_aligned(theirs) && is_aligned(ours), "alignment at size " + std::to_string(size));
    expect(ellice::to_json_array(ours).size() == static_cast<std::size_t>(size), "ours read there");
    theirs.resize(size + 1);  // freed and allocated here
    kept.push_back(std::move(theirs));
  }
  std::cout << "ellice " << ellice::version().number << " (" << ellice::version().build
            << "): " << (failures == 0 ? "all facts hold" : "see above") << '\n';
  return failures == 0 ? 0 : 1;
}
