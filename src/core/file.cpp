#include "ellice/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// Closes what it holds, whatever happens in between.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] int close() { return ::close(std::exchange(value_, -1)); }

 private:
  int value_;
};

/// False with errno set when not everything could be written.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// The permissions of the file that is replaced, which may be private, or those of a new one.
mode_t mode_of(const std::filesystem::file_status& replaced) {
  if (std::filesystem::exists(replaced)) return static_cast<mode_t>(replaced.permissions()) & 0777U;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

[[noreturn]] void fail_to_write(const std::string& path) {
  fail(ErrorCode::output, "cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::string read_file(const std::string& path) {
  const Descriptor file(path == "-" ? ::dup(STDIN_FILENO)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (file.get() >= 0) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  fail(ErrorCode::input, "cannot read {}: {}", input_name(path), std::strerror(errno));
}

void write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (!write_all(STDOUT_FILENO, text)) fail_to_write("standard output");
    return;
  }
  // A device such as /dev/null or a pipe cannot be replaced by a file: write into it.
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || !write_all(file.get(), text) || file.close() != 0) fail_to_write(path);
    return;
  }
  // Follow a symbolic link, so that it goes on pointing at the new content.
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  const std::string target = ignored || resolved.empty() ? path : resolved.string();
  std::string temporary = target + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) fail_to_write(path);
  const bool whole = write_all(file.get(), text) && ::fchmod(file.get(), mode_of(status)) == 0 &&
                     ::fsync(file.get()) == 0 && file.close() == 0 &&
                     std::rename(temporary.c_str(), target.c_str()) == 0;
  if (!whole) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    errno = reason;
    fail_to_write(path);
  }
}

}  // namespace ellice
