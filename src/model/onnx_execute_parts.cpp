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
  node.put(std::move(made));
  node.mark_as_input();
}

}  // namespace ellice::onnx
