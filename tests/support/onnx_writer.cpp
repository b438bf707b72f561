#include "support/onnx_writer.hpp"

#include <cstring>

namespace ellice::testing_support::onnx_writer {

namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7FU; value >>= 7U) out += static_cast<char>((value & 0x7FU) | 0x80U);
  return out + static_cast<char>(value);
}
std::string field(unsigned number, std::int64_t value) {
  return varint(number << 3U) + varint(static_cast<std::uint64_t>(value));
}
std::string field(unsigned number, const std::string& bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + bytes;
}
template <class T>
std::string bits(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

std::string value(unsigned number, const std::string& name, std::int64_t columns,
                  std::int64_t type) {
  std::string shape = field(1, field(2, std::string("n")));
  if (columns > 0) shape += field(1, field(1, columns));
  return field(number, field(1, name) + field(2, field(1, field(1, type) + field(2, shape))));
}

}  // namespace

std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                   const std::vector<double>& numbers, std::int64_t type) {
  std::string raw;
  for (const double number : numbers) {
    raw += type == f32   ? bits(static_cast<float>(number))
           : type == i64 ? bits(static_cast<std::int64_t>(number))
                         : std::string(1, static_cast<char>(number));
  }
  std::string out;
  for (const std::int64_t size : dims) out += field(1, size);
  return field(5, out + field(2, type) + field(8, name) + field(9, raw));
}
std::string texts(const std::string& name, const std::vector<std::string>& all) {
  std::string out = field(1, static_cast<std::int64_t>(all.size())) + field(2, text);
  for (const std::string& one : all) out += field(6, one);
  return field(5, out + field(8, name));
}

std::string whole(const std::string& name, std::int64_t value) {
  return field(5, field(1, name) + field(3, value));
}
std::string real(const std::string& name, double value) {
  return field(5, field(1, name) + varint(2U << 3U | 5U) + bits(static_cast<float>(value)));
}
std::string reals(const std::string& name, const std::vector<double>& values) {
  std::string out;
  for (const double value : values) out += bits(static_cast<float>(value));
  return field(5, field(1, name) + field(7, out));
}
std::string wholes(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string out;
  for (const std::int64_t value : values) out += field(8, value);
  return field(5, field(1, name) + out);
}
std::string words(const std::string& name, const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += field(9, value);
  return field(5, field(1, name) + out);
}

std::string node(const std::string& op, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& attributes,
                 const std::string& domain) {
  std::string out;
  for (const std::string& input : inputs) out += field(1, input);
  for (const std::string& output : outputs) out += field(2, output);
  return field(1, out + field(3, op + "_here") + field(4, op) + attributes + field(7, domain));
}
std::string input(const std::string& name, std::int64_t columns, std::int64_t type) {
  return value(11, name, columns, type);
}
std::string model(const std::string& body, const std::vector<std::string>& outputs,
                  std::int64_t version) {
  std::string graph = body;
  for (const std::string& output : outputs) graph += value(12, output, 1, f32);
  return field(1, std::int64_t{8}) + field(8, field(2, version)) + field(7, graph);
}

}  // namespace ellice::testing_support::onnx_writer
