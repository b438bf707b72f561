#pragma once

// Protobuf's wire format: a message is a list of fields, and a field is a number with a value. A
// reader of our own, bounded, without generated code (docs/decisions/0024-onnx-reader.md).

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ellice::onnx {

enum WireType : std::uint64_t { varint = 0, fixed64 = 1, bytes_type = 2, fixed32 = 5 };

/// One field of a message: its number, and its value or its bytes. What it does not hold is
/// refused with Error{input}; `what` says for messages what was looked for.
struct Field {
  const std::string* source = nullptr;
  std::uint64_t number = 0;
  std::uint64_t wire = varint;
  std::uint64_t value = 0;
  std::string_view bytes = {};

  [[nodiscard]] std::string_view text(std::string_view what) const;
  [[nodiscard]] std::string name() const;  // in UTF-8
  [[nodiscard]] std::int64_t integer(std::string_view what) const;
  /// A repeated number of fixed size: packed, or one at a time.
  template <class T>
  void append_fixed(std::vector<double>& to) const {
    static_assert(std::endian::native == std::endian::little, "bytes are read as they are");
    check_fixed(sizeof(T));
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      T entry;
      std::memcpy(&entry, bytes.data() + at, sizeof(T));
      to.push_back(static_cast<double>(entry));
    }
  }
  /// A repeated whole number: packed, or one at a time.
  [[nodiscard]] std::vector<std::int64_t> integers() const;

 private:
  void check_fixed(std::size_t size) const;
};

/// The fields of a message, one after the other.
class Message {
 public:
  Message(std::string_view bytes, const std::string& source) : rest_(bytes), source_(&source) {}

  std::optional<Field> next();
  std::uint64_t read_varint();
  [[nodiscard]] bool is_done() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t count);

  std::string_view rest_;
  const std::string* source_;
};

template <class Handle>
void for_each_field(std::string_view bytes, const std::string& source, const Handle& handle) {
  Message message(bytes, source);
  while (const std::optional<Field> field = message.next()) handle(*field);
}

}  // namespace ellice::onnx
