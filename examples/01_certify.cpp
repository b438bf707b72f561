// Trains on the embedded data, asks how robust one applicant's yes is, certifies it, and checks the
// certificate as an auditor would: from the model and the point alone.

#include <cstdio>
#include <string>

#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "ellice/rashomon/certificate.hpp"
#include "ellice/rashomon/verification.hpp"

int main() {
  using namespace ellice;
  const Dataset data = lending_dataset(2000, 1);
  const Model model = train(data, {}, {}).model;
  std::printf("objective %.4f on %lld rows\n", model.training.objective,
              static_cast<long long>(model.training.rows));

  // The largest ε for which each applicant's answer survives every model of the set.
  const RashomonEllipsoid set = last_layer_set(model, 0);
  const RowMatrix encoded = model.encoder.encode(data.raw);
  Index best = 0;
  double radius = 0;
  for (Index i = 0; i < encoded.rows(); ++i) {
    const double r = robustness_radius(set, with_one(encoded.row(i).transpose()), 0);
    if (r > radius) {
      best = i;
      radius = r;
    }
  }
  std::printf("most robust yes: row %lld, up to epsilon = %.4f\n", static_cast<long long>(best),
              radius);

  const Vector raw = data.raw.row(best);
  const RawRow applicant = model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
  const Certifier certifier(model, 0.5 * radius, model.decision.threshold);
  const std::optional<Certificate> certificate = certifier.certify(applicant);
  if (!certificate) return 1;
  std::printf("%s", to_text(to_json(*certificate, model.schema())).c_str());

  const Verification verification = Verifier(model).verify(*certificate);
  std::printf("verified: %s, worst logit %.6f\n", verification.holds() ? "yes" : "no",
              verification.robust_logit);
  return verification.holds() ? 0 : 1;
}
