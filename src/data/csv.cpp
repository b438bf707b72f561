#include "ellice/data/csv.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/descriptor.hpp"
#include "core/sha256.hpp"
#include "core/stop.hpp"
#include "data/csv_encoding.hpp"
#include "data/csv_scanner.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"

namespace ellice {

/// The bytes of a file, counted and hashed as they pass.
class HashedFile {
 public:
  explicit HashedFile(const std::string& path)
      : name_(input_name(path)),
        file_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status = {};
    if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0) fail_to_read();
    is_regular_ = S_ISREG(status.st_mode);
    if (is_regular_) size_ = static_cast<std::size_t>(status.st_size);
  }

  std::size_t read(char* into, std::size_t size) {
    if (!is_regular_) wait();
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), into, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail_to_read();
    const auto count = static_cast<std::size_t>(got);
    hash_.update({into, count});
    bytes_read_ += count;
    return count;
  }

  /// Ends the hash on the first call.
  const std::string& sha256() {
    if (digest_.empty()) digest_ = hash_.hex();
    return digest_;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  /// Until there is something to read: of a pipe that may take for ever, and a stop is heard.
  void wait() const {
    constexpr int milliseconds = 50;
    while (true) {
      pollfd asked = {.fd = file_.get(), .events = POLLIN, .revents = 0};
      const int ready = ::poll(&asked, 1, milliseconds);
      if (ready > 0 || (ready < 0 && errno != EINTR)) return;  // reading says what is wrong
      check_stop();
    }
  }

  [[noreturn]] void fail_to_read() const {
    fail(ErrorCode::input, "cannot read {}: {}; give a file that is there and may be read", name_,
         std::strerror(errno));
  }

  std::string name_;
  Descriptor file_;
  bool is_regular_ = false;
  std::size_t size_ = 0;
  std::size_t bytes_read_ = 0;
  Sha256 hash_;
  std::string digest_;
};

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

bool RowSource::takes_numbers(std::size_t /*column*/) {
  return false;
}

const CsvFormat& RowSource::format() const {
  static const CsvFormat plain;
  return plain;
}

struct CsvReader::State {
  State(const std::string& path, const CsvFormat& known)
      : file(path), format(known), scanner(scan()) {}
  State(const std::string& path, const ChooseFormat& choose)
      : file(path), start(read_start()), format(choose(start)), scanner(scan()) {}

  CsvScanner scan() {
    return {file.name(), [this](char* into, std::size_t size) { return read(into, size); },
            CsvScanner::default_buffer_size, format.separator};
  }

  /// The first bytes, so that somebody can look at them before they are read.
  std::string read_start() {
    std::string result;
    std::size_t got = 0;
    do {
      const std::size_t before = result.size();
      result.resize(before + CsvScanner::default_buffer_size);
      got = file.read(result.data() + before, CsvScanner::default_buffer_size);
      result.resize(before + got);
    } while (got > 0 && result.size() < longest_start);
    return result;
  }

  std::size_t read_bytes(char* into, std::size_t size) {
    if (served == start.size()) return file.read(into, size);
    const std::size_t count = start.copy(into, size, served);
    served += count;
    if (served == start.size()) {
      start = {};
      served = 0;
    }
    return count;
  }

  std::size_t read(char* into, std::size_t size) {
    if (format.encoding == Encoding::utf8) return read_bytes(into, size);
    while (given == text.size()) {
      text.clear();
      given = 0;
      bytes.resize(CsvScanner::default_buffer_size);
      const std::size_t count = read_bytes(bytes.data(), bytes.size());
      if (count == 0) return 0;
      append_latin1({bytes.data(), count}, text);
    }
    const std::size_t count = text.copy(into, size, given);
    given += count;
    return count;
  }

  HashedFile file;
  std::string start;       // what was looked at
  std::size_t served = 0;  // of it
  CsvFormat format;
  std::string bytes;      // of another encoding than UTF-8
  std::string text;       // the same as UTF-8
  std::size_t given = 0;  // of it
  CsvScanner scanner;
};

CsvReader::CsvReader(const std::string& path, const CsvFormat& format)
    : state_(std::make_unique<State>(path, format)) {}
CsvReader::CsvReader(const std::string& path, const ChooseFormat& choose)
    : state_(std::make_unique<State>(path, choose)) {}
CsvReader::~CsvReader() = default;

const CsvFormat& CsvReader::format() const {
  return state_->format;
}

const std::string& CsvReader::name() const {
  return state_->scanner.name();
}
const std::vector<std::string>& CsvReader::header() const {
  return state_->scanner.header();
}
bool CsvReader::next(std::span<const std::string_view>& cells) {
  return state_->scanner.next(cells);
}
std::string CsvReader::place() const {
  return state_->scanner.place();
}

std::size_t CsvReader::line() const {
  return state_->scanner.line();
}

std::string CsvReader::sha256() {
  require(state_->scanner.ended(), "CsvReader::sha256: {} has rows that were not read yet", name());
  return state_->file.sha256();
}

std::size_t CsvReader::bytes_read() const {
  return state_->file.bytes_read();
}
std::size_t CsvReader::bytes_total() const {
  return state_->file.size();
}

bool parse_number(std::string_view cell, double& value) {
  while (!cell.empty() && is_blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_blank(cell.back())) cell.remove_suffix(1);
  const bool plus = cell.starts_with('+');  // which from_chars does not take
  if (plus) cell.remove_prefix(1);
  const char* const last = cell.data() + cell.size();
  // from_chars takes "inf" and "nan" as well: a number of ours begins with a digit or a point.
  const char* const digits = cell.data() + (!plus && cell.starts_with('-') ? 1 : 0);
  if (digits == last || (*digits != '.' && (*digits < '0' || *digits > '9'))) return false;

  const auto [end, error] = std::from_chars(cell.data(), last, value);
  if (end != last) return false;
  if (error == std::errc()) return true;
  // Out of range, which is said of 1e999 and of 1e-999 alike; the latter is a fair way to write 0.
  long double wide = 0;
  if (std::from_chars(cell.data(), last, wide).ec != std::errc() || std::abs(wide) > 1)
    return false;
  value = static_cast<double>(wide);
  return true;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result += '"';
}

}  // namespace ellice
