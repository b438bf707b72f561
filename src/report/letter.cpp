#include "report/letter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/sha256.hpp"
#include "data/spelling.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/report/sentence.hpp"
#include "model/deciding.hpp"

namespace ellice {

namespace {

// From so many steps on the list is set in two columns, and in smaller print.
constexpr std::size_t many_steps = 8;
constexpr std::size_t crowded_steps = 19;

constexpr std::string_view no_break_space = "\u00A0";

std::string_view people_key(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::accepted:
      return "people_accepted";
    case ReferenceKind::borderline:
      return "people_borderline";
    case ReferenceKind::average:
      return "people_average";
    case ReferenceKind::centre:
      break;
  }
  return "people_centre";
}

std::string_view step_key(const Feature& feature, const Change& change) {
  const auto place = [&](const Value& value) {
    const double* const number = std::get_if<double>(&value);
    return number != nullptr
               ? *number
               : static_cast<double>(feature.level_index(std::get<std::string>(value)).value_or(0));
  };
  if (!feature.is_number() && feature.kind != FeatureKind::ordinal) return "step_change";
  return place(change.to) > place(change.from) ? "step_raise" : "step_lower";
}

std::string_view no_plan_key(Status status) {
  if (status == Status::infeasible) return "no_plan_infeasible";
  return status == Status::not_found ? "no_plan_not_found" : "no_plan_unreliable";
}

std::string_view density(std::size_t steps) {
  return steps < many_steps ? "few" : steps < crowded_steps ? "many" : "crowded";
}

/// The label, or else the name as it reads in a sentence.
std::string title_of(const Feature& feature) {
  return feature.label.empty() ? capitalized(feature_label(feature)) : feature.title();
}

/// Languages differ in how they write it: 5 % or 5%.
bool is_percent(std::string_view unit) {
  return unit == "%";
}

}  // namespace

Date end_of(const Horizon& horizon, const Date& begin) {
  // As docs/reference/formats.md has them: of a day, a week, a month and a year.
  constexpr std::array<double, 4> period_days = {1, 7, 30.4375, 365.25};
  const double days = horizon.amount * period_days.at(static_cast<std::size_t>(horizon.per));
  require(days <= 365250, "`horizon`: {} is longer than the thousand years that letters know",
          to_text(horizon));
  const bool is_calendar = horizon.per == Pace::Period::month || horizon.per == Pace::Period::year;
  if (!is_calendar || horizon.amount != std::floor(horizon.amount)) {
    return std::chrono::sys_days(begin) + std::chrono::days(static_cast<int>(days));
  }
  const int months =
      static_cast<int>(horizon.amount) * (horizon.per == Pace::Period::year ? 12 : 1);
  const Date end = begin + std::chrono::months(months);
  // 29 February of a year that has none, 31 June.
  return end.ok() ? end : Date(end.year() / end.month() / std::chrono::last);
}

TemplateFields letter_fields() {
  const TemplateFields text{.texts = {"text"}};
  TemplateFields fields{.texts = {"lender", "addressee", "date", "reference", "density"}};
  for (const std::string& key : LetterMessages::plain_keys()) fields.texts.insert(key);
  TemplateFields reason{.texts = {"text", "feature"}};
  reason.lists["coded"].texts = {"code"};
  fields.lists["why"].lists = {{"listed", {}}, {"reasons", std::move(reason)}};
  TemplateFields plan{.texts = {"until", "how_checked", "certificate"}};
  plan.lists = {{"steps", {.texts = {"text", "feature", "from", "to"}}},
                {"score", text},
                {"conditions", text}};
  fields.lists["plan"] = std::move(plan);
  fields.lists["no_plan"] = text;
  return fields;
}

std::string certificate_hash(const Certificate& certificate, const Schema& schema) {
  return sha256_hex(canonical_text(to_json(certificate, schema)));
}

std::string letter_reference(const Answer& answer, const Schema& schema) {
  Json record = to_json(answer, schema);
  record.erase("seconds");
  const std::string hash = sha256_hex(canonical_text(record));
  return fmt::format("{}-{}-{}", hash.substr(0, 4), hash.substr(4, 4), hash.substr(8, 4));
}

