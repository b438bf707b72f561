#pragma once

// One connection, and what all of them share. Included by server.cpp alone: this is where Boost is.

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "call_text.hpp"
#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/json.hpp"
#include "server.hpp"
#include "work_queue.hpp"

namespace ellice::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

inline constexpr std::uint32_t most_head = 16 * 1024;
// What an answer to a request that was refused half-way waits for, so that its client reads it.
// So many of the largest bodies may be in memory at a time.
inline constexpr double most_bodies = 32;
inline constexpr std::size_t most_drained = 64 * 1024 * 1024;
inline constexpr auto drain_time = std::chrono::seconds(2);

inline std::chrono::nanoseconds duration(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

class Session;

/// What all connections share. Everything but the queue's threads runs in one thread.
struct Hub {
  Hub(Service& own_service, const ServerOptions& own_options, int threads,
      const ServerHooks& own_hooks)
      : service(own_service),
        options(own_options),
        hooks(own_hooks),
        acceptor(context),
        signals(context, SIGTERM, SIGINT),
        hangup(context, SIGHUP),
        grace(context),
        again(context),
        queue(threads, static_cast<std::size_t>(own_options.queue)) {}

  Service& service;
  const ServerOptions& options;
  const ServerHooks& hooks;
  // Before the context: handlers that it still holds when it ends hold sessions, which leave these.
  std::list<Session*> sessions;
  /// Those that wait for their client, who began first in front.
  std::list<Session*> waiting;
  std::atomic<std::size_t> open = 0;
  std::atomic<bool> draining = false;
  std::atomic<bool> ends_now = false;
  double reserved = 0;  // bytes of bodies that are read, wait or are being answered
  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::signal_set hangup;
  asio::steady_timer grace;
  asio::steady_timer again;
  std::string token;
  bool checks_host = false;  // no token: only pages of this machine may ask
  std::jthread reloading;
  bool is_reloading = false;
  bool reload_again = false;
  WorkQueue queue;  // last: its threads end before what they use
};

/// One connection: a request is read, answered, and then the next one.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Hub& hub, tcp::socket socket)
      : hub_(hub), stream_(std::move(socket)), limit_(hub.context) {
    place_ = hub_.sessions.insert(hub_.sessions.end(), this);
    ++hub_.open;
  }
  ~Session() {
    stop_waiting();
    release();
    hub_.sessions.erase(place_);
    --hub_.open;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  void read_head() {
    if (hub_.draining) return close();
    release();
    parser_.emplace();
    parser_->header_limit(most_head);
    parser_->body_limit(static_cast<std::uint64_t>(hub_.options.body_limit * 1e6));
    found_ = {};
    call_ = {};
    reply_ = {};
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

  /// Between requests, and so to be closed without loss.
  [[nodiscard]] bool is_idle() const { return is_idle_; }

  /// The work of this session, if any, is to end.
  void stop_work() { stops_ = true; }

  void close() {
    stop_waiting();
    release();
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

 private:
  using Text = http::response<http::string_body>;

  void wait(double seconds) {
    stop_waiting();
    waits_ = hub_.waiting.insert(hub_.waiting.end(), this);
    is_waiting_ = true;
    stream_.expires_after(duration(seconds));
  }
  void stop_waiting() {
    if (is_waiting_) hub_.waiting.erase(waits_);
    is_waiting_ = false;
  }

  /// Takes room for a body of which the length is stated, or for the largest. Where there is none,
  /// whoever has been sending one for longest must go. Throws Refusal{503}.
  void reserve() {
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
  void release() {
    hub_.reserved -= reserved_;
    reserved_ = 0;
    is_sending_body_ = false;
  }

  void on_head(error_code error) {
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
      asio::async_write(stream_, asio::buffer(continue_text_),
                        [self = shared_from_this()](error_code failed, std::size_t) {
                          if (failed) return self->close();
                          self->read_body();
                        });
      return;
    }
    read_body();
  }

  void read_body() {
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

  void on_unreadable(error_code error) {
    int status = 400;
    std::string message = "this is no HTTP request: " + error.message();
    if (error == http::error::header_limit) {
      status = 431;
      message = fmt::format("the head is larger than {} bytes", most_head);
    } else if (error == http::error::body_limit) {
      status = 413;
      message = fmt::format("the body is larger than {} MB", hub_.options.body_limit);
    } else if (error == http::error::end_of_stream || error == beast::error::timeout ||
               error.category() != make_error_code(http::error::bad_method).category()) {
      return close();
    }
    keep_alive_ = false;
    is_drained_ = false;
    reply_ = error_reply(status, message, status == 413 ? "body" : "head");
    send();
  }

  /// Everything that is known before the body. Throws Refusal.
  void check_head(const http::request_header<>& head) {
    const Target target = read_target({head.target().data(), head.target().size()});
    call_.path = target.path;
    call_.query = target.query;
    call_.method = is_head_ ? "GET" : std::string(head.method_string());
    call_.accept = std::string(head[http::field::accept]);
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

  /// The reply to the exception in flight.
  void refuse() {
    reply_ = reply_of_exception(failure_);
    if (reply_.status == 405) reply_.headers.emplace_back("Allow", allowed_);
    if (reply_.status == 503) reply_.headers.emplace_back("Retry-After", "1");
    if (reply_.status == 401)
      reply_.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"ellice\"");
    if (!is_drained_) keep_alive_ = false;
    send();
  }

  void dispatch() {
    call_.body = std::move(parser_->get().body());
    bytes_in_ = call_.body.size();
    if (!found_.route->is_queued()) {
      answer();
      return send();
    }
    const bool is_taken = hub_.queue.offer([self = shared_from_this(), guard = work()]() mutable {
      self->compute([&] { self->answer(); });
      self->hand_back(std::move(self), &Session::send);
    });
    if (is_taken) return begin_limit();
    reply_ = error_reply(503, "too many requests wait already; come again in a second");
    reply_.headers.emplace_back("Retry-After", "1");
    send();
  }

  [[nodiscard]] asio::executor_work_guard<asio::io_context::executor_type> work() {
    return asio::make_work_guard(hub_.context);
  }

  void answer() {
    try {
      reply_ = hub_.service.answer(found_, call_);
      if (reply_.next && (version() < 11 || is_head_)) collect();
    } catch (...) {
      reply_ = reply_of_exception(failure_);
    }
  }

  /// In a thread of the queue: does the work, which looks at this session's stop.
  template <class Work>
  void compute(const Work& work) {
    queued_ = watch_.seconds();
    const StopScope scope(&stops_);
    work();
  }

  /// Back to the thread of connections, which then has the session alone.
  void hand_back(std::shared_ptr<Session> self, void (Session::*then)()) {
    asio::post(hub_.context, [self = std::move(self), then] {
      self->limit_.cancel();
      ((*self).*then)();
    });
  }

  void begin_limit() {
    stream_.expires_never();
    stops_ = hub_.ends_now.load();
    limit_.expires_after(duration(hub_.options.request_seconds));
    limit_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->stops_ = true;
    });
  }

  template <class Response>
  void add_headers(Response& response) {
    response.set(http::field::content_type, reply_.type);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Referrer-Policy", "no-referrer");
    response.set("Cross-Origin-Resource-Policy", "same-origin");
    response.set("Cross-Origin-Opener-Policy", "same-origin");
    response.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    for (const auto& [name, value] : reply_.headers) response.set(name, value);
    response.keep_alive(keep_alive_ && !hub_.draining);
  }

  void send() {
    if (reply_.next) return send_stream();
    if (is_head_) {
      empty_.emplace(http::status(reply_.status), version());
      add_headers(*empty_);
      empty_->content_length(reply_.body.size());
      return write(*empty_);
    }
    text_.emplace(http::status(reply_.status), version());
    add_headers(*text_);
    bytes_out_ = reply_.body.size();
    text_->body() = std::move(reply_.body);
    text_->prepare_payload();
    write(*text_);
  }

  /// A client of HTTP/1.0 knows no pieces.
  void collect() {
    const NextPiece next = std::exchange(reply_.next, {});
    for (std::string piece; next(piece); piece.clear()) reply_.body += piece;
  }

  template <class Response>
  void write(Response& response) {
    wait(hub_.options.client_seconds);
    http::async_write(stream_, response,
                      [self = shared_from_this(), &response](error_code error, std::size_t) {
                        self->finish(error, response.need_eof());
                      });
  }

  void finish(error_code error, bool ends) {
    stop_waiting();
    log();
    if (error) return close();
    if (!is_drained_) return drain();
    if (ends) return close();
    text_.reset();
    read_head();
  }

  /// Lets a client that is still sending read what it was answered.
  void drain() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    wait(1);
    stream_.expires_after(drain_time);
    drain_more(0);
  }
  void drain_more(std::size_t bytes) {
    if (bytes > most_drained) return close();
    scratch_.resize(65536);
    stream_.async_read_some(asio::buffer(scratch_), [self = shared_from_this(), bytes](
                                                        error_code error, std::size_t count) {
      if (error) return self->close();
      self->drain_more(bytes + count);
    });
  }

  // A stream: pieces are computed while nothing is being written, and written while no thread
  // works for them, so that who reads slowly keeps nobody waiting.

  void send_stream() {
    pieces_.emplace(http::status(reply_.status), version());
    add_headers(*pieces_);
    pieces_->chunked(true);
    serializer_.emplace(*pieces_);
    wait(hub_.options.client_seconds);
    http::async_write_header(
        stream_, *serializer_,
        [self = shared_from_this()](error_code error, std::size_t) { self->next_piece(error); });
  }

  void next_piece(error_code error) {
    stop_waiting();
    if (error) {
      log();
      return close();
    }
    begin_limit();
    hub_.queue.go_on([self = shared_from_this(), guard = work()]() mutable {
      self->compute([&] { self->make_piece(); });
      self->hand_back(std::move(self), &Session::write_piece);
    });
  }

  void make_piece() {
    piece_.clear();
    has_failed_ = false;
    try {
      has_piece_ = reply_.next(piece_);
    } catch (...) {
      // The status is sent: what is left is to break off, and a last line that says so.
      const Reply failed = reply_of_exception(failure_);
      piece_ = compact_text(parse_json(failed.body, "reply")) + '\n';
      has_piece_ = true;
      has_failed_ = true;
    }
  }

  void write_piece() {
    wait(hub_.options.client_seconds);
    if (!has_piece_) {
      asio::async_write(stream_, http::make_chunk_last(),
                        [self = shared_from_this()](error_code error, std::size_t) {
                          self->finish(error, self->pieces_->need_eof());
                        });
      return;
    }
    bytes_out_ += piece_.size();
    asio::async_write(stream_, http::make_chunk(asio::buffer(piece_)),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!self->has_failed_) return self->next_piece(error);
                        self->stop_waiting();
                        self->log();
                        self->close();  // without the last chunk: the answer is not whole
                      });
  }

  [[nodiscard]] unsigned version() const {
    const unsigned asked = parser_->get().version();
    return asked == 10 ? 10 : 11;
  }

  void log() {
    const std::string route = found_.route == nullptr ? "none" : std::string(found_.route->path);
    const double seconds = watch_.seconds();
    hub_.service.metrics().count_request(route, reply_.status, seconds);
    if (!hub_.hooks.log) return;
    Json line = {{"time", time_text()},
                 {"method", method_text(call_.method)},
                 {"route", route},
                 {"status", reply_.status},
                 {"seconds", seconds}};
    if (found_.route != nullptr && found_.route->is_queued()) line["queued"] = queued_;
    if (!reply_.model.empty()) line["model"] = reply_.model;
    line["bytes_in"] = bytes_in_;
    line["bytes_out"] = bytes_out_;
    if (!failure_.empty()) line["failure"] = failure_;
    failure_.clear();
    hub_.hooks.log(compact_text(line));
  }

  static constexpr std::string_view continue_text_ = "HTTP/1.1 100 Continue\r\n\r\n";

  Hub& hub_;
  beast::tcp_stream stream_;
  asio::steady_timer limit_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<Text> text_;
  std::optional<http::response<http::empty_body>> empty_;
  std::optional<http::response<http::empty_body>> pieces_;
  std::optional<http::response_serializer<http::empty_body>> serializer_;
  std::list<Session*>::iterator place_;
  std::list<Session*>::iterator waits_;
  FoundRoute found_;
  Call call_;
  Reply reply_;
  std::string allowed_;
  std::string failure_;
  std::string piece_;
  std::string scratch_;
  Stopwatch watch_;
  double queued_ = 0;
  double reserved_ = 0;  // bytes of the body
  bool is_sending_body_ = false;
  std::size_t bytes_in_ = 0;
  std::size_t bytes_out_ = 0;
  std::atomic<bool> stops_ = false;
  bool is_first_ = true;
  bool is_idle_ = true;
  bool is_waiting_ = false;
  bool is_head_ = false;
  bool keep_alive_ = false;
  bool is_drained_ = true;  // whether all that the client sends was read
  bool has_piece_ = false;
  bool has_failed_ = false;
};

}  // namespace ellice::serve
