#include "arrow_in.hpp"

#include <cstring>
#include <utility>

#include "ellice/core/error.hpp"

namespace ellice::python {

namespace {

/// What somebody else gave, for as long as anybody looks at it.
template <class T>
struct Given {
  T value = {};

  Given() = default;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  Given(Given&&) = delete;
  Given& operator=(Given&&) = delete;
  ~Given() {
    if (value.release != nullptr) value.release(&value);
  }
};

/// Which cells there are.
struct Validity {
  const std::uint8_t* bits = nullptr;
  std::size_t offset = 0;
  [[nodiscard]] bool has(std::size_t row) const {
    return bits == nullptr || (bits[(offset + row) / 8] >> ((offset + row) % 8) & 1) != 0;
  }
};

class Bits final : public Cells {
 public:
  Bits(const std::uint8_t* bits, Validity valid) : bits_(bits), valid_(valid) {}
  [[nodiscard]] std::string_view text(std::size_t row, std::string& /*buffer*/) const override {
    if (!valid_.has(row)) return {};
    const std::size_t at = valid_.offset + row;
    return (bits_[at / 8] >> (at % 8) & 1) != 0 ? "1" : "0";
  }
  [[nodiscard]] bool is_boolean() const override { return true; }

 private:
  const std::uint8_t* bits_;
  Validity valid_;
};

/// Texts one behind the other, with the offsets at which they begin.
template <class Offset>
class PackedTexts final : public Cells {
 public:
  PackedTexts(const void* offsets, const void* texts, Validity valid)
      : offsets_(static_cast<const Offset*>(offsets) + valid.offset),
        texts_(static_cast<const char*>(texts)),
        valid_(valid) {}
  [[nodiscard]] std::string_view text(std::size_t row, std::string& /*buffer*/) const override {
    if (!valid_.has(row)) return {};
    return {texts_ + offsets_[row], static_cast<std::size_t>(offsets_[row + 1] - offsets_[row])};
  }

 private:
  const Offset* offsets_;
  const char* texts_;
  Validity valid_;
};

/// Sixteen bytes for each text: its length, and itself where it has up to twelve bytes, otherwise
/// its beginning, the buffer in which it lies, and where.
class TextViews final : public Cells {
 public:
  TextViews(const void* views, std::span<const void* const> buffers, Validity valid)
      : views_(static_cast<const std::byte*>(views) + 16 * valid.offset),
        buffers_(buffers),
        valid_(valid) {}
  [[nodiscard]] std::string_view text(std::size_t row, std::string& /*buffer*/) const override {
    if (!valid_.has(row)) return {};
    const std::byte* view = views_ + 16 * row;
    const auto length = static_cast<std::size_t>(number_at(view));
    if (length <= 12) return {reinterpret_cast<const char*>(view) + 4, length};
    const auto* buffer =
        static_cast<const char*>(buffers_[static_cast<std::size_t>(number_at(view + 8))]);
    return {buffer + number_at(view + 12), length};
  }

 private:
  static std::int32_t number_at(const std::byte* place) {
    std::int32_t number = 0;
    std::memcpy(&number, place, sizeof number);
    return number;
  }
  const std::byte* views_;
  std::span<const void* const> buffers_;
  Validity valid_;
};

class Nothing final : public Cells {
 public:
  explicit Nothing(std::string trouble) : trouble_(std::move(trouble)) {}
  [[nodiscard]] std::string_view text(std::size_t /*row*/, std::string& /*buffer*/) const override {
    return {};
  }
  [[nodiscard]] std::string trouble() const override { return trouble_; }

