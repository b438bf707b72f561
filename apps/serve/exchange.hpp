#pragma once

// What goes in and out of the service, without any network: routes read a Call and give a Reply.

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ellice::serve {

/// A request of HTTP, as routes see it.
struct Call {
  std::string method = {};                        // GET for HEAD, too
  std::string path = {};                          // without the query, percent escapes undone
  std::map<std::string, std::string> query = {};  // of the URL, percent escapes undone
  std::string accept = {};
  std::string body = {};
};

/// The next piece of a streamed answer; false after the last one.
using NextPiece = std::function<bool(std::string& piece)>;

/// An answer of HTTP. Its facts are for the log and the counters, and say nothing of anybody.
struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  NextPiece next = {};                                            // in place of a body
  std::vector<std::pair<std::string, std::string>> headers = {};  // beyond those of every reply
  std::string model = {};                                         // by name, where one was asked
};

/// What was asked cannot be answered: a status, a sentence and the place that it is about.
class Refusal : public std::runtime_error {
 public:
  Refusal(int status, const std::string& message, std::string where = {})
      : std::runtime_error(message), status_(status), where_(std::move(where)) {}
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  int status_;
  std::string where_;
};

/// {"error": {"message", "where"}} with the status.
[[nodiscard]] Reply error_reply(int status, std::string_view message, std::string_view where = {});

/// The reply to the exception in flight: a Refusal as it says, bad input 422, a stop 503, and for
/// anything else 500 with nothing of what happened inside; `failure` then receives that, for the
/// log.
[[nodiscard]] Reply reply_of_exception(std::string& failure);

}  // namespace ellice::serve
