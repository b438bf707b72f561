#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ellice {

/// What messages call an input: its path, or "standard input" for "-".
[[nodiscard]] std::string input_name(const std::string& path);

/// The whole file; "-" is standard input. Throws Error{input} naming the file and the reason.
[[nodiscard]] std::string read_file(const std::string& path);

/// A file that appears whole or not at all: a temporary file beside it receives the text and is
/// synced and renamed over it by commit(); without commit() it vanishes. "-" is standard output,
/// and a device or pipe is written to directly. Throws Error{output} naming the file and the
/// reason; an existing file is then untouched.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail_to_write() const;
  void flush();
  void hand_over(std::string_view text);

  std::string path_;       // as the user named it
  std::string target_;     // what is replaced; empty when written to directly
  std::string temporary_;  // empty when written to directly
  int descriptor_ = -1;
  std::string buffer_;
  std::size_t handed_over_ = 0;  // bytes
  std::size_t begun_ = 0;        // of those: the system was told to begin with them
};

/// The whole text through an OutputFile.
void write_file(const std::string& path, std::string_view text);

}  // namespace ellice
