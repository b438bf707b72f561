#pragma once

// What a row is, what it costs and whether a person may have it, read from schema and statistics
// alone: a judge of answers that shares no code with what finds, encodes and checks them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "request/problem.hpp"

namespace ellice::plain {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The numbers of a row: levels as their places.
Vector numbers(const Schema& schema, const RawRow& row);

/// The columns that a model sees: a standardised number, or a 0/1 column per category.
Vector code(const Model& model, const Vector& raw);

Vector code(const Model& model, const RawRow& row);

/// What a move costs, feature by feature, by the definition of CostKind.
double cost(const Cost& cost, const Model& model, const Vector& from, const Vector& to);

int changes(const Vector& from, const Vector& to);

/// What a run asks of a feature of one query: everybody's limits and the query's own over them.
FeatureLimits limits_of(const Problem& problem, std::size_t query, const std::string& name);

/// The interval and the grid of a feature that changes.
struct Reach {
  bool fixed = false;
  double low = -infinity;
  double high = infinity;
  double origin = 0;
  std::optional<double> step = {};
  std::vector<double> listed = {};
  std::vector<double> never = {};  // codes
};

/// A period in years, of which twelve months are one.
double years(Pace::Period period);

Reach reach_of(const Problem& problem, std::size_t query, const Vector& from, std::size_t j);

bool may_become(const Reach& reach, double from, double to);

/// Whether a feature does what a move of an implication says.
bool does(const Schema& schema, const Move& move, const Vector& from, const Vector& to,
          bool is_condition);

/// Whether a row keeps a linear rule, but for rounding.
bool keeps(const Rule& rule, const Schema& schema, const Vector& row);

/// Why a person may not have this row: a feature, or a rule; empty if nothing speaks against it.
std::string fault(const Problem& problem, std::size_t query, const Vector& from, const Vector& to);

/// The row of an answer, as written, is one that its person may have.
void expect_allowed(const Problem& problem, const Answer& answer);

/// All values that a feature may take, the query's own first; none but that one where there are
/// infinitely many or more than `most`.
std::vector<double> values_of(const Problem& problem, std::size_t query, const Vector& from,
                              std::size_t j, std::size_t most = 5000);

/// Every row of these values that keeps the rules.
void visit_rows(const Problem& problem, std::size_t query, const Vector& from,
                const std::vector<std::vector<double>>& values,
                const std::function<void(const Vector&)>& visit);

/// The same of everything that a problem without continuous features allows.
void visit_rows(const Problem& problem, std::size_t query, const Vector& from,
                const std::function<void(const Vector&)>& visit);

/// The largest score that a linear head gives to any row that the ranges allow (grids and rules
/// aside); −∞ never.
double highest_score(const Problem& problem, std::size_t query, const Vector& from,
                     const Vector& head);

/// The bounds of a numeric problem in model space: the query's own value and what may become.
std::pair<Vector, Vector> box_of(const Problem& problem, std::size_t query, const Vector& from);

}  // namespace ellice::plain
