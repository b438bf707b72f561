#include "model/onnx_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"

namespace ellice::onnx {

namespace {

constexpr std::size_t largest_file = std::size_t{64} << 20U;
constexpr std::size_t most_nodes = 2000;
constexpr std::int64_t largest_tensor = std::int64_t{1} << 24U;

enum WireType : std::uint64_t { varint = 0, fixed64 = 1, bytes_type = 2, fixed32 = 5 };

/// One field of a message: its number, and its value or its bytes.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t wire = varint;
  std::uint64_t value = 0;
  std::string_view bytes = {};

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

/// The fields of a message, one after the other.
class Message {
 public:
  Message(std::string_view bytes, const std::string& source) : rest_(bytes), source_(&source) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = read_varint();
    Field field{.number = key >> 3U, .wire = key & 7U};
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
        fail(ErrorCode::input, "{}: not an ONNX file: a field of the unknown wire type {}",
             *source_, field.wire);
    }
    return field;
  }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
    fail(ErrorCode::input, "{}: not an ONNX file: a number of more than ten bytes", *source_);
  }

  std::string_view take(std::uint64_t count) {
    require_input(count <= rest_.size(), "{}: the ONNX file ends in the middle of a field",
                  *source_);
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  [[nodiscard]] bool is_done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  const std::string* source_;
};

template <class T>
T little_endian(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little, "bytes are read as they are");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

class Reader {
 public:
  explicit Reader(const std::string& source) : source_(&source) {}

  Graph model(std::string_view bytes) {
    std::optional<Graph> graph;
    each(bytes, [&](const Field& field) {
      if (field.number != 7) return;
      require_input(!graph, "{}: more than one graph", *source_);
      graph = read_graph(text(field, "graph"));
    });
    require_input(graph.has_value(), "{}: not an ONNX file: it holds no graph", *source_);
    return std::move(*graph);
  }

 private:
  template <class Handle>
  void each(std::string_view bytes, const Handle& handle) {
    Message message(bytes, *source_);
    while (const std::optional<Field> field = message.next()) handle(*field);
  }

  /// What a field of bytes holds.
  [[nodiscard]] std::string_view text(const Field& field, std::string_view what) const {
    require_input(field.wire == bytes_type, "{}: not an ONNX file: {} is no field of bytes",
                  *source_, what);
    return field.bytes;
  }
  [[nodiscard]] std::string name(const Field& field) const {
    const std::string_view bytes = text(field, "a name");
    require_input(!find_invalid_utf8(bytes), "{}: not an ONNX file: a name is not UTF-8", *source_);
    return std::string(bytes);
  }
  [[nodiscard]] std::int64_t integer(const Field& field, std::string_view what) const {
    require_input(field.wire == varint, "{}: not an ONNX file: {} is no whole number", *source_,
                  what);
    return field.integer();
  }

  /// A repeated number: packed, or one at a time.
  template <class T, class Put>
  void fixed(const Field& field, const Put& put) const {
    const bool is_whole =
        (field.wire == (sizeof(T) == 4 ? fixed32 : fixed64) || field.wire == bytes_type) &&
        field.bytes.size() % sizeof(T) == 0;
    require_input(is_whole, "{}: not an ONNX file: a list of numbers is cut", *source_);
    for (std::size_t at = 0; at < field.bytes.size(); at += sizeof(T))
      put(static_cast<double>(little_endian<T>(field.bytes.substr(at, sizeof(T)))));
  }
  template <class Put>
  void integers(const Field& field, const Put& put) const {
    if (field.wire == varint) return put(field.integer());
    Message packed(text(field, "a list of whole numbers"), *source_);
    while (!packed.is_done()) put(static_cast<std::int64_t>(packed.read_varint()));
  }

  Graph read_graph(std::string_view bytes) {
    Graph graph;
    std::vector<Input> inputs;
    each(bytes, [&](const Field& field) {
      if (field.number == 1) graph.nodes.push_back(read_node(text(field, "a node")));
      if (field.number == 5) {
        Tensor tensor = read_tensor(text(field, "a tensor"));
        const std::string key = tensor.name;
        require_input(graph.constants.emplace(key, std::move(tensor)).second,
                      "{}: two tensors are called \"{}\"", *source_, key);
      }
      if (field.number == 11) inputs.push_back(read_value(text(field, "an input")));
      if (field.number == 12) graph.outputs.push_back(read_value(text(field, "an output")).name);
      require_input(field.number != 15, "{}: sparse tensors cannot be imported", *source_);
    });
    for (Input& input : inputs) {
      if (!graph.constants.contains(input.name)) graph.inputs.push_back(std::move(input));
    }
    return graph;
  }

