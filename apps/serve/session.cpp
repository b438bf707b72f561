#include "session.hpp"

#include <time.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "call_text.hpp"
#include "core/stop.hpp"

namespace ellice::serve {

namespace {

constexpr std::uint32_t most_head = 16 * 1024;
// So many of the largest bodies may be in memory at a time.
constexpr double most_bodies = 32;
constexpr std::string_view continue_text = "HTTP/1.1 100 Continue\r\n\r\n";

/// Processor time of the thread that asks.
double thread_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

Session::Session(Hub& hub, tcp::socket socket)
    : hub_(hub), stream_(std::move(socket)), limit_(hub.context) {
  place_ = hub_.sessions.insert(hub_.sessions.end(), this);
  ++hub_.open;
}

Session::~Session() {
  stop_waiting();
  release();
  hub_.sessions.erase(place_);
  --hub_.open;
}

void Session::read_head() {
  if (hub_.draining) return close();
  release();
  parser_.emplace();
  parser_->header_limit(most_head);
  parser_->body_limit(static_cast<std::uint64_t>(hub_.options.body_limit * 1e6));
  found_ = {};
  call_ = {};
  reply_ = {};
  computed_ = {};
  bytes_out_ = 0;
  is_idle_ = true;
  is_head_ = false;
  keep_alive_ = false;
  is_drained_ = true;
  wait(is_first_ ? hub_.options.client_seconds : hub_.options.idle_seconds);
  is_first_ = false;
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](error_code error, std::size_t) { self->on_head(error); });
}

void Session::close() {
  stop_waiting();
  release();
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
}

void Session::wait(double seconds) {
  stop_waiting();
  waits_ = hub_.waiting.insert(hub_.waiting.end(), this);
  is_waiting_ = true;
  stream_.expires_after(duration(seconds));
}

void Session::stop_waiting() {
  if (is_waiting_) hub_.waiting.erase(waits_);
  is_waiting_ = false;
}

void Session::reserve() {
  const double largest = 1e6 * hub_.options.body_limit;
  const auto stated = parser_->content_length();
  const double bytes = stated ? static_cast<double>(*stated) : largest;
  if (bytes > largest) return;  // refused where it is read
  while (hub_.reserved + bytes > most_bodies * largest) {
    const auto oldest =
        std::find_if(hub_.waiting.begin(), hub_.waiting.end(),
                     [](const Session* session) { return session->is_sending_body_; });
    if (oldest == hub_.waiting.end())
      throw Refusal(503, "too many large requests wait already; come again in a second", "body");
    (*oldest)->close();
  }
  hub_.reserved += bytes;
  reserved_ = bytes;
}

void Session::release() {
  hub_.reserved -= reserved_;
  reserved_ = 0;
  is_sending_body_ = false;
}

void Session::on_head(error_code error) {
  stop_waiting();
  is_idle_ = false;
  watch_ = Stopwatch();
  if (error) return on_unreadable(error);
  const auto& head = parser_->get();
  is_head_ = head.method() == http::verb::head;
  keep_alive_ = head.keep_alive();
  is_drained_ = parser_->is_done() || (!parser_->content_length() && !parser_->chunked());
  try {
    check_head(head);
    if (!is_drained_) reserve();
  } catch (...) {
    refuse();
    return;
  }
  if (is_drained_ || parser_->is_done()) return dispatch();
  if (head[http::field::expect] == "100-continue") {
    wait(hub_.options.client_seconds);
    asio::async_write(stream_, asio::buffer(continue_text),
                      [self = shared_from_this()](error_code failed, std::size_t) {
                        if (failed) return self->close();
                        self->read_body();
                      });
    return;
  }
  read_body();
}

