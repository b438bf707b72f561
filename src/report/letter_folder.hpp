#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ellice {

/// A folder that receives files all at once: they are written in a hidden folder inside of it, and
/// moved up by commit(); without commit() nothing stays, nor the folder where it was not there.
/// Throws Error{output} naming the folder and the reason, and Error{input} at once for a folder
/// that takes none, or is not empty, since letters of two runs must not mix.
class LetterFolder {
 public:
  explicit LetterFolder(std::string path);
  ~LetterFolder();
  LetterFolder(const LetterFolder&) = delete;
  LetterFolder& operator=(const LetterFolder&) = delete;
  LetterFolder(LetterFolder&&) = delete;
  LetterFolder& operator=(LetterFolder&&) = delete;

  void write(const std::string& name, std::string_view text);
  /// Where a file of this name is written by others until commit().
  [[nodiscard]] std::string reserve(const std::string& name);
  void commit();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail_to_write(const std::string& path, int error) const;

  std::string path_;
  std::string temporary_ = {};  // empty once committed
  std::string guarded_ = {};    // what an early end of the process removes
  bool is_new_ = false;
  std::vector<std::string> names_ = {};
};

}  // namespace ellice
