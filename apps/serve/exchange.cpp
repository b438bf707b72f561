#include "exchange.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice::serve {

namespace {

struct Placed {
  std::string where = {};
  std::string message = {};
};

/// The place before the first «: » of a text, which must be a word; the rest is the message.
Placed split_place(const std::string& text) {
  const std::size_t end = text.find(": ");
  const bool is_place = end != std::string::npos && end > 0 && text.find(' ') > end;
  if (!is_place) return {.message = text};
  return {.where = text.substr(0, end), .message = text.substr(end + 2)};
}

/// Messages of the library begin with where they are about: «request: options.lock: found …»,
/// «people: row 3: column …», where rows are counted from 0.
Placed placed(const std::string& text) {
  constexpr std::string_view request = "request: ";
  if (text.starts_with(request)) return split_place(text.substr(request.size()));
  constexpr std::string_view people = "people: row ";
  if (text.starts_with(people)) {
    const std::size_t end = text.find(": ", people.size());
    if (end != std::string::npos)
      return {.where = fmt::format("people[{}]", text.substr(people.size(), end - people.size())),
              .message = text.substr(end + 2)};
  }
  return split_place(text).where == "people" ? split_place(text) : Placed{.message = text};
}

}  // namespace

Reply error_reply(int status, std::string_view message, std::string_view where) {
  Json error = {{"message", visible(message)}, {"where", visible(where)}};
  return {.status = status, .body = to_text(Json{{"error", std::move(error)}})};
}

Reply reply_of_exception(std::string& failure) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return error_reply(refusal.status(), refusal.what(), refusal.where());
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::argument:
      case ErrorCode::input: {
        const Placed found = placed(error.what());
        return error_reply(422, found.message, found.where);
      }
      case ErrorCode::cancelled:
        return error_reply(503, "this took longer than a request may; ask for less at once");
      case ErrorCode::output:
      case ErrorCode::internal:
        break;
    }
    failure = error.what();
  } catch (const std::bad_alloc&) {
    return error_reply(503, "out of memory; ask for less at once");
  } catch (const std::exception& error) {
    failure = error.what();
  }
  return error_reply(500, "internal failure; the service's log has it");
}

}  // namespace ellice::serve
