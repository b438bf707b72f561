#include "model/onnx_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

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
      if (field.number == 8) check_version(text(field, "a version"));
      if (field.number == 25) check_function(text(field, "a function"));
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

  /// Before version 7 numbers were matched by other rules, and Dropout trained unless told not to.
  void check_version(std::string_view bytes) {
    std::string domain;
    std::int64_t version = 0;
    each(bytes, [&](const Field& field) {
      if (field.number == 1) domain = name(field);
      if (field.number == 2) version = integer(field, "a version");
    });
    require_input(!domain.empty() || version >= 7,
                  "{}: it has the operators of ONNX version {}, expected 7 or later; export it "
                  "again with a later opset",
                  *source_, version);
  }

  /// A file may say what its operators do, but not what those of the standard do.
  void check_function(std::string_view bytes) {
    std::string op;
    std::string domain;
    each(bytes, [&](const Field& field) {
      if (field.number == 1) op = name(field);
      if (field.number == 10) domain = name(field);
    });
    require_input(!domain.empty() && domain != "ai.onnx" && domain != "ai.onnx.ml",
                  "{}: it has a function of its own for the operator {}, which cannot be imported",
                  *source_, op);
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
      require_input(&attribute == node.find(attribute.name), "{}: {} has two attributes \"{}\"",
                    *source_, node.text(), attribute.name);
      require_input(!attribute.has_graph,
                    "{}: {} has a graph of its own (\"{}\"), which cannot be "
                    "imported",
                    *source_, node.text(), attribute.name);
    }
    return node;
  }

  Attribute read_attribute(std::string_view bytes) {
    // By the numbers of the fields 1 to 11; name, text and type of the attribute are no values.
    constexpr std::string_view letters = "-fistgFIS?G";
    Attribute result;
    each(bytes, [&](const Field& field) {
      const bool has_letter = field.number >= 2 && field.number <= letters.size();
      if (has_letter) result.fields += letters[field.number - 1];
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
        case 13:
        case 20:
          break;
        default:
          if (!has_letter) result.fields += '?';
      }
    });
    return result;
  }

  Tensor read_tensor(std::string_view bytes) {
    Tensor tensor;
    std::string_view raw;
    bool is_external = false;
    std::uint64_t numbers_in = 0;  // the field
    const auto put = [&](double value) { tensor.numbers.push_back(value); };
    const auto put_whole = [&](std::int64_t value) { put(static_cast<double>(value)); };
    each(bytes, [&](const Field& field) {
      if (field.number >= 4 && field.number <= 10 && field.number != 8 && field.number != 9)
        numbers_in = field.number;
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
    check_type(tensor, numbers_in);
    read_raw(raw, tensor);
    check_shape(tensor);
    return tensor;
  }

  /// Numbers of few bits stand among the whole ones by their bits, and would be read as others.
  void check_type(const Tensor& tensor, std::uint64_t numbers_in) const {
    const std::uint64_t own = tensor.type == float_type                               ? 4
                              : tensor.type == int32_type || tensor.type == bool_type ? 5
                              : tensor.type == string_type                            ? 6
                              : tensor.type == int64_type                             ? 7
                              : tensor.type == double_type                            ? 10
                                                                                      : 0;
    require_input(own != 0,
                  "{}: the tensor \"{}\" has the element type {}, expected float, double, int32, "
                  "int64, bool or string",
                  *source_, tensor.name, tensor.type);
    require_input(numbers_in == 0 || numbers_in == own,
                  "{}: the tensor \"{}\" of the element type {} holds entries of another type",
                  *source_, tensor.name, tensor.type);
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
        fail(ErrorCode::input, "{}: the tensor \"{}\" holds texts as bytes", *source_, tensor.name);
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

/// Those first whose inputs are known, then those that need these alone, and so on; within each of
/// these groups as they are written. Takes time in proportion to the graph.
std::vector<Node> by_depth(std::vector<Node>& nodes, const std::set<std::string>& known,
                           const std::set<std::string>& made, const std::string& source) {
  std::map<std::string, std::vector<std::size_t>> readers;
  std::vector<std::size_t> unknown(nodes.size(), 0);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      if (known.contains(input)) continue;
      readers[input].push_back(i);
      ++unknown[i];
    }
    if (unknown[i] == 0) ready.push_back(i);
  }
  std::vector<Node> sorted;
  while (!ready.empty()) {
    std::vector<std::size_t> next;
    for (const std::size_t i : ready) {
      for (const std::string& output : nodes[i].outputs) {
        for (const std::size_t reader : std::exchange(readers[output], {})) {
          if (--unknown[reader] == 0) next.push_back(reader);
        }
      }
      sorted.push_back(std::move(nodes[i]));
    }
    std::sort(next.begin(), next.end());
    ready = std::move(next);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (unknown[i] == 0) continue;
    const auto absent =
        std::find_if(nodes[i].inputs.begin(), nodes[i].inputs.end(), [&](const std::string& input) {
          const auto waiting = readers.find(input);
          return waiting != readers.end() && !waiting->second.empty();
        });
    fail(ErrorCode::input, "{}: {} reads \"{}\", which {}", source, nodes[i].text(), *absent,
         made.contains(*absent) ? "is made from its own output: the graph has a cycle"
                                : "nothing makes");
  }
  return sorted;
}

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
  std::vector<Node> sorted = by_depth(graph.nodes, known, made, source);
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
