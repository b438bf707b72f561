#include "model/onnx_tensor.hpp"

#include <cmath>

#include "ellice/core/error.hpp"
#include "model/onnx_wire.hpp"

namespace ellice::onnx {

namespace {

constexpr std::int64_t largest_tensor = std::int64_t{1} << 24U;

/// The field that holds the entries of a type, unless they stand as bytes; 0: the type is not read.
std::uint64_t field_of_type(std::int64_t type) {
  switch (type) {
    case float_type:
      return 4;
    case int32_type:
    case bool_type:
      return 5;
    case string_type:
      return 6;
    case int64_type:
      return 7;
    case double_type:
      return 10;
    default:
      return 0;
  }
}

/// Numbers of few bits stand among the whole ones by their bits, and would be read as others.
void check_element_type(const Tensor& tensor, std::uint64_t numbers_in, const std::string& source) {
  const std::uint64_t own = field_of_type(tensor.type);
  require_input(own != 0,
                "{}: the tensor \"{}\" has the element type {}, expected float, double, int32, "
                "int64, bool or string",
                source, tensor.name, tensor.type);
  require_input(numbers_in == 0 || numbers_in == own,
                "{}: the tensor \"{}\" of the element type {} holds entries of another type",
                source, tensor.name, tensor.type);
}

/// Entries as bytes.
void read_raw(std::string_view raw, Tensor& tensor, const std::string& source) {
  if (raw.empty()) return;
  require_input(tensor.numbers.empty(), "{}: the tensor \"{}\" holds its numbers twice", source,
                tensor.name);
  const Field field{.source = &source, .wire = bytes_type, .bytes = raw};
  switch (tensor.type) {
    case float_type:
      return field.append_fixed<float>(tensor.numbers);
    case double_type:
      return field.append_fixed<double>(tensor.numbers);
    case int64_type:
      return field.append_fixed<std::int64_t>(tensor.numbers);
    case int32_type:
      return field.append_fixed<std::int32_t>(tensor.numbers);
    case bool_type:
      return field.append_fixed<std::int8_t>(tensor.numbers);
    default:
      fail(ErrorCode::input, "{}: the tensor \"{}\" holds texts as bytes", source, tensor.name);
  }
}

void check_entries(const Tensor& tensor, const std::string& source) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.dims) {
    require_input(size >= 0 && size <= largest_tensor && count * size <= largest_tensor,
                  "{}: the tensor \"{}\" has the shape [{}], expected at most {} numbers", source,
                  tensor.name, fmt::join(tensor.dims, ", "), largest_tensor);
    count *= size;
  }
  const std::size_t found =
      tensor.type == string_type ? tensor.texts.size() : tensor.numbers.size();
  require_input(found == static_cast<std::size_t>(count),
                "{}: the tensor \"{}\" has the shape [{}] but {} entries", source, tensor.name,
                fmt::join(tensor.dims, ", "), found);
  for (const double value : tensor.numbers) {
    require_input(std::isfinite(value), "{}: the tensor \"{}\" holds {}, expected finite numbers",
                  source, tensor.name, value);
  }
}

}  // namespace

Tensor read_tensor(std::string_view bytes, const std::string& source) {
  Tensor tensor;
  std::string_view raw;
  bool is_external = false;
  std::uint64_t numbers_in = 0;  // the field
  for_each_field(bytes, source, [&](const Field& field) {
    if (field.number >= 4 && field.number <= 10 && field.number != 8 && field.number != 9)
      numbers_in = field.number;
    switch (field.number) {
      case 1:
        for (const std::int64_t size : field.integers()) tensor.dims.push_back(size);
        break;
      case 2:
        tensor.type = field.integer("the type of a tensor");
        break;
      case 4:
        field.append_fixed<float>(tensor.numbers);
        break;
      case 5:
      case 7:
        for (const std::int64_t entry : field.integers())
          tensor.numbers.push_back(static_cast<double>(entry));
        break;
      case 6:
        tensor.texts.push_back(field.name());
        break;
      case 8:
        tensor.name = field.name();
        break;
      case 9:
        raw = field.text("the data of a tensor");
        break;
      case 10:
        field.append_fixed<double>(tensor.numbers);
        break;
      case 13:
        is_external = true;
        break;
      case 14:
        is_external = is_external || field.integer("the place of a tensor") != 0;
        break;
      default:
        break;
    }
  });
  require_input(!is_external,
                "{}: the tensor \"{}\" is stored in another file, which is never opened; save the "
                "model with its tensors inside",
                source, tensor.name);
  check_element_type(tensor, numbers_in, source);
  read_raw(raw, tensor, source);
  check_entries(tensor, source);
  return tensor;
}

}  // namespace ellice::onnx
