#pragma once

// The network: one thread reads and writes all connections, others compute (docs/decisions,
// service). Only server.cpp and the sessions include Boost.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "ellice/core/fields.hpp"
#include "service.hpp"

namespace ellice::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;
  int queue = 256;
  int connections = 10000;
  double body_limit = 16;
  double request_seconds = 60;
  double client_seconds = 15;
  double idle_seconds = 60;
  double grace_seconds = 30;

  static void fields(auto& self, auto&& visit) {
    visit("host", self.host, any_value(),
          "address to listen on; any but a loopback one needs --token-file");
    visit("port", self.port, between(0, 65535), "port to listen on; 0 is any that is free");
    visit("queue", self.queue, between(0, 1e6),
          "requests that may wait to be computed; those beyond are answered 503 at once");
    visit("connections", self.connections, between(1, 1e6),
          "open connections; beyond, the one that keeps the service waiting longest is closed");
    visit("body_limit", self.body_limit, between(0.001, 1024), "MB that a body may have");
    visit("request_seconds", self.request_seconds, between(0.001, 86400),
          "seconds that a request, or 64 people of a stream, may be computed");
    visit("client_seconds", self.client_seconds, between(0.01, 3600),
          "seconds in which a client must have sent a head, or a body, or taken an answer or 64 "
          "people of a stream");
    visit("idle_seconds", self.idle_seconds, between(0.01, 3600),
          "seconds that a connection may stay open between requests");
    visit("grace_seconds", self.grace_seconds, between(0, 3600),
          "seconds that work may go on after SIGTERM or Ctrl-C");
  }
};

/// What the server asks of its owner.
struct ServerHooks {
  /// Told the address once connections are taken.
  std::function<void(const std::string& address)> listening = {};
  /// Makes the models anew, in a thread of its own; throws where that cannot be.
  std::function<std::shared_ptr<const ServedModels>()> reload = {};
  /// Of the token, on a reload, too; empty: none is needed. Throws where it cannot be read.
  std::function<std::string()> token = {};
  /// A line of the log, without its end.
  std::function<void(const std::string& line)> log = {};
};

/// Whether an address is of this machine alone. Throws Error{argument} for what is no address.
[[nodiscard]] bool is_loopback(const std::string& address);

/// Serves until SIGTERM or SIGINT, and then until what runs is finished; SIGHUP reloads. Throws
/// Error{argument} where the address cannot be had.
void run_server(Service& service, const ServerOptions& options, int threads,
                const ServerHooks& hooks);

}  // namespace ellice::serve
