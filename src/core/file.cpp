#include "ellice/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/descriptor.hpp"
#include "core/temporary_files.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

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

/// Text is handed to the system in pieces of this size, or of more.
constexpr std::size_t buffer_size = 1 << 18;

/// Of a file that will be synced the system begins to write so much at a time: the sync at the end
/// has the less to wait for.
constexpr std::size_t written_ahead = 1 << 23;

/// The permissions of the file that is replaced, which may be private, or those of a new one.
mode_t mode_of(const std::filesystem::file_status& replaced) {
  if (std::filesystem::exists(replaced)) return static_cast<mode_t>(replaced.permissions()) & 0777U;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

/// Where a chain of symbolic links ends, whether there is a file or not, so that the links go on
/// pointing at the new content. The system follows as many of them.
std::filesystem::path link_target(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::string read_file(const std::string& path) {
  const Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (file.get() >= 0) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  fail(ErrorCode::input, "cannot read {}: {}; give a file that is there and may be read",
       input_name(path), std::strerror(errno));
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    descriptor_ = ::dup(STDOUT_FILENO);
  } else {
    std::error_code ignored;
    const auto status = std::filesystem::status(path_, ignored);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);  // a device cannot be replaced
    } else {
      target_ = link_target(path_).string();
      if (std::filesystem::is_symlink(target_, ignored)) {
        errno = ELOOP;
        fail_to_write();
      }
      temporary_ = target_ + ".XXXXXX";
      descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
      if (descriptor_ < 0) {
        temporary_.clear();
      } else {
        TemporaryFiles::add(temporary_);
      }
    }
  }
  if (descriptor_ < 0) fail_to_write();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  TemporaryFiles::forget(temporary_);
}

void OutputFile::fail_to_write() const {
  fail(ErrorCode::output, "cannot write {}: {}; name another place to write to",
       path_ == "-" ? "standard output" : path_, std::strerror(errno));
}

void OutputFile::hand_over(std::string_view text) {
  if (!write_all(descriptor_, text)) fail_to_write();
  handed_over_ += text.size();
  if (temporary_.empty() || handed_over_ - begun_ < written_ahead) return;
  // Whether it can is its own affair.
  (void)::sync_file_range(descriptor_, static_cast<off_t>(begun_),
                          static_cast<off_t>(handed_over_ - begun_), SYNC_FILE_RANGE_WRITE);
  begun_ = handed_over_;
}

void OutputFile::flush() {
  hand_over(buffer_);
  buffer_.clear();
}

void OutputFile::write(std::string_view text) {
  if (buffer_.size() + text.size() < buffer_size) {
    buffer_ += text;
    return;
  }
  flush();
  hand_over(text);
}

void OutputFile::commit() {
  flush();
  if (!temporary_.empty()) {
    std::error_code ignored;
    const mode_t mode = mode_of(std::filesystem::status(target_, ignored));
    if (::fchmod(descriptor_, mode) != 0 || ::fsync(descriptor_) != 0) fail_to_write();
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_to_write();
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_to_write();
  TemporaryFiles::forget(temporary_);
  temporary_.clear();
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace ellice
