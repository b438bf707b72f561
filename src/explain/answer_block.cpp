#include "explain/answer_block.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "core/parallel.hpp"

namespace ellice {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::optional<double> number_or_none(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

/// Whether the number is what a column with NaN for nothing gives back.
bool is_kept(const std::optional<double>& value) {
  return !value || !std::isnan(*value);
}

/// Nothing but what a row, its certificate and its distances say.
bool has_no_more(const Answer& answer) {
  return answer.query_violations.empty() && !answer.reasons && answer.held.empty() &&
         !answer.score && !answer.selection_shift && !answer.refits && !answer.survival_interval &&
         !answer.survival_spread && !answer.infeasible && !answer.attained_epsilon &&
         !answer.attack && !answer.seconds && answer.message.empty() && answer.reason.empty();
}

/// The same but for the numbers of a row.
bool are_alike(const Certificate& one, const Certificate& other) {
  return one.members.empty() && one.rivals.empty() && other.members.empty() &&
         other.rivals.empty() && one.set == other.set && one.epsilon == other.epsilon &&
         one.threshold == other.threshold && one.damping == other.damping &&
         one.real_logit.has_value() == other.real_logit.has_value() &&
         one.worst_model.size() == other.worst_model.size() && one.target == other.target &&
         one.acceptable == other.acceptable && one.model_sha256 == other.model_sha256 &&
         one.claim == other.claim;
}

bool are_changes(const std::vector<Change>& changes, const Schema& schema, const RawRow& from,
                 const RawRow& to, const auto& differs) {
  std::size_t next = 0;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    if (!differs(j)) continue;
    if (next == changes.size()) return false;
    const Change& change = changes[next++];
    if (change.points || change.feature != schema.features[j].name || change.from != from[j] ||
        change.to != to[j])
      return false;
  }
  return next == changes.size();
}

}  // namespace

std::size_t block_rows(int threads) {
  constexpr std::size_t of_a_thread = 1024;
  constexpr std::size_t most = 8192;
  return std::min(of_a_thread * static_cast<std::size_t>(thread_count(threads)), most);
}

std::vector<Answer> in_order(std::vector<Answer> answers, std::vector<Answer> invalid) {
  std::move(invalid.begin(), invalid.end(), std::back_inserter(answers));
  const auto before = [](const Answer& a, const Answer& b) {
    return std::pair(a.query_index, a.plan) < std::pair(b.query_index, b.plan);
  };
  if (!std::is_sorted(answers.begin(), answers.end(), before))
    std::stable_sort(answers.begin(), answers.end(), before);
  return answers;
}

AnswerBlock::AnswerBlock(const Explainer& explainer, std::vector<Answer> answers)
    : explainer_(explainer) {
  const std::size_t count = answers.size();
  const auto height = static_cast<Index>(count);
  const auto features = static_cast<Index>(explainer.model().schema().features.size());
  const auto is_first = [](const Answer& answer) { return answer.certificate.has_value(); };
  if (const auto first = std::find_if(answers.begin(), answers.end(), is_first);
      first != answers.end()) {
    common_ = Answer{.target = first->target, .certificate = first->certificate};
    common_->schema = first->schema;
  }
  query_indices.resize(count);
  plans.resize(count);
  statuses.resize(count);
  has_row.resize(count);
  const bool has_ids = std::any_of(answers.begin(), answers.end(),
                                   [](const Answer& answer) { return answer.id.has_value(); });
  if (has_ids) ids.resize(count);
  for (auto* column : {&costs, &changed, &logits, &robust_logits, &radii, &survivals, &l2_, &l1_,
                       &gaps_, &real_logits_})
    column->assign(count, none);
  rows = Matrix::Constant(height, features, none);
  queries_ = RowMatrix::Constant(height, features, none);
  worst_models_ = RowMatrix::Zero(height, common_ ? common_->certificate->worst_model.size() : 0);
  Vector scratch(explainer.model().encoder.columns());
  for (std::size_t i = 0; i < count; ++i) {
    place(i, answers[i]);
    if (!is_plain(i, answers[i], scratch)) whole_.emplace(i, std::move(answers[i]));
    answers[i] = {};  // while it is in the caches
  }
}

