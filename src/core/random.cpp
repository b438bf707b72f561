#include "core/random.hpp"

#include <bit>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// SplitMix64: a bijective mixer of 64 bits; distinct inputs give distinct outputs.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15ULL;

__extension__ using Wide = unsigned __int128;

}  // namespace

Random::Random(std::uint64_t seed) : seed_(seed), state_{} {
  for (std::uint64_t& word : state_) word = mix(seed += golden_gamma);
}

Random Random::split(std::uint64_t child) const {
  return Random(mix(seed_ ^ mix(child + golden_gamma)));
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  require(bound > 0, "Random::below: bound = 0 must be > 0");
  // Lemire (2019): the high word of a product is uniform once the few biased low words are refused.
  const std::uint64_t refuse = (0 - bound) % bound;
  while (true) {
    const Wide product = static_cast<Wide>(bits()) * bound;
    if (static_cast<std::uint64_t>(product) >= refuse) {
      return static_cast<std::uint64_t>(product >> 64);
    }
  }
}

double Random::normal() {
  // Ratio of uniforms (Kinderman and Monahan, 1977). The logarithm only decides whether a pair is
  // accepted; the value v/u itself is made by IEEE operations and therefore the same everywhere.
  const double half_width = 0.857763884960707;  // sqrt(2/e), rounded up
  while (true) {
    const double u = 1.0 - uniform();  // (0, 1]
    const double v = half_width * (2.0 * uniform() - 1.0);
    const double x = v / u;
    if (x * x <= -4.0 * std::log(u)) return x;
  }
}

Vector Random::normal_vector(Index size) {
  Vector result(size);
  for (double& value : result) value = normal();
  return result;
}

}  // namespace ellice
