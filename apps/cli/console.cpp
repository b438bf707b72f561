#include "console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/utf8.hpp"
#include "flag_text.hpp"
#include "interruption.hpp"

namespace ellice::cli {

namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

/// How far a stage is, for a log: a line every ten seconds.
class ProgressLines {
 public:
  void update(const ProgressState& state) {
    if (state.stage != stage_) {
      stage_ = state.stage;
      watch_ = Stopwatch();
      last_said_ = 0;
    }
    const double elapsed = watch_.seconds();
    constexpr double pause = 10;
    if (elapsed - last_said_ < pause) return;
    last_said_ = elapsed;
    const std::string line =
        state.total > 0
            ? fmt::format("{}: {} of {} after {}\n", stage_, state.done, state.total,
                          duration_text(elapsed))
            : fmt::format("{}: {} after {}\n", stage_, state.done, duration_text(elapsed));
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  std::string stage_;
  Stopwatch watch_;
  double last_said_ = 0;
};

/// Draws on one line of the terminal and wipes it at the end.
class Bar {
 public:
  Bar() = default;
  ~Bar() { wipe(); }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  Bar(Bar&&) = delete;
  Bar& operator=(Bar&&) = delete;

  void update(const ProgressState& state) {
    if (state.stage != stage_) {
      stage_ = state.stage;
      watch_ = Stopwatch();
      last_drawn_ = 0;
    }
    const double elapsed = watch_.seconds();
    const bool finished = state.total > 0 && state.done >= state.total;
    if (finished) return wipe();
    if (elapsed < 1 || elapsed - last_drawn_ < 0.1) return;
    last_drawn_ = elapsed;
    const double rate = static_cast<double>(state.done) / elapsed;
    std::string line = fmt::format("\r\033[K{} ", stage_);
    if (state.total > 0) {
      constexpr std::size_t width = 24;
      const double share = static_cast<double>(state.done) / static_cast<double>(state.total);
      const auto filled = static_cast<std::size_t>(share * width);
      line += '[';
      for (std::size_t i = 0; i < width; ++i) line += i < filled ? "█" : "·";
      line += fmt::format(
          "] {:3.0f} %  {:.3g}/s  {} left", 100 * share, rate,
          rate > 0 ? duration_text(static_cast<double>(state.total - state.done) / rate) : "?");
    } else {
      line += fmt::format("{}  {:.3g}/s", state.done, rate);
    }
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    visible_ = true;
  }

 private:
  void wipe() {
    if (visible_) std::fputs("\r\033[K", stderr);
    visible_ = false;
  }

  std::string stage_;
  Stopwatch watch_;
  double last_drawn_ = 0;
  bool visible_ = false;
};

}  // namespace

void Console::say(LogLevel level, std::string_view prefix, std::string_view text) const {
  if (level > level_) return;
  if (text.ends_with('\n')) text.remove_suffix(1);  // a table brings its own
  // An error or a warning is one line, whatever the names in it hold.
  const std::string said = with_flags(text);
  const std::string line = fmt::format(
      "{}{}\n", prefix, level <= LogLevel::warning ? visible(said) : visible_lines(said));
  std::fwrite(line.data(), 1, line.size(), stderr);  // who cannot be told is not told
}

Progress Console::progress() const {
  if (level_ < LogLevel::info) return [](const ProgressState&) { return !stop_flag(); };
  if (::isatty(STDERR_FILENO) == 1) {
    return [bar = std::make_shared<Bar>()](const ProgressState& state) {
      bar->update(state);
      return !stop_flag();
    };
  }
  return [lines = std::make_shared<ProgressLines>()](const ProgressState& state) {
    lines->update(state);
    return !stop_flag();
  };
}

void hold_standard_streams() {
  // Opened the wrong way round, so that reading and writing still fail.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int other = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (other >= 0 && other != stream) {
      ::dup2(other, stream);
      ::close(other);
    }
  }
}

}  // namespace ellice::cli