 private:
  std::string trouble_;
};

std::ptrdiff_t width_of(char type) {
  switch (type) {
    case 'c':
    case 'C':
      return 1;
    case 's':
    case 'S':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    default:
      return 8;
  }
}

std::unique_ptr<Cells> plain_cells(const std::string& format, const ArrowArray& array,
                                   std::int64_t offset) {
  const auto start = static_cast<std::size_t>(offset);
  const bool may_miss = array.n_buffers > 0 && array.null_count != 0;
  const Validity valid{
      .bits = may_miss ? static_cast<const std::uint8_t*>(array.buffers[0]) : nullptr,
      .offset = start};
  if (format == "n") return std::make_unique<Nothing>("");
  if (format == "b")
    return std::make_unique<Bits>(static_cast<const std::uint8_t*>(array.buffers[1]), valid);
  if (format == "u")
    return std::make_unique<PackedTexts<std::int32_t>>(array.buffers[1], array.buffers[2], valid);
  if (format == "U")
    return std::make_unique<PackedTexts<std::int64_t>>(array.buffers[1], array.buffers[2], valid);
  if (format == "vu") {
    // Between the views and the last buffer, which holds lengths, lie the texts.
    const std::span<const void* const> texts(array.buffers + 2,
                                             static_cast<std::size_t>(array.n_buffers - 3));
    return std::make_unique<TextViews>(array.buffers[1], texts, valid);
  }
  if (format.size() == 1 && std::string_view("cCsSiIlLfg").find(format) != std::string_view::npos) {
    const std::ptrdiff_t width = width_of(format.front());
    const auto* data = static_cast<const std::byte*>(array.buffers[1]) + offset * width;
    return number_cells(format, data, width, valid.bits, valid.offset);
  }
  return std::make_unique<Nothing>("\"" + format + "\" (as Arrow writes it)");
}

std::unique_ptr<Cells> arrow_cells(const ArrowSchema& schema, const ArrowArray& array,
                                   std::int64_t parent_offset) {
  const std::int64_t offset = array.offset + parent_offset;
  std::unique_ptr<Cells> cells = plain_cells(schema.format, array, offset);
  if (schema.dictionary == nullptr || array.dictionary == nullptr) return cells;
  const ArrowArray& dictionary = *array.dictionary;
  const std::unique_ptr<Cells> entries =
      plain_cells(schema.dictionary->format, dictionary, dictionary.offset);
  if (!entries->trouble().empty()) return std::make_unique<Nothing>(entries->trouble());
  std::vector<std::string> levels;
  std::string buffer;
  for (std::int64_t k = 0; k < dictionary.length; ++k)
    levels.emplace_back(entries->text(static_cast<std::size_t>(k), buffer));
  return level_cells(std::move(cells), std::move(levels));
}

void require_stream(int status, ArrowArrayStream& stream) {
  if (status == 0) return;
  const char* said = stream.get_last_error(&stream);
  fail(ErrorCode::input, "table: its Arrow stream failed: {}",
       said == nullptr ? "it does not say why" : said);
}

class ArrowBatches final : public BatchStream {
 public:
  /// Takes the stream over.
  explicit ArrowBatches(ArrowArrayStream& stream) {
    stream_.value = std::exchange(stream, {});
    require_input(stream_.value.release != nullptr,
                  "table: its Arrow stream was read before, and can be read once only");
    require_stream(stream_.value.get_schema(&stream_.value, &schema_.value), stream_.value);
    require_input(std::string_view(schema_.value.format) == "+s",
                  "table: the Arrow stream holds \"{}\"; expected a table with columns",
                  schema_.value.format);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (std::size_t j = 0; j < columns(); ++j) {
      const char* const name = schema_.value.children[j]->name;
      result.emplace_back(name == nullptr ? "" : name);
    }
    return result;
  }

  [[nodiscard]] std::optional<Batch> next() override {
    auto memory = std::make_shared<Given<ArrowArray>>();
    ArrowArray& array = memory->value;
    require_stream(stream_.value.get_next(&stream_.value, &array), stream_.value);
    if (array.release == nullptr) return std::nullopt;
    Batch batch{.rows = static_cast<std::size_t>(array.length)};
    for (std::size_t j = 0; j < columns(); ++j)
      batch.columns.push_back(
          arrow_cells(*schema_.value.children[j], *array.children[j], array.offset));
    batch.memory = std::move(memory);
    return batch;
  }

 private:
  [[nodiscard]] std::size_t columns() const {
    return static_cast<std::size_t>(schema_.value.n_children);
  }

  Given<ArrowArrayStream> stream_;
  Given<ArrowSchema> schema_;
};

}  // namespace

Frame open_arrow(ArrowArrayStream& stream) {
  auto batches = std::make_shared<ArrowBatches>(stream);
  std::vector<std::string> names = batches->names();
  return {.names = std::move(names), .rest = std::move(batches)};
}

Frame read_arrow(ArrowArrayStream& stream) {
  Frame frame = open_arrow(stream);
  while (std::optional<Batch> batch = frame.rest->next())
    frame.batches.push_back(std::move(*batch));
  frame.rest.reset();
  return frame;
}

}  // namespace ellice::python
