#include "search/data_supported.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "request/cost_prices.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

namespace {

// Queries that are searched together.
constexpr std::size_t supported_queries = 128;
// A search over fewer rows than this is set up in less time than it takes.
constexpr Index rows_worth_keeping = 2000;

/// The rows that a linear model's certificate can be issued for. One pass of matrix products
/// decides all rows but those whose g is too near to the threshold for its rounding: with p
/// parameters and condition κ, Cholesky's backward error is at most 4p(3p+1)u·‖H‖ (Higham, Accuracy
/// and Stability, Theorem 10.4), hence the penalty's relative error at most half of κ times that.
/// The others get the certificate's own arithmetic.
std::vector<Index> certified_by_linear(const Problem& problem, const Certifier& certifier,
                                       RowMatrixArg raw, const Execution& execution) {
  const Encoder& encoder = problem.model->encoder;
  const Ellipsoid& set = *certifier.question()->front().picture;
  const RowMatrix encoded = encoder.encode(raw);
  const Vector robust = robust_logits(set, encoded, execution);
  const auto p = static_cast<double>(set.parameters());
  const double penalty_error = p * (3 * p + 1) * std::numeric_limits<double>::epsilon() *
                               spectrum(set.hessian()).condition();
  std::vector<Index> result;
  for (Index i = 0; i < raw.rows(); ++i) {
    const Vector x_tilde = with_one(encoded.row(i).transpose());
    const double scale =
        set.center().cwiseProduct(x_tilde).cwiseAbs().sum() + std::abs(problem.threshold);
    const double penalty = std::abs(set.center().dot(x_tilde) - robust[i]);
    const double error = 1e-10 * (scale + penalty) + penalty_error * penalty;
    const double excess = robust[i] - problem.threshold;
    if (excess < -error) continue;
    // Parameters that decide elsewhere are asked by the certificate alone.
    const bool certain = excess > error && !problem.model->deployed;
    const auto values = [&] {
      return encoder.values({raw.row(i).data(), static_cast<std::size_t>(raw.cols())});
    };
    if (certain || certifier.certify(values())) result.push_back(i);
  }
  return result;
}

/// The same for every set: one pass leaves out the rows that are far from robust, the others get
/// a certificate or do not.
std::vector<Index> certified_rows(const Problem& problem, RowMatrixArg raw,
                                  const Execution& execution) {
  const Model& model = *problem.model;
  const Certifier certifier(model, problem.set, problem.epsilon, problem.threshold);
  const Question* question = certifier.question();
  if (question != nullptr && question->is_conic() && question->is_single() &&
      is_linear(model, problem.set)) {
    return certified_by_linear(problem, certifier, raw, execution);
  }
  // What the base model refuses the worst one does: enough to leave out where g takes a solve.
  const RowMatrix encoded = model.encoder.encode(raw);
  const bool takes_solve = question != nullptr && !question->is_conic();
  const Vector robust = robust_logits(*make_set(model, second_order(problem.set)),
                                      takes_solve ? 0 : problem.epsilon, encoded, execution);
  std::vector<char> is_certified(static_cast<std::size_t>(raw.rows()));
  parallel_for("certifying rows", is_certified.size(), execution, [&](std::size_t place) {
    const auto i = static_cast<Index>(place);
    const double error = 1e-6 * (1 + std::abs(robust[i]) + std::abs(problem.threshold));
    if (robust[i] < problem.threshold - error) return;
    const RawRow values =
        model.encoder.values({raw.row(i).data(), static_cast<std::size_t>(raw.cols())});
    is_certified[place] = certifier.certify(values) ? 1 : 0;
  });
  std::vector<Index> result;
  for (Index i = 0; i < raw.rows(); ++i) {
    if (is_certified[static_cast<std::size_t>(i)] != 0) result.push_back(i);
  }
  return result;
}

/// How many features of two rows differ.
int changes(VectorArg a, VectorArg b) {
  return static_cast<int>((a.array() != b.array()).count());
}

/// Cheaper than asking for the violations in words, and the same where there are no rules.
bool in_ranges(const FeasibleSet& feasible, VectorArg raw) {
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    if (!feasible.ranges()[j].contains(raw[static_cast<Index>(j)])) return false;
  }
  return true;
}

}  // namespace

Metric metric_of(const Cost& cost, const Encoder& encoder) {
  const Vector weights = column_weights(encoder);
  Metric metric{.group_cost = cost.sparsity_weight};
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    metric.groups.push_back(encoder.first_column(j));
  }
  const CostPrices prices = prices_of(cost.kind);
  if (prices.squares) metric.square = weights;
  if (prices.absolutes) metric.absolute = weights;
  metric.root = prices.is_root;
  if (prices.counts_categories) {
    // A changed category moves two columns by 1: half its weight each.
    for (Index column = 0; column < weights.size(); ++column) {
      const Feature& feature = encoder.schema().features[encoder.feature_of(column)];
      if (feature.kind == FeatureKind::categorical) metric.square[column] /= 2;
    }
  }
  return metric;
}

