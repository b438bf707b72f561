#include "methods/automatic.hpp"

#include "methods/method_table.hpp"

namespace ellice {

std::unique_ptr<Generator> automatic_generator(const Problem& problem, const StoredRows* rows,
                                               const Execution& execution) {
  return make_generator(choose_method(automatic_method, problem), problem, {}, {.rows = rows},
                        execution);
}

}  // namespace ellice
