// What a connection sends: whole replies, streams, and the line of the log.

#include <boost/asio/write.hpp>

#include "call_text.hpp"
#include "ellice/core/json.hpp"
#include "session.hpp"

namespace ellice::serve {

namespace {

// What an answer to a request that was refused half-way waits for, so that its client reads it.
constexpr std::size_t most_drained = 64 * 1024 * 1024;
constexpr double drain_seconds = 2;

}  // namespace

void Session::send() {
  if (reply_.next) return send_stream();
  if (is_head_) {
    empty_.emplace(http::status(reply_.status), version());
    add_headers(*empty_);
    empty_->keep_alive(keep_alive_ && !hub_.draining);
    empty_->content_length(reply_.body.size());
    return write(*empty_);
  }
  text_.emplace(http::status(reply_.status), version());
  add_headers(*text_);
  text_->keep_alive(keep_alive_ && !hub_.draining);
  bytes_out_ = reply_.body.size();
  text_->body() = std::move(reply_.body);
  text_->prepare_payload();
  write(*text_);
}

void Session::add_headers(http::response_header<>& response) {
  response.set(http::field::content_type, reply_.type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  response.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  for (const auto& [name, value] : reply_.headers) response.set(name, value);
}

template <class Response>
void Session::write(Response& response) {
  wait(hub_.options.client_seconds);
  http::async_write(stream_, response,
                    [self = shared_from_this(), &response](error_code error, std::size_t) {
                      self->finish(error, response.need_eof());
                    });
}

void Session::finish(error_code error, bool ends) {
  stop_waiting();
  log();
  if (error) return close();
  if (!is_drained_) return drain();
  if (ends) return close();
  text_.reset();
  read_head();
}

void Session::drain() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  wait(drain_seconds);
  drain_more(0);
}

void Session::drain_more(std::size_t bytes) {
  if (bytes > most_drained) return close();
  stream_.async_read_some(asio::buffer(hub_.scratch),
                          [self = shared_from_this(), bytes](error_code error, std::size_t count) {
                            if (error) return self->close();
                            self->drain_more(bytes + count);
                          });
}

void Session::send_stream() {
  pieces_.emplace(http::status(reply_.status), version());
  add_headers(*pieces_);
  pieces_->keep_alive(keep_alive_ && !hub_.draining);
  pieces_->chunked(true);
  serializer_.emplace(*pieces_);
  wait(hub_.options.client_seconds);
  http::async_write_header(
      stream_, *serializer_,
      [self = shared_from_this()](error_code error, std::size_t) { self->next_piece(error); });
}

void Session::next_piece(error_code error) {
  stop_waiting();
  if (error) {
    log();
    return close();
  }
  begin_limit();
  hub_.queue.go_on([self = shared_from_this(), held = guard()]() mutable {
    self->compute(&Session::make_piece);
    self->hand_back(std::move(self), &Session::write_piece);
  });
}

void Session::make_piece() {
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

void Session::write_piece() {
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

unsigned Session::version() const {
  const unsigned asked = parser_->get().version();
  return asked == 10 ? 10 : 11;
}

void Session::log() {
  const std::string route = found_.route == nullptr ? "none" : std::string(found_.route->path);
  const double seconds = watch_.seconds();
  hub_.service.metrics().count_request(route, reply_.status, seconds, computed_);
  if (!hub_.hooks.log) return;
  Json line = {{"time", time_text()},
               {"method", method_text(call_.method)},
               {"route", route},
               {"status", reply_.status},
               {"seconds", seconds}};
  if (found_.route != nullptr && found_.route->is_queued()) line["queued"] = queued_;
  if (computed_) line["computed"] = *computed_;
  if (!reply_.model.empty()) line["model"] = reply_.model;
  line["bytes_in"] = bytes_in_;
  line["bytes_out"] = bytes_out_;
  if (!failure_.empty()) line["failure"] = failure_;
  failure_.clear();
  hub_.hooks.log(compact_text(line));
}

}  // namespace ellice::serve
