// Tables: every row of any bytes, rows that can be passed over passed over.

#include "ellice/data/csv.hpp"

#include "fuzz.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  return fuzz::accept([&] {
    CsvReader reader(file.path());
    const std::size_t columns = reader.header().size();
    std::span<const std::string_view> cells;
    std::size_t line = 0;
    while (true) {
      try {
        if (!reader.next(cells)) break;
      } catch (const RowError&) {
        fuzz::promise(reader.line() >= line, "lines are counted upwards");
        continue;
      }
      fuzz::promise(cells.size() == columns, "as many cells as the header has");
      fuzz::promise(reader.line() >= line, "lines are counted upwards");
      line = reader.line();
      double number = 0;
      for (const std::string_view cell : cells) (void)parse_number(cell, number);
    }
    fuzz::promise(reader.bytes_read() == size, "all bytes are read");
    (void)reader.sha256();
  });
}
