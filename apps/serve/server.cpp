#include "server.hpp"

#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "call_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "session.hpp"

namespace ellice::serve {

namespace {

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

/// Work that does not hear that it should stop would keep the process for as long as it takes.
void end_deaf_work(const Hub& hub) {
  constexpr auto patience = std::chrono::seconds(2);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (hub.queue.running() > 0) {
    if (std::chrono::steady_clock::now() > until) {
      (void)std::fflush(nullptr);
      std::_Exit(EXIT_SUCCESS);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
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
                            .idle_threads = [&hub] { return hub.queue.idle(); },
                            .needs_token = !hub.token.empty()});
  const std::string address = bind(hub);
  listen_for_end(hub);
  listen_for_reload(hub);
  accept(hub);
  if (hooks.listening) hooks.listening(address);
  say(hub, "listening", {{"address", address}, {"version", ellice::version().number}});
  hub.context.run();
  service.set_surroundings({});
  say(hub, hub.ends_now ? "ended with work unfinished" : "ended");
  if (hub.ends_now) end_deaf_work(hub);
}

}  // namespace ellice::serve
