#include <algorithm>

#include "model/onnx_execute_operators.hpp"

namespace ellice::onnx {

namespace {

/// The entries of one of `blocks` equal parts.
void append_block(const Tensor& from, std::int64_t block, std::int64_t blocks, Tensor& to) {
  const auto append = [&](const auto& entries, auto& into) {
    const auto size = static_cast<std::ptrdiff_t>(entries.size()) / blocks;
    into.insert(into.end(), entries.begin() + block * size, entries.begin() + (block + 1) * size);
  };
  append(from.numbers, to.numbers);
  append(from.texts, to.texts);
}

/// The shape of what is gathered along an axis.
Dims gathered_dims(const Operation& node, const Dims& from, const Tensor& indices,
                   std::size_t along) {
  const auto place = from.begin() + static_cast<std::ptrdiff_t>(along);
  Dims made(from.begin(), place);
  if (node.op() == "Gather") {
    made.insert(made.end(), indices.dims.begin(), indices.dims.end());
  } else {
    if (made.empty()) made.push_back(1);  // of a list: one row
    made.push_back(static_cast<std::int64_t>(indices.numbers.size()));
  }
  made.insert(made.end(), place + 1, from.end());
  return made;
}

/// What one of two probabilities speaks for: the second one for what both do.
void mark_choice(ExecutedNode& node, std::int64_t columns, std::size_t first) {
  const std::optional<double> sign = node.probability(0);
  if (sign) node.mark(columns == 2 && first == 0 ? -*sign : *sign);
}

/// Starts, ends, axes or steps of Slice.
Dims slice_numbers(const ExecutedNode& node, std::size_t input, const char* attribute) {
  if (const Attribute* given = node.find(attribute)) return given->ints;
  if (!node.has_input(input)) return {};
  const std::vector<double>& numbers = node.in(input).numbers;
  return {numbers.begin(), numbers.end()};
}

}  // namespace

void execute_concat(ExecutedNode& node) {
  const bool is_concat = node.op() == "Concat";
  Tensor made{.dims = node.in(0).dims, .type = is_concat ? node.in(0).type : float_type};
  const std::size_t along = node.axis_of(is_concat ? node.whole("axis", 1) : 1, made.dims.size());
  made.dims[along] = 0;
  for (std::size_t k = 0; k < node.inputs(); ++k) {
    if (node.in(k).dims.size() != made.dims.size()) node.refuse("of shapes that do not match");
    made.dims[along] += node.in(k).dims[along];
  }
  const std::int64_t blocks =
      count_of({made.dims.begin(), made.dims.begin() + static_cast<std::ptrdiff_t>(along)});
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::size_t k = 0; k < node.inputs(); ++k) append_block(node.in(k), block, blocks, made);
  }
  node.put(std::move(made));
  if (node.probability(0)) node.mark(1);
}

void execute_gather(ExecutedNode& node) {
  const Tensor& from = node.in(0);
  const Tensor& indices = node.in(1);
  const std::int64_t axis = node.op() == "Gather" ? node.whole("axis", 0) : -1;
  const std::size_t along = node.axis_of(axis, from.dims.size());
  const auto place = from.dims.begin() + static_cast<std::ptrdiff_t>(along);
  const std::int64_t before = count_of({from.dims.begin(), place});
  const std::int64_t after = count_of({place + 1, from.dims.end()});
  Tensor made{.dims = gathered_dims(node, from.dims, indices, along), .type = from.type};
  for (std::int64_t b = 0; b < before; ++b) {
    for (const double index : indices.numbers) {
      if (!(index >= 0 && index < static_cast<double>(*place))) node.refuse("the index {}", index);
      for (std::int64_t a = 0; a < after; ++a) {
        const auto at =
            static_cast<std::size_t>((b * *place + static_cast<std::int64_t>(index)) * after + a);
        if (from.type == string_type) made.texts.push_back(from.texts[at]);
        if (from.type != string_type) made.numbers.push_back(from.numbers[at]);
      }
    }
  }
  const bool is_one = indices.numbers.size() == 1;
  const std::size_t first = is_one ? static_cast<std::size_t>(indices.numbers.front()) : 1;
  const std::int64_t columns = from.dims[along];
  node.put(std::move(made));
  mark_choice(node, columns, first);
}

void execute_slice(ExecutedNode& node) {
  const Tensor& from = node.in(0);
  const Dims starts = slice_numbers(node, 1, "starts");
  const Dims ends = slice_numbers(node, 2, "ends");
  const Dims axes = slice_numbers(node, 3, "axes");
  const Dims steps = slice_numbers(node, 4, "steps");
  if (starts.size() != 1 || ends.size() != 1 || axes.size() != 1 ||
      (!steps.empty() && steps != Dims{1}))
    node.refuse("is executed along one axis with steps of 1");
  const std::size_t along = node.axis_of(axes[0], from.dims.size());
  const std::int64_t size = from.dims[along];
  const auto counted = [&](std::int64_t given) {
    if (given < 0) given = given < -size ? 0 : given + size;
    return std::min(given, size);
  };
  const std::int64_t begin = counted(starts[0]);
  const std::int64_t end = counted(ends[0]);
  Tensor made{.dims = from.dims, .type = from.type};
  made.dims[along] = std::max<std::int64_t>(end - begin, 0);
  // Every entry whose place along the axis lies between.
  const auto after = from.dims.begin() + static_cast<std::ptrdiff_t>(along) + 1;
  const std::int64_t stride = count_of({after, from.dims.end()});
  for (std::int64_t k = 0; k < count_of(from.dims); ++k) {
    const std::int64_t place = k / stride % size;
    if (place < begin || place >= end) continue;
    if (from.type == string_type) made.texts.push_back(from.texts[static_cast<std::size_t>(k)]);
    if (from.type != string_type) made.numbers.push_back(from.numbers[static_cast<std::size_t>(k)]);
  }
  const std::size_t first = made.dims[along] == 1 ? static_cast<std::size_t>(begin) : 1;
  const std::int64_t columns = from.dims[along];
  node.put(std::move(made));
  mark_choice(node, columns, first);
}

}  // namespace ellice::onnx
