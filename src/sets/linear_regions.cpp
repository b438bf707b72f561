#include "sets/linear_regions.hpp"

#include <algorithm>

namespace ellice {

namespace {

constexpr std::size_t most_regions = 64;
constexpr std::size_t most_shares = 64;  // of a layer
constexpr Index bits = 64;

/// The place of a pattern among those that are remembered, from word `from` on; else their number.
/// Points that follow each other are often in the same region.
template <class Entries>
std::size_t find_pattern(const Entries& entries, const std::vector<std::uint64_t>& pattern,
                         std::size_t from, std::size_t last) {
  const auto same = [&](const auto& entry) {
    return std::equal(entry.pattern.begin(), entry.pattern.end(),
                      pattern.begin() + static_cast<std::ptrdiff_t>(from));
  };
  if (last < entries.size() && same(entries[last])) return last;
  return static_cast<std::size_t>(std::find_if(entries.begin(), entries.end(), same) -
                                  entries.begin());
}

/// The entry to be written: a further one, or, where there are as many as may be, the oldest.
template <class Entries>
std::size_t entry_to_write(Entries& entries, std::size_t most, std::size_t& next) {
  if (entries.size() < most) {
    entries.emplace_back();
    return entries.size() - 1;
  }
  const std::size_t oldest = next;
  next = (next + 1) % most;
  return oldest;
}

}  // namespace

LinearRegions::LinearRegions(const Network& network, const RowMatrix& vectors)
    : network_(&network), vectors_(&vectors) {
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
  last_ = find_pattern(regions_, pattern_, 0, last_);
  if (last_ == regions_.size()) {
    last_ = entry_to_write(regions_, most_regions, next_);
    build(pass, regions_[last_]);
  }
  const Region& region = regions_[last_];
  layers_.front().rows = region.rows.data();
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    // The logit's derivative in itself is 1.
    layers_[l].rows = l + 1 == layers_.size() ? row(layers_[l].first) : share(l, pass).data();
  }
  return region;
}

void LinearRegions::image(const NetworkPass& pass, Vector& result) {
  const Index width = vectors_->cols();
  sum_.clear();
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Vector& a = pass.input_of(l);
    for (Index i = 0; i < a.size(); ++i) sum_.add(layers_[l].rows + i * width, a(i));
    sum_.add(layers_[l].rows + a.size() * width, 1);
  }
  result.setZero(width);
  sum_.add_to(result.data(), width);
}

void LinearRegions::returned(const NetworkPass& pass, const Vector& v,
                             std::vector<Vector>& result) const {
  result.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    result[l].setZero(pass.input_of(l).size());
    for (Index i = 0; i < result[l].size(); ++i) {
      if (is_on(pass, l, i))
        result[l](i) = Eigen::Map<const Vector>(layers_[l].rows + i * v.size(), v.size()).dot(v);
    }
  }
}

void LinearRegions::sum_share(std::size_t layer, const Vector& delta, Index input, double* to) {
  const Index inputs = network_->layers[layer].weights.cols();
  sum_.clear();
  for (Index j = 0; j < delta.size(); ++j) {
    const Index parameter =
        layers_[layer].first + (input < inputs ? j * inputs + input : delta.size() * inputs + j);
    sum_.add(row(parameter), delta(j));
  }
  std::fill(to, to + vectors_->cols(), 0.0);
  sum_.add_to(to, vectors_->cols());
}

const RowMatrix& LinearRegions::share(std::size_t layer, NetworkPass& pass) {
  Layer& here = layers_[layer];
  const Index inputs = network_->layers[layer].weights.cols();
  here.last = find_pattern(here.shares, pattern_, here.word, here.last);
  if (here.last == here.shares.size()) {
    here.last = entry_to_write(here.shares, most_shares, here.next);
    Share& share = here.shares[here.last];
    share.pattern.assign(pattern_.begin() + static_cast<std::ptrdiff_t>(here.word), pattern_.end());
    pass.backward();
    share.delta = pass.adjoint_of(layer);
    share.rows.resize(inputs + 1, vectors_->cols());
    share.known.assign(static_cast<std::size_t>(inputs) + 1, 0);
  }
  Share& share = here.shares[here.last];
  for (Index i = 0; i <= inputs; ++i) {
    char& known = share.known[static_cast<std::size_t>(i)];
    if (known != 0 || (i < inputs && !is_on(pass, layer, i))) continue;
    sum_share(layer, share.delta, i, share.rows.row(i).data());
    known = 1;
  }
  return share.rows;
}

void LinearRegions::build(NetworkPass& pass, Region& region) {
  const Index d = network_->inputs();
  region.pattern = pattern_;
  pass.backward();
  pass.input_gradient(region.logit_gradient);
  region.norms.resize(static_cast<Index>(layers_.size()));
  for (std::size_t l = 0; l < layers_.size(); ++l)
    region.norms(static_cast<Index>(l)) = pass.adjoint_of(l).squaredNorm();
  region.rows.resize(d + 1, vectors_->cols());
  for (Index t = 0; t <= d; ++t) sum_share(0, pass.adjoint_of(0), t, region.rows.row(t).data());
}

}  // namespace ellice
