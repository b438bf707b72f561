#include "report/letter_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/temporary_files.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// The error, or 0.
int write_plain(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

/// Once for all files: to sync each of ten thousand takes minutes on some disks.
int sync_folder(const std::string& path) {
#ifdef __linux__
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const int error = ::syncfs(folder) == 0 ? 0 : errno;
  ::close(folder);
  return error;
#else
  ::sync();
  return 0;
#endif
}

/// A folder that cannot take letters is known before there are any: no failure, a wrong folder.
[[noreturn]] void refuse(const std::string& path, int error) {
  fail(ErrorCode::input, "cannot write {}: {}; name another folder, new or empty", path,
       std::strerror(error));
}

}  // namespace

LetterFolder::LetterFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  is_new_ = ::mkdir(path_.c_str(), 0777) == 0;
  if (!is_new_ && errno != EEXIST) refuse(path_, errno);
  if (!is_new_) {
    std::error_code error;
    const bool empty = std::filesystem::is_empty(path_, error);
    if (!error && !std::filesystem::is_directory(path_))
      error = std::make_error_code(std::errc::not_a_directory);
    if (error) refuse(path_, error.value());
    if (!empty)
      fail(ErrorCode::input,
           "cannot write letters to {}: it is not empty, and letters of two runs must not mix; "
           "empty it or name another folder",
           path_);
  }
  std::string temporary = path_ + "/.letters.XXXXXX";
  if (::mkdtemp(temporary.data()) == nullptr) {
    const int error = errno;
    if (is_new_) ::rmdir(path_.c_str());
    refuse(path_, error);
  }
  temporary_ = temporary;
  guarded_ = is_new_ ? path_ : temporary_;
  TemporaryFiles::add(guarded_);
}

LetterFolder::~LetterFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  if (is_new_) ::rmdir(path_.c_str());
  TemporaryFiles::forget(guarded_);
}

void LetterFolder::fail_to_write(const std::string& path, int error) const {
  fail(ErrorCode::output,
       "cannot write {}: {}; name another folder, in one that is there and may be written", path,
       std::strerror(error));
}

void LetterFolder::write(const std::string& name, std::string_view text) {
  if (const int error = write_plain(reserve(name), text)) fail_to_write(path_ + "/" + name, error);
}

std::string LetterFolder::reserve(const std::string& name) {
  names_.push_back(name);
  return temporary_ + "/" + name;
}

void LetterFolder::commit() {
  if (const int error = sync_folder(temporary_)) fail_to_write(path_, error);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string to = path_ + "/" + names_[i];
    if (std::rename((temporary_ + "/" + names_[i]).c_str(), to.c_str()) == 0) continue;
    const int error = errno;
    for (std::size_t k = 0; k < i; ++k) ::unlink((path_ + "/" + names_[k]).c_str());
    fail_to_write(to, error);
  }
  ::rmdir(temporary_.c_str());
  TemporaryFiles::forget(guarded_);
  temporary_.clear();
}

}  // namespace ellice
