#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "answers.hpp"

namespace ellice::python {

namespace {

// Answers of one batch of a stream: few for the memory, many for those who work on each batch.
constexpr std::size_t batch_answers = 65536;
constexpr double none = std::numeric_limits<double>::quiet_NaN();

using Blocks = std::span<const std::shared_ptr<const AnswerBlock>>;

/// The names of columns that are no features.
class Names {
 public:
  explicit Names(const Schema& schema) {
    for (const Feature& feature : schema.features) taken_.insert(feature.name);
  }
  std::string operator()(std::string wanted) {
    while (!taken_.insert(wanted).second) wanted.insert(0, "_");
    return wanted;
  }

 private:
  std::set<std::string> taken_;
};

template <class T>
AnswerColumn joined(std::string name, Blocks blocks, const std::vector<T> AnswerBlock::*column) {
  std::vector<T> values;
  for (const auto& block : blocks)
    values.insert(values.end(), ((*block).*column).begin(), ((*block).*column).end());
  return {.name = std::move(name), .values = std::move(values)};
}

AnswerColumn texts(std::string name, Blocks blocks, auto&& add) {
  Texts values;
  for (const auto& block : blocks)
    for (std::size_t i = 0; i < block->size(); ++i) add(*block, i, values);
  return {.name = std::move(name), .values = std::move(values)};
}

AnswerColumn feature_column(const Feature& feature, std::size_t j, Blocks blocks,
                            bool only_changes) {
  const auto column = static_cast<Index>(j);
  if (!feature.is_number()) {
    return texts(feature.name, blocks, [&](const AnswerBlock& block, std::size_t i, Texts& values) {
      const bool is_shown = only_changes ? block.changes(i, j) : block.has_row[i];
      const double level = block.rows(static_cast<Index>(i), column);
      values.add(is_shown ? feature.levels[static_cast<std::size_t>(level)] : "", is_shown);
    });
  }
  std::vector<double> values;
  for (const auto& block : blocks) {
    const auto all = block->rows.col(column);
    const std::size_t before = values.size();
    values.insert(values.end(), all.begin(), all.end());
    if (!only_changes) continue;
    for (std::size_t i = 0; i < block->size(); ++i)
      if (!block->changes(i, j)) values[before + i] = none;
  }
  return {.name = feature.name, .values = std::move(values)};
}

class HeldTables final : public TableStream {
 public:
  HeldTables(Answers answers, bool only_changes)
      : answers_(std::move(answers)), table_(answers_, only_changes) {}

  [[nodiscard]] std::vector<AnswerColumn> empty() override { return table_.columns(0, 0); }
  [[nodiscard]] std::optional<std::vector<AnswerColumn>> next() override {
    if (next_ == answers_.blocks.size()) return std::nullopt;
    const std::size_t first = next_;
    for (std::size_t count = 0; count < batch_answers && next_ < answers_.blocks.size(); ++next_)
      count += answers_.blocks[next_]->size();
    return table_.columns(first, next_);
  }

 private:
  Answers answers_;
  AnswerTable table_;
  std::size_t next_ = 0;
};

}  // namespace

void Texts::add(std::string_view text, bool is_text) {
  all += text;
  offsets.push_back(static_cast<std::int64_t>(all.size()));
  is_there.push_back(is_text);
}

AnswerTable::AnswerTable(const Answers& answers, bool only_changes)
    : answers_(&answers), only_changes_(only_changes) {
  const auto is_changed = [&](std::size_t j) {
    return std::any_of(answers.blocks.begin(), answers.blocks.end(), [&](const auto& block) {
      for (std::size_t i = 0; i < block->size(); ++i)
        if (block->changes(i, j)) return true;
      return false;
    });
  };
  for (std::size_t j = 0; j < answers.explainer->model().schema().features.size(); ++j)
    if (!only_changes || is_changed(j)) features_.push_back(j);
}

std::vector<AnswerColumn> AnswerTable::columns(std::size_t first, std::size_t last) const {
  const Blocks blocks = Blocks(answers_->blocks).subspan(first, last - first);
  const Schema& schema = answers_->explainer->model().schema();
  Names name(schema);
  std::vector<AnswerColumn> table;
  table.push_back(joined(name("query"), blocks, &AnswerBlock::query_indices));
  table.push_back(joined(name("plan"), blocks, &AnswerBlock::plans));
  table.push_back(
      texts(name("status"), blocks, [](const AnswerBlock& block, std::size_t i, Texts& values) {
        values.add(enum_name(block.statuses[i]));
      }));
  if (answers_->has_ids) {
    table.push_back(
        texts(name("id"), blocks, [](const AnswerBlock& block, std::size_t i, Texts& values) {
          const bool is_there = !block.ids.empty() && block.ids[i].has_value();
          values.add(is_there ? *block.ids[i] : "", is_there);
        }));
  }
  for (const std::size_t j : features_)
    table.push_back(feature_column(schema.features[j], j, blocks, only_changes_));
  table.push_back(joined(name("cost"), blocks, &AnswerBlock::costs));
  table.push_back(joined(name("changed"), blocks, &AnswerBlock::changed));
  table.push_back(joined(name("logit"), blocks, &AnswerBlock::logits));
  table.push_back(joined(name("robust_logit"), blocks, &AnswerBlock::robust_logits));
  table.push_back(joined(name("radius"), blocks, &AnswerBlock::radii));
  table.push_back(joined(name("survival"), blocks, &AnswerBlock::survivals));
  table.push_back(
      texts(name("message"), blocks, [](const AnswerBlock& block, std::size_t i, Texts& values) {
        values.add(block.message(i), !block.message(i).empty());
      }));
  return table;
}

std::unique_ptr<TableStream> table_stream(Answers answers, bool only_changes) {
  return std::make_unique<HeldTables>(std::move(answers), only_changes);
}

}  // namespace ellice::python
