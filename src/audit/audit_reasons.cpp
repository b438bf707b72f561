#include "audit/audit_reasons.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "ellice/core/json.hpp"
#include "model/deciding.hpp"

namespace ellice {

namespace {

constexpr double reason_tolerance = 1e-9;

/// To 1e-9, or 1e-12 of `scale` where the numbers are what larger ones leave over.
bool agree(double stored, double recomputed, double scale) {
  return std::abs(stored - recomputed) <=
         reason_tolerance * std::max({std::abs(stored), std::abs(recomputed), 1e-3 * scale});
}

}  // namespace

ReasonAudit::ReasonAudit(const Model& model, double threshold,
                         const std::optional<ReasonReference>& stated, const StoredRows* rows)
    : model_(&model), threshold_(threshold) {
  if (!stated || !Reasoner::supports(model)) return;
  reasoner_.emplace(model, threshold, *stated);
  const bool of_rows = stated->kind == ReferenceKind::accepted;
  if (of_rows && rows == nullptr) return;
  const ReasonReference own = make_reference(model, threshold, of_rows ? rows : nullptr);
  if (own.kind != stated->kind || own.rows != stated->rows ||
      (own.point - stated->point).cwiseAbs().maxCoeff() > reason_tolerance) {
    fault_ = fmt::format("reasons: the reference is not {}", describe(own));
  }
}

void ReasonAudit::check(JsonObject& answer, const RawRow& query,
                        std::vector<std::string>& failures) const {
  const bool has_reasons = answer.has("reasons");
  if (has_reasons && !reasoner_) {
    (void)answer.at("reasons");
    failures.emplace_back("reasons: the file states no reference for them");
    return;
  }
  const bool declined =
      reasoner_ && deciding_logit(*model_, model_->encoder.encode(query)) < threshold_;
  if (has_reasons != declined) {
    if (has_reasons) (void)answer.at("reasons");
    failures.emplace_back(has_reasons
                              ? "reasons of a refusal are stated, but the model accepts the query"
                              : "the model declines the query, but reasons are missing");
    return;
  }
  if (!has_reasons) return;
  if (!fault_.empty()) failures.push_back(fault_);
  check_items(answer.object("reasons"), query, failures);
}

void ReasonAudit::check_items(JsonObject reasons, const RawRow& query,
                              std::vector<std::string>& failures) const {
  const auto fault = [&](std::string text) { failures.push_back("reasons: " + std::move(text)); };
  const Vector all = reasoner_->contributions(query);
  const double reference_logit = deciding_logit(*model_, reasoner_->reference().point);
  const double logit = deciding_logit(*model_, model_->encoder.encode(query));
  const double scale = all.lpNorm<1>() + std::abs(logit) + std::abs(reference_logit);
  if (reasons.string("reference") != describe(reasoner_->reference()))
    fault("reference is not the one that the file states");

  std::set<std::size_t> listed;
  double sum = 0;
  double last = -std::numeric_limits<double>::infinity();
  for (const JsonObject& item : reasons.objects("items")) {
    const std::optional<std::size_t> j = check_item(item, query, all, failures);
    if (!j) return;
    const double contribution = all(static_cast<Index>(*j));
    if (!listed.insert(*j).second || contribution < last - reason_tolerance * scale)
      fault("items are not in order of size, each feature once");
    last = contribution;
    sum += contribution;
  }
  if (listed.size() > most_reasons)
    fault(fmt::format("{} items, but at most {} are principal", listed.size(), most_reasons));
  // Whatever is left out counts less than what is listed, or nothing if there was room.
  const double bound = listed.size() < most_reasons ? 0 : last;
  for (std::size_t j = 0; j < query.size(); ++j) {
    if (!listed.contains(j) && all(static_cast<Index>(j)) < bound - reason_tolerance * scale) {
      fault(fmt::format("{} counts more against the person than what is listed",
                        model_->schema().features[j].name));
      break;
    }
  }
  const auto compare = [&](const char* name, double recomputed) {
    const double stored = reasons.number(name);
    if (!agree(stored, recomputed, scale))
      fault(fmt::format("{} is {}, recomputed {}", name, stored, recomputed));
  };
  compare("logit", logit);
  compare("reference_logit", reference_logit);
  compare("others", all.sum() - sum);
  compare("residual", logit - reference_logit - all.sum());
  reasons.finish();
}

std::optional<std::size_t> ReasonAudit::check_item(JsonObject item, const RawRow& query,
                                                   const Vector& contributions,
                                                   std::vector<std::string>& failures) const {
  const std::string name = item.string("feature");
  const auto fault = [&](std::string_view text) {
    failures.push_back(fmt::format("reasons: {}: {}", name, text));
    return std::nullopt;
  };
  const std::optional<std::size_t> j = model_->schema().find(name);
  if (!j) return fault("there is no such feature");
  const double contribution = contributions(static_cast<Index>(*j));
  const Reason own = reasoner_->reason(*j, query[*j], contribution);
  const double stored = item.number("contribution");
  // Contributions cancel with each other and not within themselves.
  if (!agree(stored, contribution, 0.01 * contributions.lpNorm<1>()))
    return fault(fmt::format("contribution is {}, recomputed {}", stored, contribution));
  if (!(stored < 0)) return fault("it does not count against the person");
  if (own.points &&
      (!item.has("points") || !agree(item.number("points"), *own.points, std::abs(*own.points))))
    return fault(fmt::format("points are not {}", *own.points));
  if (item.at("value") != std::visit([](const auto& v) { return Json(v); }, query[*j]))
    return fault("value is not the query's");
  if (!agree(item.number("reference"), own.reference, 0))
    return fault(
        fmt::format("reference is {}, recomputed {}", item.number("reference"), own.reference));
  // Codes, and the texts that come with them, are the lender's own.
  const std::string text = item.string("text");
  if (item.has("code")) {
    (void)item.string("code");
  } else if (own.code) {
    return fault(fmt::format("code {} is missing", *own.code));
  } else if (text != own.text) {
    return fault(fmt::format("text is not \"{}\"", own.text));
  }
  item.finish();
  return j;
}

}  // namespace ellice
