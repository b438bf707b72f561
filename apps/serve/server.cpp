#include "server.hpp"

#include <sys/resource.h>

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
#include <ctime>
#include <list>
#include <thread>

#include "call_text.hpp"
#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "work_queue.hpp"

namespace ellice::serve {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint32_t most_head = 16 * 1024;
// What an answer to a request that was refused half-way waits for, so that its client reads it.
constexpr std::size_t most_drained = 64 * 1024 * 1024;
constexpr auto drain_time = std::chrono::seconds(2);

std::chrono::nanoseconds duration(double seconds) {
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
  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::signal_set hangup;
  asio::steady_timer grace;
  asio::steady_timer again;
  std::string token;
  bool checks_host = false;  // no token: only pages of this machine may ask
  std::list<Session*> sessions;
  /// Those that wait for their client, who began first in front.
  std::list<Session*> waiting;
  std::atomic<std::size_t> open = 0;
  std::atomic<bool> draining = false;
  std::atomic<bool> ends_now = false;
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
    hub_.sessions.erase(place_);
    --hub_.open;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  void read_head() {
    if (hub_.draining) return close();
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

  void close() {
    stop_waiting();
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
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       self->stop_waiting();
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
    if (found_.route->computes()) {
      check_type(std::string(head[http::field::content_type]));
      if (!parser_->content_length() && !parser_->chunked())
        throw Refusal(400, "the body is missing", "body");
    }
  }

  /// The reply to the exception in flight.
  void refuse() {
    reply_ = reply_of_exception(failure_);
    if (reply_.status == 405) reply_.headers.emplace_back("Allow", allowed_);
    if (reply_.status == 401)
      reply_.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"ellice\"");
    if (!is_drained_) keep_alive_ = false;
    send();
  }

  void dispatch() {
    call_.body = std::move(parser_->get().body());
    bytes_in_ = call_.body.size();
    if (!found_.route->computes()) {
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
    if (reply_.next) {
      if (version() >= 11 && !is_head_) return send_stream();
      collect();
    }
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
    try {
      const NextPiece next = std::move(reply_.next);
      reply_.next = {};
      for (std::string piece; next(piece); piece.clear()) reply_.body += piece;
    } catch (...) {
      reply_ = reply_of_exception(failure_);
    }
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
    if (found_.route != nullptr && found_.route->computes()) line["queued"] = queued_;
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

 public:
  /// The work of this session, if any, is to end.
  void stop_work() { stops_ = true; }
};

void say(const Hub& hub, std::string_view event, Json facts = Json::object()) {
  if (!hub.hooks.log) return;
  Json line = {{"time", time_text()}, {"event", event}};
  line.update(facts);
  hub.hooks.log(compact_text(line));
}

void accept(Hub& hub) {
  hub.acceptor.async_accept([&hub](error_code error, tcp::socket socket) {
    if (!hub.acceptor.is_open()) return;
    if (error) {  // no descriptors: somebody who only waits must go
      if (!hub.waiting.empty()) hub.waiting.front()->close();
      hub.again.expires_after(std::chrono::milliseconds(20));
      hub.again.async_wait([&hub](error_code stopped) {
        if (!stopped) accept(hub);
      });
      return;
    }
    if (hub.open >= static_cast<std::size_t>(hub.options.connections)) {
      if (hub.waiting.empty()) {  // all are being answered
        socket.close(error);
        return accept(hub);
      }
      hub.waiting.front()->close();
    }
    socket.set_option(tcp::no_delay(true), error);
    std::make_shared<Session>(hub, std::move(socket))->read_head();
    accept(hub);
  });
}

void end_now(Hub& hub) {
  hub.ends_now = true;
  for (Session* const session : hub.sessions) session->stop_work();
  hub.context.stop();
}

void drain(Hub& hub) {
  hub.draining = true;
  say(hub, "draining", {{"connections", hub.open.load()}});
  error_code ignored;
  hub.acceptor.close(ignored);
  hub.again.cancel();
  hub.hangup.cancel();
  // Closing one may destroy it.
  const std::vector<Session*> sessions(hub.sessions.begin(), hub.sessions.end());
  for (Session* const session : sessions)
    if (session->is_idle()) session->close();
  hub.grace.expires_after(duration(hub.options.grace_seconds));
  hub.grace.async_wait([&hub](error_code error) {
    if (!error) end_now(hub);
  });
}

/// Ends the wait for signals once everything else has ended.
void watch_for_last(Hub& hub) {
  hub.again.expires_after(std::chrono::milliseconds(20));
  hub.again.async_wait([&hub](error_code) {
    if (hub.open == 0) {
      hub.signals.cancel();
      hub.grace.cancel();
      return;
    }
    watch_for_last(hub);
  });
}

void listen_for_end(Hub& hub) {
  hub.signals.async_wait([&hub](error_code error, int /*signal*/) {
    if (error) return;
    if (hub.draining) return end_now(hub);
    drain(hub);
    watch_for_last(hub);
    listen_for_end(hub);
  });
}

void begin_reload(Hub& hub);

void end_reload(Hub& hub, std::shared_ptr<const ServedModels> models, std::string token,
                const std::string& failure) {
  hub.is_reloading = false;
  hub.service.metrics().count_reload(models != nullptr);
  if (models != nullptr) {
    hub.service.replace(std::move(models));
    hub.token = std::move(token);
    say(hub, "reloaded");
  } else {
    say(hub, "reload failed", {{"message", failure}});
  }
  if (std::exchange(hub.reload_again, false)) begin_reload(hub);
}

/// In a thread of its own, since models may take long to read.
void begin_reload(Hub& hub) {
  if (hub.is_reloading) {
    hub.reload_again = true;
    return;
  }
  hub.is_reloading = true;
  hub.reloading = std::jthread([&hub, guard = asio::make_work_guard(hub.context)] {
    std::shared_ptr<const ServedModels> models;
    std::string token;
    std::string failure;
    try {
      token = hub.hooks.token ? hub.hooks.token() : "";
      models = hub.hooks.reload();
    } catch (const std::exception& error) {
      models = nullptr;
      failure = error.what();
    }
    asio::post(hub.context,
               [&hub, models = std::move(models), token = std::move(token), failure]() mutable {
                 end_reload(hub, std::move(models), std::move(token), failure);
               });
  });
}

void listen_for_reload(Hub& hub) {
  hub.hangup.async_wait([&hub](error_code error, int /*signal*/) {
    if (error) return;
    begin_reload(hub);
    listen_for_reload(hub);
  });
}

/// As many descriptors as the system allows, and no more connections than that.
void raise_descriptors(ServerOptions& options) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t ours = 64;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > ours)
    options.connections = static_cast<int>(
        std::min<rlim_t>(static_cast<rlim_t>(options.connections), limit.rlim_cur - ours));
}

asio::ip::address parse_address(const std::string& text) {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(text, error);
  require(!error, "--host: found \"{}\", expected an address such as 127.0.0.1, 0.0.0.0 or ::1",
          text);
  return address;
}

std::string bind(Hub& hub) {
  const tcp::endpoint wanted(parse_address(hub.options.host),
                             static_cast<std::uint16_t>(hub.options.port));
  error_code error;
  hub.acceptor.open(wanted.protocol(), error);
  if (!error) hub.acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) hub.acceptor.bind(wanted, error);
  if (!error) hub.acceptor.listen(asio::socket_base::max_listen_connections, error);
  require(!error, "cannot listen on {} port {}: {}", hub.options.host, hub.options.port,
          error.message());
  const tcp::endpoint bound = hub.acceptor.local_endpoint();
  const std::string host = bound.address().to_string();
  return fmt::format("http://{}:{}/", bound.address().is_v6() ? "[" + host + "]" : host,
                     bound.port());
}

}  // namespace

bool is_loopback(const std::string& address) {
  return parse_address(address).is_loopback();
}

void run_server(Service& service, const ServerOptions& given, int threads,
                const ServerHooks& hooks) {
  ServerOptions options = given;
  raise_descriptors(options);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);

  Hub hub(service, options, threads, hooks);
  hub.token = hooks.token ? hooks.token() : "";
  hub.checks_host = hub.token.empty();
  service.set_surroundings({.gauges =
                                [&hub] {
                                  return Gauges{.connections = hub.open,
                                                .queue_waiting = hub.queue.waiting(),
                                                .queue_running = hub.queue.running(),
                                                .queue_capacity = hub.queue.capacity(),
                                                .draining = hub.draining};
                                },
                            .idle_threads = [&hub] { return hub.queue.idle(); }});
  const std::string address = bind(hub);
  listen_for_end(hub);
  listen_for_reload(hub);
  accept(hub);
  if (hooks.listening) hooks.listening(address);
  say(hub, "listening", {{"address", address}, {"version", ellice::version().number}});
  hub.context.run();
  service.set_surroundings({});
  say(hub, hub.ends_now ? "ended with work unfinished" : "ended");
}

}  // namespace ellice::serve