std::vector<Change> by_ease(const Answer& answer, const Encoder& encoder, const Cost& cost) {
  const Vector from = encoder.encode(answer.query);
  const Vector from_raw = encoder.raw(answer.query);
  std::vector<double> costs;
  for (const Change& change : answer.changes) {
    RawRow alone = answer.query;
    alone[*encoder.schema().find(change.feature)] = change.to;
    const Vector to = encoder.encode(alone);
    const Vector to_raw = encoder.raw(alone);
    costs.push_back(cost_of(cost, encoder, {.z = &from, .raw = &from_raw},
                            PlacedRow{.z = &to, .raw = &to_raw}));
  }
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  std::vector<Change> result;
  for (const std::size_t i : order) result.push_back(answer.changes[i]);
  return result;
}

LetterWriter::LetterWriter(const Request& request, ReasonCodes codes, LetterMessages messages,
                           Template page, LetterOptions options)
    : request_(&request),
      codes_(std::move(codes)),
      messages_(std::move(messages)),
      page_(std::move(page)),
      options_(std::move(options)) {
  common_.texts = messages_.plain();
  common_.texts["lender"] = options_.lender;
  common_.texts["date"] = messages_.date(options_.date);
}

bool LetterWriter::is_accepted(const Answer& answer) const {
  const Problem& problem = request_->problem;
  const Vector z = problem.model->encoder.encode(answer.query);
  if (!problem.set.contest) return deciding_logit(*problem.model, z) >= problem.threshold;
  const Vector scores = problem.model->network.scores(z);
  Index best = 0;
  scores.maxCoeff(&best);
  const std::vector<Index>& rivals = problem.set.contest->rivals;
  return std::find(rivals.begin(), rivals.end(), best) == rivals.end();
}

bool LetterWriter::has_plan(const Answer& answer) {
  return is_certified(answer.status) && answer.certificate && !answer.changes.empty();
}

const Feature& LetterWriter::feature(const std::string& name) const {
  const Schema& schema = request_->problem.model->schema();
  const std::optional<std::size_t> index = schema.find(name);
  require(index.has_value(), "the schema has no feature \"{}\"", name);
  return schema.features[*index];
}

std::string LetterWriter::value(const Feature& feature, const Value& value,
                                const std::string& displayed) const {
  const std::string* const level = std::get_if<std::string>(&value);
  if (level != nullptr) return feature.level_text(*level);
  if (feature.is_binned()) {
    if (const Bins::Code* const code = feature.bins.code(std::get<double>(value)))
      return code->text;
  }
  const std::string number = messages_.number(displayed);
  // «Duration months: 48», without saying months again.
  if (feature.unit.empty() || title_of(feature).ends_with(feature.unit)) return number;
  if (is_percent(feature.unit)) return messages_.text("percent", {{"number", number}});
  return number + std::string(no_break_space) + messages_.unit(feature.unit);
}

TemplateValues LetterWriter::reason(const Reason& reason) const {
  const Feature& about = feature(reason.feature);
  const std::string title = title_of(about);
  TemplateValues entry;
  entry.texts["feature"] = title;
  if (reason.code) entry.lists["coded"] = {{.texts = {{"code", *reason.code}}}};
  const ReasonCode* const code = codes_.find(about, reason.value, reason.reference);
  if (code != nullptr && !code->text.empty()) {
    entry.texts["text"] = code->text;
  } else if (about.is_number() && !about.is_binned() && request_->reference) {
    entry.texts["text"] = messages_.text(
        "reason_number",
        {{"feature", title},
         {"value", value(about, reason.value, display_start(reason.value, reason.reference))},
         {"people", messages_.text(people_key(request_->reference->kind))},
         {"average",
          value(about, reason.reference, display_start(reason.reference, reason.value, 3))}});
  } else {
    entry.texts["text"] = messages_.text(
        "reason_level",
        {{"feature", title}, {"value", value(about, reason.value, display_value(reason.value))}});
  }
  return entry;
}