DataSupported::DataSupported(const Problem& problem, RowMatrixArg rows,
                             const DataSupportedOptions& options, const Execution& execution)
    : problem_(&problem),
      options_(options),
      assembler_(problem),
      metric_(metric_of(problem.cost, problem.model->encoder)),
      all_rows_(rows.rows()) {
  validate(problem);
  validate(options, "DataSupportedOptions");
  const Schema& schema = problem.model->schema();
  require(rows.cols() == static_cast<Index>(schema.features.size()),
          "the rows have {} features, the model has {}", rows.cols(), schema.features.size());
  require(rows.allFinite(), "a training row has an entry that is not finite");
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const auto limits = problem.constraints.features.find(schema.features[j].name);
    const bool locked = limits != problem.constraints.features.end() && limits->second.locked;
    if (schema.features[j].immutable || locked) fixed_.push_back(static_cast<Index>(j));
  }
  std::vector<Index> robust = certified_rows(problem, rows, execution);
  robust_rows_ = static_cast<Index>(robust.size());
  lay_out(rows, std::move(robust));
}

int DataSupported::compare_fixed(VectorArg a, VectorArg b) const {
  for (const Index j : fixed_) {
    if (a[j] != b[j]) return a[j] < b[j] ? -1 : 1;
  }
  return 0;
}

void DataSupported::lay_out(RowMatrixArg rows, std::vector<Index> robust) {
  const auto compare = [&](Index a, Index b) {  // -1, 0, 1
    const int fixed = compare_fixed(rows.row(a).transpose(), rows.row(b).transpose());
    if (fixed != 0) return fixed;
    for (Index j = 0; j < rows.cols(); ++j) {
      if (rows(a, j) != rows(b, j)) return rows(a, j) < rows(b, j) ? -1 : 1;
    }
    return 0;
  };
  std::sort(robust.begin(), robust.end(), [&](Index a, Index b) {
    const int order = compare(a, b);
    return order < 0 || (order == 0 && a < b);
  });
  // Of equal rows the first one stays: further plans must differ.
  robust.erase(std::unique(robust.begin(), robust.end(),
                           [&](Index a, Index b) { return compare(a, b) == 0; }),
               robust.end());
  const auto same_group = [&](Index a, Index b) {
    return compare_fixed(rows.row(a).transpose(), rows.row(b).transpose()) == 0;
  };
  for (auto begin = robust.begin(); begin != robust.end();) {
    const auto end =
        std::find_if_not(begin, robust.end(), [&](Index row) { return same_group(*begin, row); });
    groups_.push_back({.begin = begin - robust.begin(), .end = end - robust.begin()});
    std::sort(begin, end);
    begin = end;
  }
  raw_ = rows(robust, Eigen::all);
  for (Group& group : groups_) {
    if (group.end - group.begin >= rows_worth_keeping) group.search = make_search(group);
  }
}

NearestRows DataSupported::make_search(const Group& group) const {
  return {problem_->model->encoder.encode(raw_.middleRows(group.begin, group.end - group.begin)),
          metric_, options_.search};
}

const DataSupported::Group* DataSupported::group_of(VectorArg raw) const {
  const auto found =
      std::lower_bound(groups_.begin(), groups_.end(), raw, [&](const Group& group, VectorArg row) {
        return compare_fixed(raw_.row(group.begin).transpose(), row) < 0;
      });
  const bool equal =
      found != groups_.end() && compare_fixed(raw_.row(found->begin).transpose(), raw) == 0;
  return equal ? &*found : nullptr;
}

std::vector<Answer> DataSupported::generate(const std::vector<Query>& queries,
                                            const Execution& execution) const {
  const auto features = static_cast<Index>(problem_->model->schema().features.size());
  // Queries that share their rows are searched together, a block at a time.
  struct Block {
    const Group* group = nullptr;
    std::vector<std::size_t> places = {};
  };
  std::vector<Block> blocks;
  std::map<const Group*, std::size_t> open;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    require(queries[i].raw.size() == features, "a query has {} values, expected {}",
            queries[i].raw.size(), features);
    const Group* group = group_of(queries[i].raw);
    const auto [entry, is_new] = open.try_emplace(group, blocks.size());
    if (is_new || blocks[entry->second].places.size() == supported_queries) {
      entry->second = blocks.size();
      blocks.push_back({.group = group});
    }
    blocks[entry->second].places.push_back(i);
  }

  std::vector<std::vector<Answer>> answers(queries.size());
  parallel_for_results("searching rows", blocks.size(), execution, [&](std::size_t b) {
    std::vector<const Query*> asked;
    for (const std::size_t place : blocks[b].places) asked.push_back(&queries[place]);
    std::vector<std::vector<Answer>> found = answer(blocks[b].group, asked);
    for (std::size_t i = 0; i < asked.size(); ++i)
      answers[blocks[b].places[i]] = std::move(found[i]);
  });
  std::vector<Answer> result;
  for (std::vector<Answer>& plans : answers) {
    std::move(plans.begin(), plans.end(), std::back_inserter(result));
  }
  return result;
}