void Session::check_head(const http::request_header<>& head) {
  const Target target = read_target({head.target().data(), head.target().size()});
  call_.path = target.path;
  call_.query = target.query;
  call_.method = is_head_ ? "GET" : std::string(head.method_string());
  call_.accept = std::string(head[http::field::accept]);
  // Of two, a proxy before this service may have believed the other.
  for (const http::field one : {http::field::host, http::field::authorization}) {
    if (head.count(one) > 1)
      throw Refusal(400, "the header stands twice", std::string(http::to_string(one)));
  }
  if (hub_.checks_host)
    check_origin(std::string(head[http::field::host]), std::string(head[http::field::origin]),
                 std::string(head["Sec-Fetch-Site"]));
  found_ = find_route(call_.method, call_.path, allowed_);
  if (!hub_.token.empty() && !found_.route->is_open)
    check_token(std::string(head[http::field::authorization]), hub_.token);
  if (found_.route->has_body()) {
    check_type(std::string(head[http::field::content_type]));
    if (!parser_->content_length() && !parser_->chunked())
      throw Refusal(400, "the body is missing", "body");
  }
}

void Session::read_body() {
  wait(hub_.options.client_seconds);
  is_sending_body_ = true;
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](error_code error, std::size_t) {
                     self->stop_waiting();
                     self->is_sending_body_ = false;
                     if (error) return self->on_unreadable(error);
                     self->is_drained_ = true;
                     self->dispatch();
                   });
}

void Session::on_unreadable(error_code error) {
  int status = 400;
  std::string message = "this is no HTTP request: " + error.message();
  if (error == http::error::header_limit) {
    status = 431;
    message = fmt::format("the head is larger than {} bytes", most_head);
  } else if (error == http::error::body_limit) {
    status = 413;
    message = fmt::format("the body is larger than {} MB", hub_.options.body_limit);
  } else if (error == http::error::end_of_stream || error == http::error::partial_message ||
             error == beast::error::timeout ||
             error.category() != make_error_code(http::error::bad_method).category()) {
    return close();
  }
  keep_alive_ = false;
  is_drained_ = false;
  reply_ = error_reply(status, message, status == 413 ? "body" : "head");
  send();
}

void Session::refuse() {
  reply_ = reply_of_exception(failure_);
  if (reply_.status == 405) reply_.headers.emplace_back("Allow", allowed_);
  if (reply_.status == 503) reply_.headers.emplace_back("Retry-After", "1");
  if (reply_.status == 401)
    reply_.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"ellice\"");
  if (!is_drained_) keep_alive_ = false;
  send();
}

void Session::dispatch() {
  call_.body = std::move(parser_->get().body());
  bytes_in_ = call_.body.size();
  if (!found_.route->is_queued()) {
    answer();
    return send();
  }
  const bool is_taken = hub_.queue.offer([self = shared_from_this(), held = guard()]() mutable {
    self->compute(&Session::answer);
    self->hand_back(std::move(self), &Session::send);
  });
  if (is_taken) return begin_limit();
  reply_ = error_reply(503, "too many requests wait already; come again in a second");
  reply_.headers.emplace_back("Retry-After", "1");
  send();
}

Session::Guard Session::guard() {
  return asio::make_work_guard(hub_.context);
}

void Session::begin_limit() {
  stream_.expires_never();
  stops_ = hub_.ends_now.load();
  limit_.expires_after(duration(hub_.options.request_seconds));
  limit_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->stops_ = true;
  });
}

void Session::answer() {
  try {
    reply_ = hub_.service.answer(found_, call_);
    if (reply_.next && (version() < 11 || is_head_)) collect();
  } catch (...) {
    reply_ = reply_of_exception(failure_);
  }
}

void Session::collect() {
  const NextPiece next = std::exchange(reply_.next, {});
  for (std::string piece; next(piece); piece.clear()) reply_.body += piece;
}

void Session::compute(void (Session::*work)()) {
  queued_ = watch_.seconds();
  const double before = thread_seconds();
  const StopScope scope(&stops_);
  (this->*work)();
  computed_ = computed_.value_or(0) + thread_seconds() - before;
}

void Session::hand_back(std::shared_ptr<Session> self, void (Session::*then)()) {
  asio::post(hub_.context, [self = std::move(self), then] {
    self->limit_.cancel();
    ((*self).*then)();
  });
}

}  // namespace ellice::serve