void AnswerBlock::place(std::size_t i, const Answer& answer) {
  const Encoder& encoder = explainer_.model().encoder;
  const auto at = static_cast<Index>(i);
  query_indices[i] = static_cast<std::int64_t>(answer.query_index);
  plans[i] = answer.plan;
  statuses[i] = answer.status;
  if (!ids.empty()) ids[i] = answer.id;
  if (!answer.query.empty()) queries_.row(at) = encoder.raw(answer.query);
  radii[i] = answer.robustness_radius.value_or(none);
  survivals[i] = answer.predicted_survival.value_or(none);
  gaps_[i] = answer.gap.value_or(none);
  if (!answer.counterfactual) return;
  has_row[i] = true;
  rows.row(at) = encoder.raw(*answer.counterfactual);
  costs[i] = answer.distance.weighted;
  changed[i] = answer.distance.changed;
  l2_[i] = answer.distance.l2;
  l1_[i] = answer.distance.l1;
  logits[i] = answer.logit;
  robust_logits[i] = answer.robust_logit;
  if (!answer.certificate) return;
  real_logits_[i] = answer.certificate->real_logit.value_or(none);
  if (answer.certificate->worst_model.size() == worst_models_.cols())
    worst_models_.row(at) = answer.certificate->worst_model;
}

bool AnswerBlock::is_plain(std::size_t i, const Answer& answer, Vector& scratch) const {
  if (!answer.certificate || !answer.counterfactual || !has_no_more(answer)) return false;
  const Certificate& certificate = *answer.certificate;
  if (answer.target != common_->target || answer.schema != common_->schema ||
      !are_alike(certificate, *common_->certificate))
    return false;
  if (!is_kept(answer.robustness_radius) || !is_kept(answer.predicted_survival) ||
      !is_kept(answer.gap) || !is_kept(certificate.real_logit) ||
      certificate.logit != answer.logit || certificate.robust_logit != answer.robust_logit ||
      certificate.point != *answer.counterfactual)
    return false;
  const auto at = static_cast<Index>(i);
  const Vector raw = rows.row(at);
  const Encoder& encoder = explainer_.model().encoder;
  encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, scratch);
  const auto bytes = sizeof(double) * static_cast<std::size_t>(scratch.size());
  if (scratch.size() != certificate.encoded.size() ||
      std::memcmp(scratch.data(), certificate.encoded.data(), bytes) != 0)
    return false;
  return are_changes(answer.changes, encoder.schema(), answer.query, *answer.counterfactual,
                     [&](std::size_t j) {
                       const auto column = static_cast<Index>(j);
                       return raw(column) != queries_(at, column);
                     });
}

Answer AnswerBlock::rebuilt(std::size_t i) const {
  const Encoder& encoder = explainer_.model().encoder;
  const auto at = static_cast<Index>(i);
  const Vector from = queries_.row(at);
  const Vector to = rows.row(at);
  const auto features = static_cast<std::size_t>(to.size());
  Answer answer = *common_;
  answer.query_index = static_cast<std::size_t>(query_indices[i]);
  answer.plan = static_cast<int>(plans[i]);
  answer.status = statuses[i];
  if (!ids.empty()) answer.id = ids[i];
  answer.query = encoder.values({from.data(), features});
  answer.counterfactual = encoder.values({to.data(), features});
  for (std::size_t j = 0; j < features; ++j) {
    if (from(static_cast<Index>(j)) == to(static_cast<Index>(j))) continue;
    answer.changes.push_back({.feature = encoder.schema().features[j].name,
                              .from = answer.query[j],
                              .to = (*answer.counterfactual)[j]});
  }
  answer.distance = {
      .l2 = l2_[i], .l1 = l1_[i], .weighted = costs[i], .changed = static_cast<int>(changed[i])};
  answer.logit = logits[i];
  answer.robust_logit = robust_logits[i];
  answer.robustness_radius = number_or_none(radii[i]);
  answer.predicted_survival = number_or_none(survivals[i]);
  answer.gap = number_or_none(gaps_[i]);
  Certificate& certificate = *answer.certificate;
  certificate.point = *answer.counterfactual;
  certificate.encoded.resize(encoder.columns());
  encoder.encode({to.data(), features}, certificate.encoded);
  certificate.logit = answer.logit;
  certificate.robust_logit = answer.robust_logit;
  certificate.real_logit = number_or_none(real_logits_[i]);
  certificate.worst_model = worst_models_.row(at);
  return answer;
}

Answer AnswerBlock::answer(std::size_t i) const {
  const auto whole = whole_.find(i);
  std::vector<Answer> one;
  one.push_back(whole == whole_.end() ? rebuilt(i) : whole->second);
  explainer_.find_reasons(one);
  return std::move(one.front());
}

std::vector<Answer> AnswerBlock::answers(int threads) const {
  std::vector<Answer> all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const auto whole = whole_.find(i);
    all.push_back(whole == whole_.end() ? rebuilt(i) : whole->second);
  }
  explainer_.find_reasons(all, {.threads = threads});
  return all;
}

const std::string& AnswerBlock::message(std::size_t i) const {
  static const std::string nothing;
  const auto whole = whole_.find(i);
  return whole == whole_.end() ? nothing : whole->second.message;
}

}  // namespace ellice
