#include "radius/attack_answers.hpp"

namespace ellice {

void attack_answers(std::vector<Answer>& answers, const Problem& problem, const StoredRows& rows,
                    const Execution& execution) {
  parallel_for("attacking", answers.size(), execution, [&](std::size_t i) {
    Answer& answer = answers[i];
    if (!answer.certificate) return;
    answer.attack = attack(*problem.model, labelled(rows), answer.certificate->epsilon,
                           answer.certificate->encoded, problem.threshold);
  });
}

}  // namespace ellice