  Node read_node(std::string_view bytes) {
    Node node;
    each(bytes, [&](const Field& field) {
      if (field.number == 1) node.inputs.push_back(name(field));
      if (field.number == 2) node.outputs.push_back(name(field));
      if (field.number == 3) node.name = name(field);
      if (field.number == 4) node.op = name(field);
      if (field.number == 5) node.attributes.push_back(read_attribute(text(field, "an attribute")));
      if (field.number == 7) node.domain = name(field);
    });
    for (const Attribute& attribute : node.attributes) {
      require_input(!attribute.has_graph,
                    "{}: {} has a graph of its own (\"{}\"), which cannot be "
                    "imported",
                    *source_, node.text(), attribute.name);
    }
    return node;
  }

  Attribute read_attribute(std::string_view bytes) {
    Attribute result;
    each(bytes, [&](const Field& field) {
      switch (field.number) {
        case 1:
          result.name = name(field);
          break;
        case 2:
          fixed<float>(field, [&](double value) { result.f = value; });
          break;
        case 3:
          result.i = integer(field, "an attribute");
          break;
        case 4:
          result.s = name(field);
          break;
        case 5:
          result.tensors.push_back(read_tensor(text(field, "a tensor")));
          break;
        case 7:
          fixed<float>(field, [&](double value) { result.floats.push_back(value); });
          break;
        case 8:
          integers(field, [&](std::int64_t value) { result.ints.push_back(value); });
          break;
        case 9:
          result.strings.push_back(name(field));
          break;
        case 6:
        case 11:
          result.has_graph = true;
          break;
        default:
          break;
      }
    });
    return result;
  }

  Tensor read_tensor(std::string_view bytes) {
    Tensor tensor;
    std::string_view raw;
    bool is_external = false;
    const auto put = [&](double value) { tensor.numbers.push_back(value); };
    const auto put_whole = [&](std::int64_t value) { put(static_cast<double>(value)); };
    each(bytes, [&](const Field& field) {
      switch (field.number) {
        case 1:
          integers(field, [&](std::int64_t size) { tensor.dims.push_back(size); });
          break;
        case 2:
          tensor.type = integer(field, "the type of a tensor");
          break;
        case 4:
          fixed<float>(field, put);
          break;
        case 5:
        case 7:
          integers(field, put_whole);
          break;
        case 6:
          tensor.texts.push_back(name(field));
          break;
        case 8:
          tensor.name = name(field);
          break;
        case 9:
          raw = text(field, "the data of a tensor");
          break;
        case 10:
          fixed<double>(field, put);
          break;
        case 13:
          is_external = true;
          break;
        case 14:
          is_external = is_external || integer(field, "the place of a tensor") != 0;
          break;
        default:
          break;
      }
    });
    require_input(
        !is_external,
        "{}: the tensor \"{}\" is stored in another file, which is never opened; save the "
        "model with its tensors inside",
        *source_, tensor.name);
    read_raw(raw, tensor);
    check_shape(tensor);
    return tensor;
  }

  void read_raw(std::string_view raw, Tensor& tensor) const {
    if (raw.empty()) return;
    require_input(tensor.numbers.empty(), "{}: the tensor \"{}\" holds its numbers twice", *source_,
                  tensor.name);
    const Field field{.wire = bytes_type, .bytes = raw};
    const auto put = [&](double value) { tensor.numbers.push_back(value); };
    switch (tensor.type) {
      case float_type:
        return fixed<float>(field, put);
      case double_type:
        return fixed<double>(field, put);
      case int64_type:
        return fixed<std::int64_t>(field, put);
      case int32_type:
        return fixed<std::int32_t>(field, put);
      case bool_type:
        return fixed<std::int8_t>(field, put);
      default:
        fail(ErrorCode::input,
             "{}: the tensor \"{}\" has the element type {}, expected float, "
             "double, int32, int64, bool or string",
             *source_, tensor.name, tensor.type);
    }
  }

