#include "ellice/study/store.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <mutex>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

// Stands in the file's header (PRAGMA application_id), so that another database is not taken for a
// study.
constexpr int application_id = 0x656c6c69;

class Statement {
 public:
  Statement(sqlite3* database, const char* text) {
    sqlite3_prepare_v2(database, text, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  /// SQLITE_ROW, SQLITE_DONE, or an error; a statement that could not be prepared is one.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    if (bytes == nullptr) return {};  // NULL, or nothing
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  [[nodiscard]] int integer(int column) const { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

struct StudyStore::Database {
  std::string path = {};
  sqlite3* handle = nullptr;
  Json identity = {};
  mutable std::mutex mutex = {};

  explicit Database(std::string file, int flags) : path(std::move(file)) {
    if (sqlite3_open_v2(path.c_str(), &handle, flags, nullptr) != SQLITE_OK) fail_to_write();
    sqlite3_extended_result_codes(handle, 1);
  }
  ~Database() { sqlite3_close(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[noreturn]] void fail_to_write() const { fail_as(ErrorCode::output, "cannot be written"); }
  [[noreturn]] void fail_to_read() const {
    fail_as(ErrorCode::input, "cannot be read as a study's results");
  }
  [[noreturn]] void fail_as(ErrorCode code, std::string_view what) const {
    const int cause = handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle) & 0xff;
    if (cause == SQLITE_BUSY) {
      fail(ErrorCode::output, "{}: another run of this study holds it; wait until it ends", path);
    }
    fail(code, "{}: {}: {}", path, what,
         handle == nullptr ? "out of memory" : sqlite3_errmsg(handle));
  }
  void run(const char* statement) const {
    if (sqlite3_exec(handle, statement, nullptr, nullptr, nullptr) != SQLITE_OK) fail_to_write();
  }
  /// Whether the file is one of ours; an empty one is not yet anything.
  [[nodiscard]] bool is_empty() const {
    Statement tables(handle, "SELECT count(*) FROM sqlite_master");
    if (tables.step() != SQLITE_ROW) fail_to_read();
    return tables.integer(0) == 0;
  }
  [[nodiscard]] bool has_records() const {
    Statement records(handle, "SELECT count(*) FROM record");
    if (records.step() != SQLITE_ROW) fail_to_read();
    return records.integer(0) > 0;
  }
  void read_identity() {
    Statement id(handle, "PRAGMA application_id");
    if (id.step() != SQLITE_ROW) fail_to_read();
    require_input(id.integer(0) == application_id,
                  "{}: is a database, but not of a study; choose another folder", path);
    Statement row(handle, "SELECT body FROM identity");
    if (row.step() != SQLITE_ROW) fail_to_read();
    identity = parse_json(row.text(0), path);
    require_input(identity.is_object(), "{}: identity: found {}, expected an object", path,
                  shown(identity));
  }
  [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
    Statement row(handle, "SELECT body FROM record WHERE name = ?");
    const int result = row.bind(1, name).step();
    if (result == SQLITE_DONE) return std::nullopt;
    if (result != SQLITE_ROW) fail_to_read();
    return row.text(0);
  }
};

StudyStore::StudyStore(const std::string& path, const Json& identity)
    : database_(std::make_unique<Database>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) {
  Database& database = *database_;
  // Held from the first write on; nobody else may write between two records.
  database.run("PRAGMA locking_mode = EXCLUSIVE");
  if (database.is_empty()) {
    database.run("BEGIN EXCLUSIVE");
    database.run(fmt::format("PRAGMA application_id = {}", application_id).c_str());
    database.run("CREATE TABLE identity (body TEXT NOT NULL)");
    database.run("CREATE TABLE record (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID");
    Statement insert(database.handle, "INSERT INTO identity VALUES (?)");
    if (insert.bind(1, compact_text(identity)).step() != SQLITE_DONE) database.fail_to_write();
    database.run("COMMIT");
  } else {
    database.run("BEGIN EXCLUSIVE");
    database.run("COMMIT");
  }
  database.read_identity();
  if (database.identity != identity && !database.has_records()) {
    // A run that ended before its first cell: there is nothing to protect.
    Statement update(database.handle, "UPDATE identity SET body = ?");
    if (update.bind(1, compact_text(identity)).step() != SQLITE_DONE) database.fail_to_write();
    database.read_identity();
  }
  for (const auto& [key, value] : identity.items()) {
    const Json found = database.identity.value(key, Json());
    require_input(found == value,
                  "{}: holds another study: its {} is {}, not {}; choose another folder, or remove "
                  "this one",
                  path, key, shown(found), shown(value));
  }
}

StudyStore::StudyStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
StudyStore::~StudyStore() = default;

std::unique_ptr<StudyStore> StudyStore::open(const std::string& path) {
  require_input(std::filesystem::exists(path), "{}: no such file; expected a study's results",
                path);
  auto database = std::make_unique<Database>(path, SQLITE_OPEN_READONLY);
  require_input(!database->is_empty(), "{}: holds nothing; expected a study's results", path);
  database->read_identity();
  return std::unique_ptr<StudyStore>(new StudyStore(std::move(database)));
}

const Json& StudyStore::identity() const {
  return database_->identity;
}

bool StudyStore::has(const std::string& name) const {
  const std::scoped_lock lock(database_->mutex);
  return database_->find(name).has_value();
}

std::optional<Json> StudyStore::find(const std::string& name) const {
  const std::scoped_lock lock(database_->mutex);
  const std::optional<std::string> text = database_->find(name);
  if (!text) return std::nullopt;
  return parse_json(*text, database_->path);
}

std::vector<std::string> StudyStore::names() const {
  const std::scoped_lock lock(database_->mutex);
  Statement rows(database_->handle, "SELECT name FROM record ORDER BY name");
  std::vector<std::string> names;
  int result = rows.step();
  for (; result == SQLITE_ROW; result = rows.step()) names.push_back(rows.text(0));
  if (result != SQLITE_DONE) database_->fail_to_read();
  return names;
}

void StudyStore::add(const std::string& name, const Json& record) {
  const std::scoped_lock lock(database_->mutex);
  require(!database_->find(name), "the record \"{}\" is there already", name);
  Statement insert(database_->handle, "INSERT INTO record VALUES (?, ?)");
  if (insert.bind(1, name).bind(2, compact_text(record)).step() != SQLITE_DONE)
    database_->fail_to_write();
}

}  // namespace ellice
