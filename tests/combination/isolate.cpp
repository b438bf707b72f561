#include "combination/isolate.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice::combination {

namespace {

Json to_json(std::uint64_t seed, const Verdict& verdict) {
  Json json = {{"seed", seed}, {"failures", Json::array()}, {"tally", Json::object()}};
  for (const Failure& failure : verdict.failures)
    json["failures"].push_back({failure.kind, failure.text});
  for (const auto& [what, times] : verdict.tally) json["tally"][what] = times;
  return json;
}

Verdict from_json(const Json& json) {
  Verdict verdict;
  for (const Json& failure : json.at("failures"))
    verdict.failures.push_back({.kind = failure.at(0), .text = failure.at(1)});
  for (const auto& [what, times] : json.at("tally").items()) verdict.tally[what] = times;
  return verdict;
}

void write_line(int descriptor, const std::string& text) {
  const std::string line = text + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(descriptor, line.data() + done, line.size() - done);
    if (written <= 0) ::_exit(9);
    done += static_cast<std::size_t>(written);
  }
}

/// A case that takes longer is ended: SIGXCPU, or SIGALRM where it sleeps.
void set_limits(const Limits& limits) {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  const rlimit most = {
      .rlim_cur = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + limits.seconds,
      .rlim_max = RLIM_INFINITY};
  ::setrlimit(RLIMIT_CPU, &most);
  ::alarm(20 * limits.seconds);
}

Verdict judge_here(const Case& given) {
  try {
    return judge(given);
  } catch (const std::exception& error) {
    Verdict verdict;
    verdict.failures.push_back(
        {.kind = std::string("exception: ") + error.what(), .text = error.what()});
    return verdict;
  }
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU || signal == SIGALRM) return "does not end";
    return std::string("crash: ") + ::strsignal(signal);
  }
  return fmt::format("ends with exit status {}", WEXITSTATUS(status));
}

/// A child that does `work` with the writing end of a pipe; lines it wrote, and how it ended.
struct Child {
  explicit Child(const std::function<void(int)>& work) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) fail(ErrorCode::internal, "no pipe");
    (void)std::fflush(nullptr);
    id = ::fork();
    if (id < 0) fail(ErrorCode::internal, "no child");
    if (id == 0) {
      ::close(ends[0]);
      work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    stream = ::fdopen(ends[0], "r");
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;
  ~Child() {
    (void)std::fclose(stream);
    std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): of getline
  }

  bool next(std::string& line) {
    const ssize_t length = ::getline(&buffer, &size, stream);
    if (length <= 0) return false;
    line.assign(buffer, static_cast<std::size_t>(length));
    return true;
  }
  [[nodiscard]] int wait() const {
    int status = 0;
    ::waitpid(id, &status, 0);
    return status;
  }

  pid_t id = -1;
  std::FILE* stream = nullptr;
  char* buffer = nullptr;
  std::size_t size = 0;
};

}  // namespace

Verdict judge_apart(const Case& given, const Limits& limits) {
  Child child([&](int to) {
    set_limits(limits);
    write_line(to, compact_text(to_json(given.seed, judge_here(given))));
  });
  std::string line;
  const bool has_line = child.next(line);
  const int status = child.wait();
  if (has_line && status == 0) return from_json(Json::parse(line));
  Verdict verdict;
  verdict.failures.push_back({.kind = end_text(status), .text = end_text(status)});
  return verdict;
}

void judge_range(std::uint64_t first, std::uint64_t step, std::uint64_t count, const Limits& limits,
                 const std::function<void(std::uint64_t, const Verdict&)>& tell) {
  std::uint64_t done = 0;
  while (done < count) {
    Child child([&](int to) {
      for (std::uint64_t k = done; k < count; ++k) {
        const std::uint64_t seed = first + k * step;
        set_limits(limits);
        write_line(to, compact_text(to_json(seed, judge_here(draw_case(seed)))));
      }
    });
    std::string line;
    while (child.next(line)) {
      tell(first + done * step, from_json(Json::parse(line)));
      ++done;
    }
    const int status = child.wait();
    if (done == count && status == 0) break;
    // The one it was at ended it; after the last, that one.
    Verdict verdict;
    verdict.failures.push_back({.kind = end_text(status), .text = end_text(status)});
    tell(first + std::min(done, count - 1) * step, verdict);
    ++done;
  }
}

}  // namespace ellice::combination