TemplateValues LetterWriter::step(const Change& change) const {
  const Feature& about = feature(change.feature);
  // The unit once, where both would have it.
  Feature bare = about;
  bare.unit.clear();
  const bool says_unit_once = about.is_number() && !is_percent(about.unit);
  const std::string from =
      value(says_unit_once ? bare : about, change.from, display_start(change.from, change.to));
  const std::string to = value(about, change.to, display_value(change.to));
  const std::string title = title_of(about);
  TemplateValues entry;
  entry.texts = {{"feature", title}, {"from", from}, {"to", to}};
  entry.texts["text"] =
      messages_.text(step_key(about, change), {{"feature", title}, {"from", from}, {"to", to}});
  if (change.points) {
    const std::string points =
        (*change.points > 0 ? "+" : "") + messages_.number(display_points(*change.points));
    entry.texts["text"] =
        messages_.text("step_points", {{"step", entry.texts["text"]}, {"points", points}});
  }
  return entry;
}

std::vector<std::string> LetterWriter::conditions(const Answer& answer) const {
  const Certificate& certificate = *answer.certificate;
  const Model& model = *request_->problem.model;
  std::vector<std::string> result = {messages_.text("condition_entries")};
  if (options_.horizon_ends) {
    result.push_back(
        messages_.text("condition_horizon", {{"date", messages_.date(*options_.horizon_ends)}}));
  }
  if (certificate.epsilon == 0) {
    result.push_back(messages_.text("condition_present"));
    return result;
  }
  const std::string share = messages_.percent(certificate.epsilon / model.training.objective);
  const bool is_whole = certificate.set == SetKind::true_set && model.network.is_linear();
  const bool is_damped =
      request_->problem.set.damping.has_value() && !is_first_order(certificate.set);
  std::string range;
  if (is_whole) {
    range = messages_.text("condition_true_range", {{"share", share}});
  } else if (certificate.set == SetKind::isotropic || is_damped) {
    range = messages_.text("condition_near");
  } else {
    range = messages_.text("condition_range", {{"share", share}});
  }
  if (answer.status == Status::reduced) range += " " + messages_.text("condition_narrower");
  if (is_first_order(certificate.set)) range += " " + messages_.text("condition_approximate");
  result.push_back(std::move(range));
  return result;
}

TemplateValues LetterWriter::plan(const Answer& answer) const {
  const Model& model = *request_->problem.model;
  TemplateValues entry;
  entry.texts["certificate"] = certificate_hash(*answer.certificate, model.schema());
  entry.texts["until"] =
      options_.valid_until
          ? messages_.text("holds_until", {{"date", messages_.date(*options_.valid_until)}})
          : messages_.text("holds_open");
  entry.texts["how_checked"] =
      messages_.text(answer.certificate->epsilon > 0 ? "checked" : "checked_present");
  for (const Change& change : by_ease(answer, model.encoder, request_->problem.cost))
    entry.lists["steps"].push_back(step(change));
  if (answer.score && answer.score->after) {
    const auto points = [&](double number) { return messages_.number(display_points(number)); };
    entry.lists["score"] = {
        {.texts = {
             {"text", messages_.text(answer.score->is_upper ? "score_at_most" : "score_at_least",
                                     {{"now", points(answer.score->now)},
                                      {"after", points(*answer.score->after)},
                                      {"needed", points(answer.score->needed)}})}}}};
  }
  for (const std::string& condition : conditions(answer))
    entry.lists["conditions"].push_back({.texts = {{"text", condition}}});
  return entry;
}

std::string LetterWriter::letter(const Answer& answer) const {
  TemplateValues values = common_;
  values.texts["addressee"] = answer.id.value_or("");
  values.texts["reference"] = letter_reference(answer, request_->problem.model->schema());
  if (answer.reasons) {
    TemplateValues why;
    for (const Reason& item : answer.reasons->items) why.lists["reasons"].push_back(reason(item));
    if (!answer.reasons->items.empty()) why.lists["listed"].emplace_back();
    values.lists["why"].push_back(std::move(why));
  }
  values.texts["density"] = density(has_plan(answer) ? answer.changes.size() : 0);
  if (has_plan(answer)) {
    values.lists["plan"].push_back(plan(answer));
  } else {
    values.lists["no_plan"] = {{.texts = {{"text", messages_.text(no_plan_key(answer.status))}}}};
  }
  return page_.render(values);
}

}  // namespace ellice
