#pragma once

// An intersection of cones as a conic program.

#include <optional>
#include <vector>

#include "solver/conic_program.hpp"
#include "solver/reduced_intersection.hpp"

namespace ellice {

/// The conic program of a reduced problem in y = x − x0, and the way back.
class IntersectionProgram {
 public:
  enum class Aim {
    cost,          // the cheapest point
    common_point,  // the largest slack of cones and rules together
    robust_point,  // the largest slack of the cones alone
  };
  IntersectionProgram(const ReducedIntersection& problem, Aim aim);

  [[nodiscard]] const ConicProgram& program() const { return program_; }
  [[nodiscard]] Vector point(const ConicIterate& iterate) const;
  [[nodiscard]] ConeWeights weights(const ConicIterate& iterate) const;

  /// What an iterate says about a coordinate: held by a bound or at the query, or free.
  struct Place {
    bool free = true;
    double value = 0;  // where not free
  };
  [[nodiscard]] std::vector<Place> places(const ConicIterate& iterate) const;
  [[nodiscard]] std::vector<bool> active_cones(const ConicIterate& iterate) const;
  /// −1, 0 or +1 for the side of a rule that binds.
  [[nodiscard]] std::vector<int> active_rules(const ConicIterate& iterate) const;

 private:
  void add_bounds();
  void add_cost();
  void add_cones(std::optional<Index> slack);
  void add_rules(std::optional<Index> slack);

  /// Where a constraint stands among the program's.
  struct RulePlace {
    std::optional<std::size_t> upper = {};
    std::optional<std::size_t> lower = {};
    std::optional<std::size_t> equality = {};
    double scale = 1;
  };
  struct BoundPlace {
    std::optional<std::size_t> lower = {};
    std::optional<std::size_t> upper = {};
    std::optional<std::size_t> rise = {};  // of the kink at the query
    std::optional<std::size_t> fall = {};
  };
  struct ConePlace {
    std::optional<std::size_t> row = {};  // ε = 0: a half-space
    std::size_t block = 0;
    double scale = 1;
  };

  const ReducedIntersection* problem_;
  ConicProgram program_;
  std::vector<BoundPlace> bounds_;
  std::vector<ConePlace> cones_;
  std::vector<RulePlace> rules_;
};

}  // namespace ellice
