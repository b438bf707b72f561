#include "report/letter_batch.hpp"

#include <fmt/format.h>

#include "report/trade_off.hpp"

namespace ellice {

namespace {

// Names of files may have 255 bytes on most systems.
constexpr std::size_t longest_id = 80;

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

}  // namespace

std::string letter_file_name(const Answer& answer) {
  std::string name = fmt::format("{:06}", answer.query_index + 1);
  const std::string id = answer.id.value_or("").substr(0, longest_id);
  if (id.find_first_not_of(" \t") == std::string::npos) return name + ".html";
  name += '_';
  for (const char c : id) name += is_safe(c) ? c : '_';
  return name + ".html";
}

LetterBatch::LetterBatch(LetterFolder& folder, LetterWriter writer, const Schema& schema,
                         std::optional<double> worth)
    : folder_(&folder),
      writer_(std::move(writer)),
      schema_(&schema),
      worth_(worth),
      index_("file,id,reference,letter,certificate_sha256\n") {}

void LetterBatch::count_protected(const Answer& answer) {
  if (!answer.reasons) return;
  bool any = false;
  for (const Reason& reason : answer.reasons->items) {
    const std::optional<std::size_t> index = schema_->find(reason.feature);
    if (!index || !schema_->features[*index].is_protected) continue;
    ++protected_reasons_[reason.feature];
    any = true;
  }
  if (any) ++with_protected_;
}

void LetterBatch::add(const Answer& answer, bool is_complete) {
  if (answer.status == Status::invalid) {
    ++counts_.unreadable;
    return;
  }
  if (answer.status == Status::already_robust || writer_.is_accepted(answer)) {
    ++counts_.accepted;
    return;
  }
  if (!is_complete) {
    incomplete_.push_back(answer.query_index);
    return;
  }
  const bool has_plan = LetterWriter::has_plan(answer);
  ++(has_plan ? counts_.plans : counts_.without_plan);
  count_protected(answer);
  const std::string name = letter_file_name(answer);
  folder_->write(name, writer_.letter(answer));
  index_ += fmt::format("{},{},{},{},{}\n", name, guard_.cell(answer.id.value_or("")),
                        letter_reference(answer, *schema_), has_plan ? "plan" : "no plan",
                        has_plan ? certificate_hash(*answer.certificate, *schema_) : "");
}

void LetterBatch::add(const std::vector<Answer>& answers, const std::set<std::size_t>& incomplete) {
  for (std::size_t first = 0; first < answers.size();) {
    const std::size_t end = end_of_person(answers, first);
    const std::span<const Answer> plans(answers.data() + first, end - first);
    add(plans[worth_ && is_trade_off(plans) ? recommended(plans, *worth_) : 0],
        !incomplete.contains(plans.front().query_index));
    first = end;
  }
}

void LetterBatch::finish() {
  folder_->write("index.csv", index_);
}

}  // namespace ellice
