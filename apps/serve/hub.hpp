#pragma once

// What all connections share. Included by server.cpp and the sessions alone, for Boost is here.

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <list>
#include <string>
#include <thread>

#include "server.hpp"
#include "work_queue.hpp"

namespace ellice::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

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
  std::array<char, 65536> scratch = {};  // of bytes that nobody looks at, for all who drain
  bool checks_host = false;              // no token: only pages of this machine may ask
  std::jthread reloading;
  bool is_reloading = false;
  bool reload_again = false;
  WorkQueue queue;  // last: its threads end before what they use
};

}  // namespace ellice::serve
