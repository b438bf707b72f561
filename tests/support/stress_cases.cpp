#include "support/stress_cases.hpp"

namespace ellice::stress_cases {

Trained::Trained(std::vector<int> hidden, Index rows)
    : Trained(std::move(hidden), part(random_rows(220, 4, 31), 0, rows),
              part(random_rows(220, 4, 31), 160, 60)) {}

Trained::Trained(std::vector<int> hidden, Labelled train_rows, Labelled validation_rows)
    : train(std::move(train_rows)), validation(std::move(validation_rows)) {
  source = {.train = view(train),
            .validation = view(validation),
            .network = {.hidden = std::move(hidden), .learning_rate = 0.02, .epochs = 150}};
  // A convex objective is trained close to its minimum, so that bounds mean what they say.
  if (source.network.hidden.empty()) source.network.epochs = 2000;
  base = fit_network(source.train, source.validation, source.loss, source.penalty, source.network,
                     Random(5))
             .network;
  source.base = &base;
  objective = plain_objective(base, train, source.penalty.l2);
}

double plain_logit(const Network& network, const Vector& x) {
  std::vector<double> a(x.begin(), x.end());
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    std::vector<double> z;
    for (Index j = 0; j < layer.bias.size(); ++j) {
      double sum = layer.bias(j);
      for (std::size_t i = 0; i < a.size(); ++i) {
        sum += layer.weights(j, static_cast<Index>(i)) * a[i];
      }
      z.push_back(l + 1 < network.layers.size() ? std::max(0.0, sum) : sum);
    }
    a = z;
  }
  return a.front();
}

double plain_objective(const Network& network, const Labelled& rows, double l2) {
  double sum = 0;
  for (Index i = 0; i < rows.features.rows(); ++i) {
    const double f = plain_logit(network, rows.features.row(i).transpose());
    const double m = rows.labels[static_cast<std::size_t>(i)] == 1 ? f : -f;
    sum += m > 0 ? std::log1p(std::exp(-m)) : -m + std::log1p(std::exp(m));
  }
  double squares = 0;
  for (const Layer& layer : network.layers) {
    for (const double w : layer.weights.reshaped()) squares += w * w;
    for (const double b : layer.bias) squares += b * b;
  }
  return sum / static_cast<double>(rows.features.rows()) + l2 / 2 * squares;
}

LabelledRows view(const Labelled& rows) {
  return {.features = &rows.features, .labels = &rows.labels};
}

Labelled part(const Labelled& rows, Index first, Index count) {
  const auto begin = rows.labels.begin() + first;
  return {.features = rows.features.middleRows(first, count), .labels = {begin, begin + count}};
}

void expect_inside(const StressSet& set, const Trained& trained) {
  for (const StressModel& model : set.models) {
    const double objective = plain_objective(model.network, trained.train, 1e-3);
    EXPECT_NEAR(objective, model.objective, 1e-12);
    EXPECT_LE(objective, set.bound + 1e-12);
  }
}

}  // namespace ellice::stress_cases
