#pragma once

// One connection.

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "core/stopwatch.hpp"
#include "hub.hpp"

namespace ellice::serve {

namespace beast = boost::beast;
namespace http = beast::http;

/// One connection: a request is read, answered, and then the next one. Reading and computing are in
/// session.cpp, sending in session_replies.cpp.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Hub& hub, tcp::socket socket);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  void read_head();
  /// Between requests, and so to be closed without loss.
  [[nodiscard]] bool is_idle() const { return is_idle_; }
  /// The work of this session, if any, is to end.
  void stop_work() { stops_ = true; }
  void close();

 private:
  using Text = http::response<http::string_body>;
  using Empty = http::response<http::empty_body>;
  /// Keeps the context running while a thread of the queue has the session.
  using Guard = asio::executor_work_guard<asio::io_context::executor_type>;

  // The client is waited for, for so long, and may be the one who has to go.
  void wait(double seconds);
  void stop_waiting();

  /// Takes room for a body of which the length is stated, or for the largest. Where there is none,
  /// whoever has been sending one for longest must go. Throws Refusal{503}.
  void reserve();
  void release();

  void on_head(error_code error);
  /// Everything that is known before the body. Throws Refusal.
  void check_head(const http::request_header<>& head);
  void read_body();
  void on_unreadable(error_code error);
  /// The reply to the exception in flight.
  void refuse();
  void dispatch();

  [[nodiscard]] Guard guard();
  void begin_limit();
  void answer();
  /// A client of HTTP/1.0 knows no pieces.
  void collect();
  /// In a thread of the queue: does the work, which looks at this session's stop.
  void compute(void (Session::*work)());
  /// Back to the thread of connections, which then has the session alone.
  void hand_back(std::shared_ptr<Session> self, void (Session::*then)());

  void send();
  void add_headers(http::response_header<>& response);
  template <class Response>
  void write(Response& response);
  void finish(error_code error, bool ends);
  /// Lets a client that is still sending read what it was answered.
  void drain();
  void drain_more(std::size_t bytes);

  // A stream: pieces are computed while nothing is being written, and written while no thread
  // works for them, so that who reads slowly keeps nobody waiting.
  void send_stream();
  void next_piece(error_code error);
  void make_piece();
  void write_piece();

  [[nodiscard]] unsigned version() const;
  void log();

  Hub& hub_;
  beast::tcp_stream stream_;
  asio::steady_timer limit_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<Text> text_;
  std::optional<Empty> empty_;
  std::optional<Empty> pieces_;
  std::optional<http::response_serializer<http::empty_body>> serializer_;
  std::list<Session*>::iterator place_;
  std::list<Session*>::iterator waits_;
  FoundRoute found_;
  Call call_;
  Reply reply_;
  std::string allowed_;
  std::string failure_;
  std::string piece_;
  Stopwatch watch_;
  double queued_ = 0;
  std::optional<double> computed_;  // processor time of threads of the queue
  double reserved_ = 0;             // bytes of the body
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
