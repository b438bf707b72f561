#include "ellice/data/encoder.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/random.hpp"

namespace ellice {
namespace {

/// Twenty features: twelve numbers, two of each other kind.
Schema mixed_schema() {
  std::string yaml = "target: {column: y, favourable: 1}\nfeatures:\n";
  for (int j = 0; j < 12; ++j) yaml += fmt::format("  n{}: {{kind: numeric}}\n", j);
  for (int j = 0; j < 2; ++j) {
    yaml += fmt::format("  i{}: {{kind: integer}}\n", j);
    yaml += fmt::format("  o{}: {{kind: ordinal, levels: [none, school, bachelor, master]}}\n", j);
    yaml += fmt::format("  b{}: {{kind: binary}}\n", j);
    yaml += fmt::format("  c{}: {{kind: categorical, levels: [car, home, business, other]}}\n", j);
  }
  return parse_schema(yaml, "benchmark");
}

/// A thousand random rows, over and over: the cost of parsing without that of splitting a file.
class RepeatedRows final : public RowSource {
 public:
  RepeatedRows(const Schema& schema, std::size_t rows) : rows_(rows) {
    for (const Feature& feature : schema.features) header_.push_back(feature.name);
    header_.push_back("y");
    Random random(1);
    for (std::size_t i = 0; i < distinct * header_.size(); ++i) {
      const std::size_t column = i % header_.size();
      if (column == schema.features.size()) {
        text_.push_back(std::to_string(random.below(2)));
      } else if (const Feature& feature = schema.features[column]; feature.levels.empty()) {
        const double value = 1000 * random.normal();
        text_.push_back(feature.kind == FeatureKind::integer ? fmt::format("{:.0f}", value)
                                                             : fmt::format("{:.4f}", value));
      } else {
        text_.push_back(feature.levels[random.below(feature.levels.size())]);
      }
    }
    cells_.assign(text_.begin(), text_.end());
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::vector<std::string>& header() const override { return header_; }
  [[nodiscard]] std::string place() const override { return name_; }
  bool next(std::span<const std::string_view>& cells) override {
    if (next_ == rows_) return false;
    const std::size_t row = next_++ % distinct;
    cells = std::span(cells_).subspan(row * header_.size(), header_.size());
    return true;
  }

 private:
  static constexpr std::size_t distinct = 1000;
  std::string name_ = "benchmark";
  std::size_t rows_;
  std::size_t next_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string> text_;
  std::vector<std::string_view> cells_;
};

Dataset make_data(benchmark::State& state) {
  const Schema schema = mixed_schema();
  RepeatedRows source(schema, static_cast<std::size_t>(state.range(0)));
  return read_dataset(source, schema);
}

void BM_dataset_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_data(state).raw.data());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_encoder_fit(benchmark::State& state) {
  const Dataset data = make_data(state);
  for (auto _ : state) benchmark::DoNotOptimize(Encoder::fit(data).columns());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_encoder_encode(benchmark::State& state) {
  const Dataset data = make_data(state);
  const Encoder encoder = Encoder::fit(data);
  for (auto _ : state) benchmark::DoNotOptimize(encoder.encode(data.raw).data());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(BM_dataset_read)->ArgName("rows")->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_encoder_fit)->ArgName("rows")->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_encoder_encode)->ArgName("rows")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ellice
