#include <cerrno>
#include <cmath>
#include <exception>

#include "answers.hpp"

namespace ellice::python {

namespace {

/// What the arrays of a column point to.
struct ColumnMemory {
  AnswerColumn column = {};
  std::vector<std::uint8_t> valid = {};
  std::vector<const void*> buffers = {};
  std::int64_t missing = 0;
  const char* format = "";
};

/// Bit i is whether there is a cell.
void mark(std::size_t rows, const auto& has, ColumnMemory& memory) {
  memory.valid.resize(rows / 8 + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    const bool is_there = has(i);
    memory.missing += is_there ? 0 : 1;
    memory.valid[i / 8] = static_cast<std::uint8_t>(memory.valid[i / 8] |
                                                    (static_cast<unsigned>(is_there) << (i % 8)));
  }
}

void lay_out(const std::vector<double>& values, ColumnMemory& memory) {
  memory.format = "g";
  mark(
      values.size(), [&](std::size_t i) { return !std::isnan(values[i]); }, memory);
  memory.buffers = {memory.valid.data(), values.data()};
}

void lay_out(const std::vector<std::int64_t>& values, ColumnMemory& memory) {
  memory.format = "l";
  memory.buffers = {nullptr, values.data()};
}

void lay_out(const Texts& values, ColumnMemory& memory) {
  memory.format = "U";
  mark(
      values.is_there.size(), [&](std::size_t i) { return values.is_there[i]; }, memory);
  memory.buffers = {memory.valid.data(), values.offsets.data(), values.all.data()};
}

std::shared_ptr<const ColumnMemory> memory_of(AnswerColumn column) {
  auto memory = std::make_shared<ColumnMemory>();
  memory->column = std::move(column);
  std::visit([&](const auto& values) { lay_out(values, *memory); }, memory->column.values);
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
  std::unique_ptr<TableStream> tables = {};
  std::string error = {};
};

/// Calls what may throw; what it says is kept for get_last_error.
int guarded(ArrowArrayStream* stream, auto&& call) {
  auto& owner = *static_cast<StreamOwner*>(stream->private_data);
  try {
    call(*owner.tables);
    return 0;
  } catch (const std::exception& error) {
    owner.error = error.what();
    return EIO;
  }
}

Columns columns_of(std::vector<AnswerColumn> table) {
  Columns columns;
  for (AnswerColumn& column : table) columns.push_back(memory_of(std::move(column)));
  return columns;
}

void give_schema(Columns columns, ArrowSchema* out) {
  auto* owner = new SchemaOwner{.columns = std::move(columns)};
  for (const auto& column : owner->columns) {
    owner->children.push_back({.format = column->format,
                               .name = column->column.name.c_str(),
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
}

void give_array(Columns columns, ArrowArray* out) {
  // The first column has the rows by number.
  const auto& numbers = std::get<std::vector<std::int64_t>>(columns.front()->column.values);
  const auto rows = static_cast<std::int64_t>(numbers.size());
  auto* owner = new ArrayOwner{.columns = std::move(columns)};
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
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(stream,
                 [&](TableStream& tables) { give_schema(columns_of(tables.empty()), out); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded(stream, [&](TableStream& tables) {
    std::optional<std::vector<AnswerColumn>> table = tables.next();
    if (table) {
      give_array(columns_of(std::move(*table)), out);
    } else {
      *out = {};
    }
  });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = static_cast<const StreamOwner*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamOwner*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_arrow(std::unique_ptr<TableStream> tables, ArrowArrayStream& stream) {
  stream = {.get_schema = get_schema,
            .get_next = get_next,
            .get_last_error = get_last_error,
            .release = release_stream,
            .private_data = new StreamOwner{.tables = std::move(tables)}};
}

}  // namespace ellice::python
