#include "interruption.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>
#include <thread>

#include "core/temporary_files.hpp"

namespace ellice::cli {

namespace {

// After the first signal; leaves a tenth of a second for the end itself.
constexpr long patience_nanoseconds = 400'000'000;

constexpr std::array<int, 3> heard_signals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> is_asked = false;
std::atomic<bool> is_heard = false;
std::atomic<int> first_signal = 0;
sem_t arrived;  // counts signals

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a handler of signals may use these only");

void handle(int signal) {
  const int error = errno;
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  is_asked = true;
  ::sem_post(&arrived);
  errno = error;
}

[[noreturn]] void end_now() {
  TemporaryFiles::remove_all();
  constexpr std::string_view message = "ellice: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(interrupted_status());
}

void wait_for_signal() {
  while (::sem_wait(&arrived) != 0) {
  }
}

/// False when none came in time.
bool wait_for_signal(const timespec& end) {
  while (::sem_clockwait(&arrived, CLOCK_MONOTONIC, &end) != 0) {
    if (errno == ETIMEDOUT) return false;
  }
  return true;
}

/// Ends the program where the work does not do so itself.
void watch() {
  wait_for_signal();
  timespec end = {};
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += patience_nanoseconds;
  if (end.tv_nsec >= 1'000'000'000) {
    end.tv_nsec -= 1'000'000'000;
    ++end.tv_sec;
  }
  if (!wait_for_signal(end) && is_heard) wait_for_signal();
  end_now();
}

std::atomic<bool> is_listening = false;

bool is_ours(int signal) {
  return is_listening &&
         std::find(heard_signals.begin(), heard_signals.end(), signal) != heard_signals.end();
}

}  // namespace

void listen_for_signals() {
  ::sem_init(&arrived, 0, 0);
  for (const int signal : heard_signals) {
    struct sigaction before = {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
  is_listening = true;
  std::thread(watch).detach();  // nothing that it uses is ever destroyed
}

const std::atomic<bool>& stop_flag() {
  return is_asked;
}

void stop_was_heard() {
  is_heard = true;
}

int interrupted_status() {
  const int signal = first_signal;
  return 128 + (signal == 0 ? SIGINT : signal);
}

}  // namespace ellice::cli

/// Takes the place of the C library's in this program. CBC sets a handler of its own for Ctrl-C
/// with every program that it solves, some of which take a millisecond: a signal that comes then
/// would end that one and be forgotten.
extern "C" sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction before = {};
  ::sigaction(number, nullptr, &before);
  if (ellice::cli::is_ours(number)) return before.sa_handler;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
