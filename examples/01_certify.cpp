// Certifies one applicant's yes for every model within 1 % of the best training objective, and
// checks the certificate as an auditor would: from the model and the point alone.

#include <fmt/format.h>

#include <ellice/ellice.hpp>

int main() {
  using namespace ellice;
  const auto model = std::make_shared<const Model>(train(lending_dataset(2000, 1), {}, {}).model);
  const Explainer explainer({.model = model, .epsilon = "1%"});
  fmt::print("every model whose objective is within {:.4f} of {:.4f}\n", explainer.epsilon(),
             model->training.objective);

  const RowMatrix applicants = lending_dataset(50, 2).raw;
  for (Index i = 0; i < applicants.rows(); ++i) {
    const RawRow row = model->encoder.values(
        std::span(applicants.row(i).data(), static_cast<std::size_t>(applicants.cols())));
    const std::optional<Certificate> certificate = explainer.certify(row);
    if (!certificate) continue;  // some model says no
    const Verification found = Verifier(*model).verify(*certificate);
    fmt::print("applicant {}: {}\nworst score {:.6f}, recomputed {:.6f}\n", i, certificate->claim,
               certificate->robust_logit, found.robust_logit);
    return found.holds() ? 0 : 1;
  }
  return 1;
}
