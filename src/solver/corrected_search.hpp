#pragma once

// The nearest point that every model of sets accepts whose worst scores are no cones.

#include <limits>
#include <optional>
#include <vector>

#include "solver/cone_intersection.hpp"
#include "solver/robust_oracle.hpp"

namespace ellice {

/// min cost(x) subject to lower ≤ x ≤ upper, the rules and g_k(x) ≥ threshold for every part.
struct OracleProblem {
  Vector query = {};  // may lie outside the box
  Vector lower = {};
  Vector upper = {};
  SeparableCost cost = {};
  std::vector<LinearRule> rules = {};
  double threshold = 0;
  /// A point counts as robust from so many times the terms of its scores above the threshold.
  double margin = 0;
  /// Once it is known that every answer costs so much, none is looked for any more.
  double cutoff = std::numeric_limits<double>::infinity();
};

/// That nothing satisfies a problem: a mixture of models for each part and weights of the rules
/// make a half-space that misses the box (theory.md, Result 16).
struct OracleProof {
  ConeWeights weights = {};        // one cone for each part; models in the coordinates of x
  std::vector<Vector> heads = {};  // the same models as their sets know them; empty where weight 0
};

struct OracleResult {
  bool found = false;
  Vector point = {};                   // robust, if found; else the most robust one that was met
  std::vector<Support> supports = {};  // at the point
  double objective = 0;
  double lower_bound = 0;                 // no robust point costs less; ∞ if there is none
  std::optional<OracleProof> proof = {};  // where lower_bound is ∞
  /// Cutting planes that the end of the search took; 0 where the corrected cones settled.
  int cuts = 0;
};

enum class OracleGoal { nearest, any };  // any robust point: the first that is met

/// Solves a sequence of problems with cones: around the present point every g_k is replaced by that
/// of an ellipsoid with the same value, gradient and extent (theory.md, Result 29). Where they do
/// not settle, cutting planes take over (Result 31), which also prove what one model does not.
[[nodiscard]] OracleResult search_corrected(RobustOracle& oracle, const OracleProblem& problem,
                                            OracleGoal goal = OracleGoal::nearest);

/// By cutting planes alone.
[[nodiscard]] OracleResult search_by_cuts(RobustOracle& oracle, const OracleProblem& problem);

/// A point of the box that keeps the rules, where the smallest g_k is about as large as possible;
/// by ascent along corrected cones from `start`.
[[nodiscard]] Vector most_robust_point(RobustOracle& oracle, const OracleProblem& problem,
                                       Vector start);

}  // namespace ellice
