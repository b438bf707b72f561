#include "sets/linear_regions.hpp"

#include <algorithm>

namespace ellice {

namespace {

constexpr std::size_t most_regions = 64;
constexpr std::size_t most_shares = 16;  // of a layer
constexpr Index bits = 64;

/// The place of a pattern among those that are remembered, from word `from` on; else their number.
template <class Entries>
std::size_t find_pattern(const Entries& entries, const std::vector<std::uint64_t>& pattern,
                         std::size_t from) {
  const auto same = [&](const auto& entry) {
    return std::equal(entry.pattern.begin(), entry.pattern.end(),
                      pattern.begin() + static_cast<std::ptrdiff_t>(from));
  };
  return static_cast<std::size_t>(std::find_if(entries.begin(), entries.end(), same) -
                                  entries.begin());
}

/// The entry to be written: a further one, or, where there are as many as may be, the oldest.
template <class Entries>
auto& entry_to_write(Entries& entries, std::size_t most, std::size_t& next) {
  if (entries.size() < most) return entries.emplace_back();
  auto& entry = entries[next];
  next = (next + 1) % most;
  return entry;
}

}  // namespace

LinearRegions::LinearRegions(const Network& network, const RowMatrix& vectors)
    : network_(&network), vectors_(&vectors), maps_(network.layers.size()) {
  Index first = 0;
  std::size_t word = 0;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const auto& weights = network.layers[l].weights;
    layers_.push_back({.first = first, .word = word});
    first += weights.size() + weights.rows();
    if (l + 1 < network.layers.size())
      word += static_cast<std::size_t>((weights.rows() + bits - 1) / bits);
  }
  pattern_.resize(word);
}

void LinearRegions::read_pattern(const NetworkPass& pass) {
  std::fill(pattern_.begin(), pattern_.end(), 0);
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    const Vector& slopes = pass.slope_of(l);
    for (Index i = 0; i < slopes.size(); ++i) {
      if (slopes(i) != 0)
        pattern_[layers_[l].word + static_cast<std::size_t>(i / bits)] |= std::uint64_t{1}
                                                                          << (i % bits);
    }
  }
}

const LinearRegions::Region& LinearRegions::at(NetworkPass& pass) {
  read_pattern(pass);
  const std::size_t place = find_pattern(regions_, pattern_, 0);
  if (place < regions_.size()) return regions_[place];
  Region& region = entry_to_write(regions_, most_regions, next_);
  region.pattern = pattern_;
  build(pass, region);
  return region;
}

void LinearRegions::sum_share(std::size_t layer, const Vector& delta, Index input, double* to) {
  const Index inputs = network_->layers[layer].weights.cols();
  sum_.clear();
  for (Index j = 0; j < delta.size(); ++j) {
    const Index parameter =
        layers_[layer].first + (input < inputs ? j * inputs + input : delta.size() * inputs + j);
    sum_.add(row(parameter), delta(j));
  }
  sum_.add_to(to, vectors_->cols());
}

const RowMatrix& LinearRegions::share(std::size_t layer, const Vector& delta) {
  Layer& here = layers_[layer];
  const std::size_t place = find_pattern(here.shares, pattern_, here.word);
  if (place < here.shares.size()) return here.shares[place].rows;
  Share& share = entry_to_write(here.shares, most_shares, here.next);
  share.pattern.assign(pattern_.begin() + static_cast<std::ptrdiff_t>(here.word), pattern_.end());
  const Index inputs = network_->layers[layer].weights.cols();
  share.rows.setZero(inputs + 1, vectors_->cols());
  for (Index i = 0; i <= inputs; ++i) sum_share(layer, delta, i, share.rows.row(i).data());
  return share.rows;
}

void LinearRegions::map_activations(const NetworkPass& pass) {
  const Index d = network_->inputs();
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    const ellice::Layer& layer = network_->layers[l];
    RowMatrix& map = maps_[l + 1];
    map.setZero(layer.weights.rows(), padded(d + 1));
    for (Index i = 0; i < map.rows(); ++i) {
      if (pass.slope_of(l)(i) == 0) continue;
      map(i, d) = layer.bias(i);
      if (l == 0) {
        map.row(i).head(d) += layer.weights.row(i);
        continue;
      }
      sum_.clear();
      for (Index j = 0; j < layer.weights.cols(); ++j) {
        if (pass.slope_of(l - 1)(j) != 0) sum_.add(maps_[l].row(j).data(), layer.weights(i, j));
      }
      sum_.add_to(map.row(i).data(), map.cols());
    }
  }
}

void LinearRegions::build(NetworkPass& pass, Region& region) {
  const Index d = network_->inputs();
  const Index width = vectors_->cols();
  pass.backward();
  pass.input_gradient(region.logit_gradient);
  region.norms.resize(static_cast<Index>(layers_.size()));
  for (std::size_t l = 0; l < layers_.size(); ++l)
    region.norms(static_cast<Index>(l)) = pass.adjoint_of(l).squaredNorm();
  map_activations(pass);
  region.image.setZero(d + 1, width);
  // The first layer reads x itself.
  for (Index t = 0; t <= d; ++t) sum_share(0, pass.adjoint_of(0), t, region.image.row(t).data());
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const RowMatrix& rows = share(l, pass.adjoint_of(l));
    const Index inputs = rows.rows() - 1;
    for (Index t = 0; t <= d; ++t) {
      sum_.clear();
      for (Index i = 0; i < inputs; ++i) sum_.add(rows.row(i).data(), maps_[l](i, t));
      if (t == d) sum_.add(rows.row(inputs).data(), 1);
      sum_.add_to(region.image.row(t).data(), width);
    }
  }
}

}  // namespace ellice
