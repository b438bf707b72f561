#include "recourse_stream.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <span>
#include <utility>

#include "core/parallel.hpp"
#include "core/pipeline.hpp"
#include "core/plain_json.hpp"
#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/error.hpp"
#include "explain/recourse_request.hpp"
#include "request/recourse_file.hpp"

namespace ellice::cli {

namespace {

constexpr std::size_t read_at_once = std::size_t{1} << 20U;
// What stands before the records is not longer.
constexpr std::size_t longest_head = std::size_t{1} << 26U;
constexpr std::string_view before_records = "\n  \"results\": [\n    {";
constexpr std::string_view record_end = "\n    }";
constexpr std::string_view next_record = ",\n    {";
constexpr std::string_view records_end = "\n  ]";
constexpr std::string_view record_start = "{\n      \"query_index\": ";
constexpr std::size_t most_digits = 20;

// What a block may take, so that nobody waits long for the last one.
constexpr double block_seconds = 0.01;
constexpr std::size_t first_records = 4;
constexpr std::size_t most_records = 64;

[[noreturn]] void fail_as_unusual() {
  fail(ErrorCode::input, "the file is not laid out as `explain` does");
}

Json usual_json(std::string_view text) {
  std::optional<Json> value = parse_plain_json(text);
  if (!value || !value->is_object()) fail_as_unusual();
  return *std::move(value);
}

}  // namespace

std::unique_ptr<RecourseStream> RecourseStream::open(const std::string& path) {
  std::unique_ptr<RecourseStream> stream(new RecourseStream(path));
  return stream->find_head() ? std::move(stream) : nullptr;
}

bool RecourseStream::find_head() {
  std::size_t found = std::string::npos;
  std::size_t searched = 0;
  while (found == std::string::npos) {
    if (text_.size() > longest_head || !read_more()) return false;
    found = text_.find(before_records, searched);
    searched = text_.size() - std::min(text_.size(), before_records.size());
  }
  const std::size_t comma = text_.find_last_not_of(" \t\r\n", found);
  if (comma == std::string::npos || text_[comma] != ',') return false;
  std::optional<Json> head = parse_plain_json(text_.substr(0, comma) + '}');
  if (!head || !head->is_object() || head->contains("results")) return false;
  if (head->value("format", Json()) != recourse_format) return false;
  for (const auto& [key, value] : head->items())
    if (audit::Hashes::is_at_the_end(key)) return false;
  head_ = *std::move(head);
  head_["results"] = Json::array();
  at_ = found + before_records.size() - 1;
  try {
    return usual_json(rest().substr(0, record_size())).contains("sha256");
  } catch (const Error&) {
    return false;
  }
}

bool RecourseStream::read_more() {
  text_.erase(0, std::exchange(at_, 0));
  const std::size_t before = text_.size();
  text_.resize(before + read_at_once);
  file_.read(text_.data() + before, static_cast<std::streamsize>(read_at_once));
  text_.resize(before + static_cast<std::size_t>(std::max<std::streamsize>(file_.gcount(), 0)));
  return text_.size() > before;
}

bool RecourseStream::has(std::size_t bytes) {
  while (rest().size() < bytes)
    if (!read_more()) return false;
  return true;
}

std::size_t RecourseStream::query() {
  (void)has(record_start.size() + most_digits);
  if (!rest().starts_with(record_start)) fail_as_unusual();
  const std::string_view digits = rest().substr(record_start.size());
  std::size_t result = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (code != std::errc() || end == digits.data() + digits.size() || *end != ',') fail_as_unusual();
  return result;
}

std::size_t RecourseStream::record_size() {
  std::size_t searched = 0;
  while (true) {
    const std::size_t found = rest().find(record_end, searched);
    if (found != std::string_view::npos) return found + record_end.size();
    searched = rest().size() - std::min(rest().size(), record_end.size());
    if (!read_more()) fail_as_unusual();
  }
}

bool RecourseStream::take(Block& block, std::size_t least) {
  block.text.clear();
  block.ends.clear();
  block.first = taken_;
  block.before = last_;
  while (!is_at_end_) {
    const std::size_t index = query();
    if (block.ends.size() >= least && index != last_) break;
    last_ = index;
    const std::size_t size = record_size();
    block.text += rest().substr(0, size);
    block.ends.push_back(block.text.size());
    at_ += size;
    (void)has(next_record.size());
    if (rest().starts_with(next_record)) {
      at_ += next_record.size() - 1;
    } else if (rest().starts_with(records_end)) {
      at_ += records_end.size();
      is_at_end_ = true;
    } else {
      fail_as_unusual();
    }
  }
  taken_ += block.ends.size();
  return !block.ends.empty();
}

std::vector<Json> RecourseStream::Block::records() const {
  std::vector<Json> result;
  result.reserve(ends.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    result.push_back(usual_json(std::string_view(text).substr(begin, end - begin)));
    begin = end;
  }
  return result;
}

Json RecourseStream::tail() {
  while (read_more())
    if (text_.size() > longest_head) fail_as_unusual();
  if (file_.bad()) fail_as_unusual();
  const std::size_t comma = rest().find_first_not_of(" \t\r\n");
  const bool has_more = comma != std::string_view::npos && rest()[comma] == ',';
  Json tail = usual_json('{' + std::string(rest().substr(has_more ? comma + 1 : 0)));
  if (has_more == tail.empty()) fail_as_unusual();
  for (const auto& [key, value] : tail.items())
    if (!audit::Hashes::is_at_the_end(key)) fail_as_unusual();
  return tail;
}

std::optional<FileAudit> audit_stream(RecourseStream& stream, const Model& model,
                                      const std::string& source, const AuditSources& sources,
                                      int threads) {
  struct Place {
    RecourseStream::Block block = {};
    RecourseAudit::Piece piece = {};
  };
  try {
    check_recourse_request(stream.head(), source, model, sources.members);
    RecourseAudit audit(stream.head(), true, model, source, sources);
    std::vector<Place> places(2 * static_cast<std::size_t>(thread_count(threads)));
    std::atomic<std::size_t> least = first_records;
    run_in_order(
        places.size(), threads,
        {.take = [&](std::size_t k) { return stream.take(places[k].block, least); },
         .work =
             [&](std::size_t k) {
               const ThreadStopwatch watch;
               const RecourseStream::Block& block = places[k].block;
               const std::vector<Json> records = block.records();
               std::vector<JsonObject> answers;
               answers.reserve(records.size());
               for (const Json& record : records)
                 answers.emplace_back(record, source,
                                      fmt::format("results[{}]", block.first + answers.size()));
               places[k].piece = audit.audit(answers, block.before);
               const double each = watch.seconds() / static_cast<double>(records.size());
               least = std::clamp(static_cast<std::size_t>(block_seconds / std::max(each, 1e-6)),
                                  std::size_t{1}, most_records);
             },
         .give =
             [&](std::size_t k) {
               // What answers change is asked by later ones to the same query alone.
               for (AnswerAudit& one : places[k].piece.answers)
                 one.changed = std::vector<std::string>();
               audit.add(std::move(places[k].piece));
             }});
    const Json tail = stream.tail();
    return audit.finish(&tail);
  } catch (const Error& error) {
    keep_stop(error);
    return std::nullopt;
  }
}

}  // namespace ellice::cli
