#include "model/onnx_wire.hpp"

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"

namespace ellice::onnx {

std::string_view Field::text(std::string_view what) const {
  require_input(wire == bytes_type, "{}: not an ONNX file: {} is no field of bytes", *source, what);
  return bytes;
}

std::string Field::name() const {
  const std::string_view found = text("a name");
  require_input(!find_invalid_utf8(found), "{}: not an ONNX file: a name is not UTF-8", *source);
  return std::string(found);
}

std::int64_t Field::integer(std::string_view what) const {
  require_input(wire == varint, "{}: not an ONNX file: {} is no whole number", *source, what);
  return static_cast<std::int64_t>(value);
}

void Field::check_fixed(std::size_t size) const {
  const bool is_whole =
      (wire == (size == 4 ? fixed32 : fixed64) || wire == bytes_type) && bytes.size() % size == 0;
  require_input(is_whole, "{}: not an ONNX file: a list of numbers is cut", *source);
}

std::vector<std::int64_t> Field::integers() const {
  if (wire == varint) return {static_cast<std::int64_t>(value)};
  std::vector<std::int64_t> all;
  Message packed(text("a list of whole numbers"), *source);
  while (!packed.is_done()) all.push_back(static_cast<std::int64_t>(packed.read_varint()));
  return all;
}

std::optional<Field> Message::next() {
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t key = read_varint();
  Field field{.source = source_, .number = key >> 3U, .wire = key & 7U};
  switch (field.wire) {
    case varint:
      field.value = read_varint();
      break;
    case fixed64:
      field.bytes = take(8);
      break;
    case bytes_type:
      field.bytes = take(read_varint());
      break;
    case fixed32:
      field.bytes = take(4);
      break;
    default:
      fail(ErrorCode::input, "{}: not an ONNX file: a field of the unknown wire type {}", *source_,
           field.wire);
  }
  return field;
}

std::uint64_t Message::read_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(take(1).front());
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80U) return value;
  }
  fail(ErrorCode::input, "{}: not an ONNX file: a number of more than ten bytes", *source_);
}

std::string_view Message::take(std::uint64_t count) {
  require_input(count <= rest_.size(), "{}: the ONNX file ends in the middle of a field", *source_);
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

}  // namespace ellice::onnx
