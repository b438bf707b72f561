#pragma once

// T:Rex (Hamman et al., 2023): answers whose score stays high under small noise on the input. The
// score of a point x is its stability R(x) = mean of min(m(x), 2m(xᵢ) − m(x)), m the probability of
// yes and xᵢ ~ N(x, 0.1²·I) on every column (theory.md, Result 43).

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/sets/variant.hpp"
#include "search/generator.hpp"

namespace ellice {

class Stability;
class SupportedRows;

struct TrexOptions {
  Variant variant = Variant::corrected;
  double tau = 0.6;
  std::uint64_t seed = 0;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(),
          "the compared methods as the paper's authors ran them, or corrected");
    visit("tau", self.tau, between(0, 1), "stability that an answer of T:Rex must have");
    visit("seed", self.seed, any_value(), "seed of the noise");
  }
  bool operator==(const TrexOptions&) const = default;
};

/// R of each row (model space). corrected: in closed form for linear models, otherwise 1000
/// antithetic draws, the same for every row. published: 200 draws of its own for every row, and
/// others for every τ.
[[nodiscard]] Vector stabilities(const Problem& problem, RowMatrixArg encoded,
                                 const TrexOptions& options, const Execution& execution = {});

/// The nearest training row that the model accepts and whose stability exceeds τ. published looks
/// at the 100 nearest accepted rows only.
///
/// Knows neither the set of models nor, by its nature, constraints: every row is judged afterwards,
/// certified or uncertified. corrected takes only rows that meet the query's constraints, and is
/// not_found without one; a query that is accepted and stable itself stays as it is. published
/// looks at no constraints, and returns the query where it finds nothing.
class Trex final : public Generator {
 public:
  /// `rows` as in Dataset::raw. `problem` must outlive the generator.
  Trex(const Problem& problem, RowMatrixArg rows, const TrexOptions& options = {},
       const Execution& execution = {});
  /// With known stabilities of the rows, so that many τ need them once.
  Trex(const Problem& problem, RowMatrixArg rows, const Vector& stability,
       const TrexOptions& options);
  ~Trex() override;

  [[nodiscard]] Index stable_rows() const { return stable_; }
  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  const Problem* problem_;
  TrexOptions options_;
  std::unique_ptr<Stability> stability_;  // corrected
  Index accepted_ = 0;
  Index stable_ = 0;
  std::unique_ptr<SupportedRows> rows_;
};

/// T:Rex:I: from the query to the model's yes, then up the stability until it reaches τ.
///
/// published: Adam on the loss (at most 100 steps of 0.1), then Adam on R (at most 200 steps of
/// 0.01, noise drawn anew in each step); what comes out is returned, whatever it is, rounded to no
/// grid of the schema and brought into no range. Whole numbers and levels move like numbers, too,
/// and end at the nearest. corrected: fixed noise, ascent with a line search inside the query's
/// ranges, then the first point of the way back whose row, as it is written, has R ≥ τ; otherwise
/// not_found. Whole numbers and ordinal levels move like numbers and are rounded, categories keep
/// the query's level. A query that is accepted and stable itself stays as it is.
class TrexContinuous final : public Generator {
 public:
  explicit TrexContinuous(const Problem& problem, const TrexOptions& options = {});
  ~TrexContinuous() override;

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  [[nodiscard]] Vector run_published(std::size_t index, const FeasibleSet& feasible) const;
  void run_corrected(Answer& answer, const FeasibleSet& feasible) const;
  struct Climb;
  [[nodiscard]] Climb climb(const Box& box, const Vector& query) const;
  /// The first row of the way, as it is written, that is stable.
  [[nodiscard]] std::optional<Vector> first_stable_row(const Climb& way,
                                                       const FeasibleSet& feasible) const;

  const Problem* problem_;
  TrexOptions options_;
  Assembler assembler_;
  std::unique_ptr<Stability> stability_;  // corrected
};

}  // namespace ellice
