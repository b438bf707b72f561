#include <algorithm>
#include <cmath>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "sets/stress.hpp"
#include "sets/stress_collection.hpp"

namespace ellice {

namespace {

// Streams of a set's seed.
constexpr std::uint64_t probe_stream = 0;
constexpr std::uint64_t draw_stream = 1;
constexpr std::uint64_t second_draw_stream = 2;

constexpr std::size_t probe_draws = 500;
constexpr std::size_t block_size = 16;  // draws that share one objective's storage

/// Every weight and bias of the base times its own factor from N(1, σ²).
Network noisy(const Network& base, double sigma, Random random) {
  Network result = base;
  for (Layer& layer : result.layers) {
    for (double& weight : layer.weights.reshaped()) weight *= 1 + sigma * random.normal();
    for (double& bias : layer.bias) bias *= 1 + sigma * random.normal();
  }
  return result;
}

/// How many of the probing draws are inside the bound.
std::size_t probes_inside(const StressSource& source, double bound, double sigma,
                          const Random& seeds, const Execution& execution) {
  std::vector<std::size_t> inside((probe_draws + block_size - 1) / block_size, 0);
  parallel_for("weight noise", inside.size(), execution, [&](std::size_t b) {
    NetworkObjective objective = training_objective(source);
    const std::size_t end = std::min(probe_draws, (b + 1) * block_size);
    for (std::size_t k = b * block_size; k < end; ++k) {
      if (objective.value(noisy(*source.base, sigma, seeds.split(k))) <= bound) ++inside[b];
    }
  });
  std::size_t sum = 0;
  for (const std::size_t count : inside) sum += count;
  return sum;
}

double published_sigma(const StressSource& source, double bound, const Random& seeds,
                       const Execution& execution) {
  constexpr int values = 20;
  constexpr double smallest = 1e-4;
  constexpr double largest = 0.8;
  // Each value has draws of its own, so that walking down to the first that passes finds the same
  // one as trying them all.
  for (int i = values - 1; i >= 0; --i) {
    check_stop();
    const double sigma = smallest * std::pow(largest / smallest, i / (values - 1.0));
    const std::size_t inside =
        probes_inside(source, bound, sigma, seeds.split(static_cast<std::uint64_t>(i)), execution);
    if (20 * inside > probe_draws) return sigma;
  }
  return largest;
}

/// The σ at which the share of draws inside falls below the one wanted. Beyond the limits of the
/// search it is the limit: noise cannot move a network of zeros, and a base outside the bound has
/// no share at all.
double bisected_sigma(const StressSource& source, double bound, double share, const Random& seeds,
                      const Execution& execution) {
  constexpr double smallest = 1e-6;
  constexpr double largest = 1e3;
  constexpr double precision = 1.005;  // as a ratio: finer than 500 draws can tell
  const auto wanted = static_cast<std::size_t>(std::ceil(share * probe_draws));
  const auto enough = [&](double sigma) {
    return probes_inside(source, bound, sigma, seeds, execution) >= wanted;
  };
  double lower = 0.1;  // enough draws inside
  double upper = 0.1;  // too few
  if (enough(lower)) {
    do {
      lower = upper;
      upper *= 2;
      if (upper > largest) return largest;
    } while (enough(upper));
  } else {
    do {
      upper = lower;
      lower /= 2;
      if (lower < smallest) return smallest;
    } while (!enough(lower));
  }
  while (upper > precision * lower) {
    check_stop();
    const double middle = std::sqrt(lower * upper);
    (enough(middle) ? lower : upper) = middle;
  }
  return lower;
}

/// `count` draws; those outside are drawn once more with half the σ.
void draw_published(const StressSource& source, std::size_t count, const Random& seeds,
                    const Execution& execution, StressSet& set) {
  struct Outcome {
    std::optional<StressModel> model = {};
    std::size_t draws = 0;
  };
  std::vector<Outcome> outcomes(count);
  parallel_for(
      "weight noise", (count + block_size - 1) / block_size, execution, [&](std::size_t b) {
        NetworkObjective objective = training_objective(source);
        const std::size_t end = std::min(count, (b + 1) * block_size);
        for (std::size_t k = b * block_size; k < end; ++k) {
          for (const std::uint64_t stream : {draw_stream, second_draw_stream}) {
            const double sigma = stream == draw_stream ? set.noise : set.noise / 2;
            StressModel model{.network = noisy(*source.base, sigma, seeds.split(stream).split(k))};
            model.objective = objective.value(model.network);
            ++outcomes[k].draws;
            if (model.objective <= set.bound) {
              outcomes[k].model = std::move(model);
              break;
            }
          }
        }
      });
  for (Outcome& outcome : outcomes) {
    set.tried += outcome.draws;
    if (outcome.model) set.models.push_back(std::move(*outcome.model));
  }
}

}  // namespace

StressSet noise_set(const StressSource& source, double bound, const StressOptions& options,
                    const Random& seeds, const Execution& execution) {
  check_stress_source(source, options);
  check_stress_bound(bound);
  StressSet set{.kind = StressKind::noise, .bound = bound};
  const auto count = static_cast<std::size_t>(options.count);
  const Random probes = seeds.split(probe_stream);
  if (options.variant == Variant::published) {
    set.noise = published_sigma(source, bound, probes, execution);
    draw_published(source, count, seeds, execution, set);
    return set;
  }
  set.noise = bisected_sigma(source, bound, options.noise_share, probes, execution);
  const Random draws = seeds.split(draw_stream);
  collect_models(
      "weight noise", source,
      {.count = count,
       .attempts = count * static_cast<std::size_t>(options.noise_attempts),
       .block = block_size},
      execution, [&](std::size_t k) { return noisy(*source.base, set.noise, draws.split(k)); },
      set);
  return set;
}

}  // namespace ellice
