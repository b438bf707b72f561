// Uses the components, each of which brings a package of its own: CBC and SQLite.

#include <cstdio>
#include <iostream>

#include "ellice/core/json.hpp"
#include "ellice/solver/cbc.hpp"
#include "ellice/study/store.hpp"

int main() {
  ellice::use_cbc();
  std::remove("store.sqlite");
  ellice::StudyStore store("store.sqlite", {{"format", "consumer"}});
  store.add("cell", {{"value", 1}});
  const bool holds = store.names().size() == 1 && store.find("cell").has_value();
  std::cout << "the components: " << (holds ? "all facts hold" : "FAILED") << '\n';
  return holds ? 0 : 1;
}