  void check_shape(const Tensor& tensor) const {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.dims) {
      require_input(size >= 0 && size <= largest_tensor && count * size <= largest_tensor,
                    "{}: the tensor \"{}\" has the shape [{}], expected at most {} numbers",
                    *source_, tensor.name, fmt::join(tensor.dims, ", "), largest_tensor);
      count *= size;
    }
    const std::size_t found =
        tensor.type == string_type ? tensor.texts.size() : tensor.numbers.size();
    require_input(found == static_cast<std::size_t>(count),
                  "{}: the tensor \"{}\" has the shape [{}] but {} entries", *source_, tensor.name,
                  fmt::join(tensor.dims, ", "), found);
    for (const double value : tensor.numbers) {
      require_input(std::isfinite(value), "{}: the tensor \"{}\" holds {}, expected finite numbers",
                    *source_, tensor.name, value);
    }
  }

  Input read_value(std::string_view bytes) {
    Input result;
    each(bytes, [&](const Field& field) {
      if (field.number == 1) result.name = name(field);
      if (field.number == 2) read_type(text(field, "a type"), result);
    });
    return result;
  }

  void read_type(std::string_view bytes, Input& into) {
    each(bytes, [&](const Field& field) {
      if (field.number != 1) return;  // only of tensors
      each(text(field, "a type"), [&](const Field& inner) {
        if (inner.number == 1) into.type = integer(inner, "an element type");
        if (inner.number != 2) return;
        each(text(inner, "a shape"), [&](const Field& dimension) {
          std::int64_t size = -1;
          each(text(dimension, "a dimension"), [&](const Field& value) {
            if (value.number == 1) size = integer(value, "a dimension");
          });
          into.dims.push_back(size);
        });
      });
    });
  }

  const std::string* source_;
};

/// Each node after what it reads.
void sort(Graph& graph, const std::string& source) {
  require_input(graph.nodes.size() <= most_nodes, "{}: {} nodes, expected at most {}", source,
                graph.nodes.size(), most_nodes);
  std::set<std::string> known = {""};
  for (const auto& [name, tensor] : graph.constants) known.insert(name);
  for (const Input& input : graph.inputs) known.insert(input.name);
  std::set<std::string> made = known;
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      require_input(output.empty() || made.insert(output).second, "{}: \"{}\" is made twice",
                    source, output);
    }
  }
  std::vector<Node> sorted;
  std::vector<Node> left = std::move(graph.nodes);
  while (!left.empty()) {
    const auto is_ready = [&](const Node& node) {
      return std::all_of(node.inputs.begin(), node.inputs.end(),
                         [&](const std::string& input) { return known.contains(input); });
    };
    const auto blocked = std::stable_partition(left.begin(), left.end(), is_ready);
    if (blocked == left.begin()) {
      const Node& node = left.front();
      const auto absent =
          std::find_if(node.inputs.begin(), node.inputs.end(),
                       [&](const std::string& one) { return !known.contains(one); });
      fail(ErrorCode::input, "{}: {} reads \"{}\", which {}", source, node.text(), *absent,
           made.contains(*absent) ? "is made from its own output: the graph has a cycle"
                                  : "nothing makes");
    }
    for (auto node = left.begin(); node != blocked; ++node) {
      known.insert(node->outputs.begin(), node->outputs.end());
      sorted.push_back(std::move(*node));
    }
    left.erase(left.begin(), blocked);
  }
  graph.nodes = std::move(sorted);
}

}  // namespace

const Attribute* Node::find(std::string_view wanted) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const Attribute& attribute) { return attribute.name == wanted; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string Node::text() const {
  return fmt::format("the {} node \"{}\"", op,
                     !name.empty() || outputs.empty() ? name : outputs.front());
}

bool looks_like_onnx(std::string_view bytes) {
  // ir_version, field 1, a small number; a text does not begin with a line feed's neighbour.
  return bytes.size() >= 2 && bytes[0] == '\x08' && static_cast<unsigned char>(bytes[1]) < 0x20U;
}

Graph parse_onnx(std::string_view bytes, const std::string& source) {
  require_input(bytes.size() <= largest_file, "{}: {} bytes, expected at most 64 MiB", source,
                bytes.size());
  Graph graph = Reader(source).model(bytes);
  sort(graph, source);
  return graph;
}

}  // namespace ellice::onnx
