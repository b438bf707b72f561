// Scorecards, tables and PMML, and the model that they make of some rows.

#include "model/scorecard.hpp"

#include <cmath>

#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "fuzz.hpp"
#include "model/score_points.hpp"

using namespace ellice;

namespace {

const char* const schema_text = R"(target: {column: paid, favourable: "yes"}
features:
  utilisation: {kind: numeric, step: 0.01, min: 0, max: 1.5}
  months:      {kind: integer, min: 0, max: 120}
  housing:     {kind: categorical, levels: [rent, own, parents]}
)";

Dataset rows_of(const Schema& schema) {
  Dataset data{.schema = schema, .classes = {"no", "yes"}};
  data.raw.resize(24, 3);
  for (Index i = 0; i < 24; ++i) {
    data.raw.row(i) << 0.06 * static_cast<double>(i * 7 % 24), static_cast<double>(i * 5 % 61),
        static_cast<double>(i % 3);
    data.labels.push_back(i % 5 < 2 ? 1 : 0);
  }
  data.source = "rows";
  data.sha256 = std::string(64, 'a');
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Schema schema = parse_schema(schema_text, "schema.yaml");
  const fuzz::MemoryFile file(data, size);
  return fuzz::accept([&] {
    const auto ends = static_cast<CardEnds>(size % EnumNames<CardEnds>::names.size());
    const Scorecard card = read_scorecard(file.path(), ends);
    const Dataset rows = rows_of(schema_of(card, schema));
    const Model model = model_of(card, {.pdo = 20, .score = 480, .odds = 1}, {}, rows, 0.01, false);
    for (Index i = 0; i < rows.rows(); ++i) {
      const Vector raw = rows.raw.row(i).transpose();
      const RawRow row = model.encoder.values({raw.data(), 3});
      const double points = points_of(*model.points, model.schema(), row);
      const Vector z = model.encoder.encode(row);
      const Vector& head = model.deployed->head;
      const double logit = head.head(z.size()).dot(z) + head(z.size());
      fuzz::promise(std::abs(model.points->scale.points(logit) - points) <=
                        1e-6 * (1 + std::abs(points) + head.lpNorm<1>() * 30),
                    "parameters give the points of the card");
    }
    (void)model_from_json(to_json(model), "again");
  });
}
