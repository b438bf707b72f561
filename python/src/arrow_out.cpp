#include <cstring>

#include "answers.hpp"

namespace ellice::python {

namespace {

/// What the arrays of a column point to.
struct ColumnMemory {
  std::vector<std::uint8_t> valid = {};
  std::vector<double> numbers = {};
  std::vector<std::int64_t> wholes = {};
  std::vector<std::int64_t> offsets = {};
  std::string texts = {};
  std::vector<const void*> buffers = {};
  std::int64_t missing = 0;
  std::string format = {};
  std::string name = {};
};

void mark(std::vector<std::uint8_t>& bits, std::size_t row) {
  bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | (1U << (row % 8)));
}

void fill(const std::vector<std::optional<double>>& values, ColumnMemory& memory) {
  memory.format = "g";
  memory.numbers.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) mark(memory.valid, i);
    memory.missing += values[i] ? 0 : 1;
    memory.numbers[i] = values[i].value_or(0);
  }
  memory.buffers = {memory.valid.data(), memory.numbers.data()};
}

void fill(const std::vector<std::int64_t>& values, ColumnMemory& memory) {
  memory.format = "l";
  memory.wholes = values;
  memory.buffers = {nullptr, memory.wholes.data()};
}

void fill(const std::vector<std::optional<std::string>>& values, ColumnMemory& memory) {
  memory.format = "U";
  memory.offsets = {0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) mark(memory.valid, i);
    memory.missing += values[i] ? 0 : 1;
    memory.texts += values[i].value_or("");
    memory.offsets.push_back(static_cast<std::int64_t>(memory.texts.size()));
  }
  memory.buffers = {memory.valid.data(), memory.offsets.data(), memory.texts.data()};
}

std::shared_ptr<const ColumnMemory> memory_of(AnswerColumn column, std::size_t rows) {
  auto memory = std::make_shared<ColumnMemory>();
  memory->valid.resize(rows / 8 + 1);
  memory->name = std::move(column.name);
  std::visit([&](const auto& values) { fill(values, *memory); }, column.values);
  return memory;
}

using Columns = std::vector<std::shared_ptr<const ColumnMemory>>;

/// What an exported struct owns; children are released by who releases the parent.
struct SchemaOwner {
  Columns columns = {};
  std::vector<ArrowSchema> children = {};
  std::vector<ArrowSchema*> pointers = {};
};
struct ArrayOwner {
  Columns columns = {};
  std::vector<const void*> buffers = {nullptr};
  std::vector<ArrowArray> children = {};
  std::vector<ArrowArray*> pointers = {};
};

// A child that its consumer took over has no release any more; it holds its own memory.
void release_child_schema(ArrowSchema* schema) {
  delete static_cast<std::shared_ptr<const ColumnMemory>*>(schema->private_data);
  schema->release = nullptr;
}
void release_child_array(ArrowArray* array) {
  delete static_cast<std::shared_ptr<const ColumnMemory>*>(array->private_data);
  array->release = nullptr;
}
void release_schema(ArrowSchema* schema) {
  auto* owner = static_cast<SchemaOwner*>(schema->private_data);
  for (ArrowSchema& child : owner->children)
    if (child.release != nullptr) child.release(&child);
  delete owner;
  schema->release = nullptr;
}
void release_array(ArrowArray* array) {
  auto* owner = static_cast<ArrayOwner*>(array->private_data);
  for (ArrowArray& child : owner->children)
    if (child.release != nullptr) child.release(&child);
  delete owner;
  array->release = nullptr;
}

struct StreamOwner {
  Columns columns = {};
  std::size_t rows = 0;
  bool is_given = false;
};

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  const auto& source = *static_cast<const StreamOwner*>(stream->private_data);
  auto* owner = new SchemaOwner{.columns = source.columns};
  for (const auto& column : owner->columns) {
    owner->children.push_back({.format = column->format.c_str(),
                               .name = column->name.c_str(),
                               .metadata = nullptr,
                               .flags = arrow_nullable,
                               .n_children = 0,
                               .children = nullptr,
                               .dictionary = nullptr,
                               .release = release_child_schema,
                               .private_data = new std::shared_ptr<const ColumnMemory>(column)});
  }
  for (ArrowSchema& child : owner->children) owner->pointers.push_back(&child);
  *out = {.format = "+s",
          .name = "",
          .metadata = nullptr,
          .flags = 0,
          .n_children = static_cast<std::int64_t>(owner->children.size()),
          .children = owner->pointers.data(),
          .dictionary = nullptr,
          .release = release_schema,
          .private_data = owner};
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& source = *static_cast<StreamOwner*>(stream->private_data);
  if (source.is_given) {
    *out = {};
    return 0;
  }
  source.is_given = true;
  const auto rows = static_cast<std::int64_t>(source.rows);
  auto* owner = new ArrayOwner{.columns = source.columns};
  for (const auto& column : owner->columns) {
    // Consumers may not write; the interface has no way to say so.
    auto* buffers = const_cast<const void**>(column->buffers.data());
    owner->children.push_back({.length = rows,
                               .null_count = column->missing,
                               .offset = 0,
                               .n_buffers = static_cast<std::int64_t>(column->buffers.size()),
                               .n_children = 0,
                               .buffers = buffers,
                               .children = nullptr,
                               .dictionary = nullptr,
                               .release = release_child_array,
                               .private_data = new std::shared_ptr<const ColumnMemory>(column)});
  }
  for (ArrowArray& child : owner->children) owner->pointers.push_back(&child);
  *out = {.length = rows,
          .null_count = 0,
          .offset = 0,
          .n_buffers = 1,
          .n_children = static_cast<std::int64_t>(owner->children.size()),
          .buffers = owner->buffers.data(),
          .children = owner->pointers.data(),
          .dictionary = nullptr,
          .release = release_array,
          .private_data = owner};
  return 0;
}

const char* get_last_error(ArrowArrayStream* /*stream*/) {
  return nullptr;
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamOwner*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_arrow(std::vector<AnswerColumn> table, std::size_t rows, ArrowArrayStream& stream) {
  auto* owner = new StreamOwner{.rows = rows};
  for (AnswerColumn& column : table) owner->columns.push_back(memory_of(std::move(column), rows));
  stream = {.get_schema = get_schema,
            .get_next = get_next,
            .get_last_error = get_last_error,
            .release = release_stream,
            .private_data = owner};
}

}  // namespace ellice::python
