#pragma once

// What a study has finished, kept in one SQLite file so that a run can end at any moment and go on
// later.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"

namespace ellice {

/// Records by name, each written whole or not at all, in the order of their names.
///
/// A store belongs to one study: what identifies it (plan, version, hashes of the data) is written
/// when the file is made and compared when it is opened again. Only one program may hold a store
/// open. Threads may share it.
class StudyStore {
 public:
  /// Opens the file or makes it. Throws Error{input} if it holds another study or is no store,
  /// Error{output} if it cannot be made, or if another program holds it open.
  StudyStore(const std::string& path, const Json& identity);
  ~StudyStore();
  StudyStore(const StudyStore&) = delete;
  StudyStore& operator=(const StudyStore&) = delete;

  /// The identity and the records of a store that somebody made, without changing it.
  [[nodiscard]] static std::unique_ptr<StudyStore> open(const std::string& path);

  [[nodiscard]] const Json& identity() const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::optional<Json> find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// On disk when it returns. Throws Error{output} when it cannot be written (a full disk); all
  /// earlier records are then untouched. A record that is there already is an Error{argument}.
  void add(const std::string& name, const Json& record);

 private:
  struct Database;
  explicit StudyStore(std::unique_ptr<Database> database);

  std::unique_ptr<Database> database_;
};

}  // namespace ellice
