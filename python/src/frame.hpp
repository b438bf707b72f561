#pragma once

// A table of Python's, seen where it lies: columns are views of the memory of numpy or Arrow.
// Numbers are taken as they are; other cells become text one row at a time, so that they are read
// as those of files are.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/sha256.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"

namespace ellice::python {

/// The cells of a column in one batch of rows.
class Cells {
 public:
  virtual ~Cells() = default;
  /// The text of a cell, empty where there is none; valid until `buffer` changes.
  [[nodiscard]] virtual std::string_view text(std::size_t row, std::string& buffer) const = 0;
  /// Cells are "1" and "0" and mean true and false.
  [[nodiscard]] virtual bool is_boolean() const { return false; }
  /// Cells are numbers, which `number` gives: NaN where there is none.
  [[nodiscard]] virtual bool has_numbers() const { return false; }
  [[nodiscard]] virtual double number(std::size_t row) const;
  /// What kind of column nobody can read here; empty where it can be read.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
};

/// Columns and the memory that they are views of, unless somebody else holds it.
struct Batch {
  std::size_t rows = 0;
  std::vector<std::unique_ptr<Cells>> columns = {};
  std::shared_ptr<void> memory = {};
};

/// Batches that come one by one.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  /// Nothing at the end.
  [[nodiscard]] virtual std::optional<Batch> next() = 0;
};

struct Frame {
  std::vector<std::string> names = {};
  std::vector<Batch> batches = {};
  std::shared_ptr<BatchStream> rest = {};  // that nobody holds: it is read once
  [[nodiscard]] std::size_t rows() const;  // that are held
};

/// Texts that are held.
std::unique_ptr<Cells> text_cells(std::vector<std::string> texts);
/// Levels by number, of which a negative one is an empty cell, as is what is no number.
std::unique_ptr<Cells> level_cells(std::unique_ptr<Cells> numbers, std::vector<std::string> levels);
/// Numbers at a distance of `stride` bytes; a type as Arrow writes it: "g" is double, "?" a byte
/// that is true or false. Bit `offset` + i of `valid`, if there is one, says whether there is a
/// cell. Null for another type.
std::unique_ptr<Cells> number_cells(std::string_view type, const void* data, std::ptrdiff_t stride,
                                    const std::uint8_t* valid = nullptr, std::size_t offset = 0);

/// The rows of a frame, to be read by a schema. The frame must outlive it.
class FrameSource final : public RowSource {
 public:
  FrameSource(const Frame& frame, const Schema& schema);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::vector<std::string>& header() const override { return frame_->names; }
  bool next(std::span<const std::string_view>& cells) override;
  [[nodiscard]] bool takes_numbers(std::size_t column) override;
  [[nodiscard]] std::span<const double> numbers() const override { return numbers_; }
  /// «table: row 3», counted from 0.
  [[nodiscard]] std::string place() const override {
    return name_ + ": row " + std::to_string(row_ - 1);
  }
  /// From now on rows are hashed as comma-separated lines, the header first.
  void hash_rows();
  /// Call it once, after the last row.
  [[nodiscard]] std::string sha256() { return hash_->hex(); }

 private:
  /// Whether there is another row, in the batch that is the current one then.
  bool find_row();
  [[nodiscard]] std::string_view text(std::size_t column);

  const Frame* frame_;
  std::string name_ = "table";
  std::size_t next_batch_ = 0;
  std::optional<Batch> pulled_;  // of the rest
  const Batch* batch_ = nullptr;
  bool is_at_end_ = false;
  std::size_t within_ = 0;
  std::size_t row_ = 0;
  std::vector<std::pair<std::string, std::string>> booleans_;  // true, false
  std::vector<std::string> texts_;
  std::vector<std::string_view> cells_;
  std::vector<bool> is_taken_;
  std::vector<double> numbers_;
  std::optional<Sha256> hash_;
};

}  // namespace ellice::python