std::vector<std::vector<Answer>> DataSupported::answer(
    const Group* group, const std::vector<const Query*>& queries) const {
  std::vector<std::vector<Answer>> result(queries.size());
  std::vector<FeasibleSet> feasible;
  std::vector<std::size_t> searched;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    feasible.emplace_back(problem_->model->encoder, problem_->constraints, queries[i]->index,
                          queries[i]->raw);
    Answer begun = assembler_.begin(*queries[i], feasible[i]);
    if (!assembler_.already_robust(begun, feasible[i])) searched.push_back(i);
    result[i].push_back(std::move(begun));
  }
  if (searched.empty()) return result;

  std::vector<std::vector<Neighbour>> nearest(searched.size());
  if (group != nullptr) {
    RowMatrix points(static_cast<Index>(searched.size()), problem_->model->encoder.columns());
    for (std::size_t k = 0; k < searched.size(); ++k) {
      points.row(static_cast<Index>(k)) = feasible[searched[k]].query().transpose();
    }
    const Schema& schema = problem_->model->schema();
    const bool has_rules = !schema.constraints.empty() || !schema.implications.empty();
    const auto allows = [&](const FeasibleSet& set, Index row) {
      const Eigen::Map<const Vector> raw(raw_.row(group->begin + row).data(), raw_.cols());
      return in_ranges(set, raw) && (!has_rules || set.violations(raw).empty());
    };
    std::vector<std::optional<int>> most(searched.size());
    for (std::size_t k = 0; k < searched.size(); ++k) {
      const FeasibleSet& set = feasible[searched[k]];
      most[k] = most_changes(*group, set.query_raw(), [&](Index row) { return allows(set, row); });
    }
    const RowFilter filter = [&](Index query, Index row) {
      const auto k = static_cast<std::size_t>(query);
      const FeasibleSet& set = feasible[searched[k]];
      return (!most[k] ||
              changes(raw_.row(group->begin + row).transpose(), set.query_raw()) <= *most[k]) &&
             allows(set, row);
    };
    nearest = group->search ? group->search->find(points, options_.plans, filter)
                            : make_search(*group).find(points, options_.plans, filter);
  }
  for (std::size_t k = 0; k < searched.size(); ++k) {
    const std::size_t i = searched[k];
    const Answer begun = std::move(result[i].front());
    result[i].clear();
    for (const Neighbour& neighbour : nearest[k]) {
      Answer& plan = result[i].emplace_back(begun);
      plan.plan = static_cast<int>(result[i].size()) - 1;
      if (!assembler_.accept(plan, raw_.row(group->begin + neighbour.row).transpose(),
                             feasible[i])) {
        fail(ErrorCode::internal, "query {}: a certified training row was refused",
             queries[i]->index);
      }
    }
    if (nearest[k].empty()) {
      result[i].push_back(begun);
      result[i].front().status = Status::not_found;
      result[i].front().message = why_nothing();
    }
  }
  return result;
}

std::optional<int> DataSupported::most_changes(const Group& group, VectorArg query,
                                               const std::function<bool(Index row)>& allows) const {
  if (!options_.sparse) return options_.max_changes;
  int fewest = options_.max_changes.value_or(std::numeric_limits<int>::max());
  for (Index row = 0; row < group.end - group.begin; ++row) {
    const int differing = changes(raw_.row(group.begin + row).transpose(), query);
    if (differing < fewest && allows(row)) fewest = differing;
  }
  return fewest;
}

std::string DataSupported::why_nothing() const {
  if (robust_rows_ == 0) {
    return fmt::format("none of the {} training rows is robust at epsilon = {}", all_rows_,
                       problem_->epsilon);
  }
  return fmt::format(
      "{} of the {} training rows are robust, but none of these meets the constraints{}",
      robust_rows_, all_rows_,
      options_.max_changes ? fmt::format(" with at most {} changes", *options_.max_changes) : "");
}

}  // namespace ellice
