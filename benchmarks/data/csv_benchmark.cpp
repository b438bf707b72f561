#include "ellice/data/csv.hpp"

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"

namespace ellice {
namespace {

/// A numeric table of at least 50 MB, made once and removed at exit.
class NumericFile {
 public:
  NumericFile() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "ellice-benchmark-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::string text = "c0";
    for (int j = 1; j < 20; ++j) text += fmt::format(",c{}", j);
    Random random(1);
    while (text.size() < 50'000'000) {
      for (int j = 0; j < 20; ++j) {
        // Whole numbers, short decimals and full precision, as real tables mix them.
        const double value = random.normal();
        text += j == 0 ? "\n" : ",";
        text += j % 3 == 0   ? fmt::format("{:.0f}", 1000 * value)
                : j % 3 == 1 ? fmt::format("{:.4f}", value)
                             : fmt::format("{}", value);
      }
    }
    size_ = static_cast<std::int64_t>(text.size());
    write_file(path(), text);
  }
  ~NumericFile() { std::filesystem::remove_all(folder_); }
  NumericFile(const NumericFile&) = delete;
  NumericFile& operator=(const NumericFile&) = delete;
  NumericFile(NumericFile&&) = delete;
  NumericFile& operator=(NumericFile&&) = delete;

  [[nodiscard]] std::string path() const { return folder_ / "numbers.csv"; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::filesystem::path folder_;
  std::int64_t size_ = 0;
};

const NumericFile& numeric_file() {
  static const NumericFile file;
  return file;
}

void set_rate(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * numeric_file().size());
}

/// The reference: what no reader that hashes the file can beat.
void BM_csv_read_and_hash_only(benchmark::State& state) {
  const std::string path = numeric_file().path();
  std::vector<char> buffer(std::size_t{1} << 18);
  for (auto _ : state) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    Sha256 hash;
    ssize_t got = 0;
    while ((got = ::read(file, buffer.data(), buffer.size())) > 0) {
      hash.update({buffer.data(), static_cast<std::size_t>(got)});
    }
    ::close(file);
    benchmark::DoNotOptimize(hash.hex());
  }
  set_rate(state);
}

void BM_csv_rows(benchmark::State& state) {
  const std::string path = numeric_file().path();
  for (auto _ : state) {
    CsvReader reader(path);
    std::span<const std::string_view> cells;
    while (reader.next(cells)) benchmark::DoNotOptimize(cells.data());
    benchmark::DoNotOptimize(reader.sha256());
  }
  set_rate(state);
}

void BM_csv_numbers(benchmark::State& state) {
  const std::string path = numeric_file().path();
  for (auto _ : state) {
    CsvReader reader(path);
    std::span<const std::string_view> cells;
    double sum = 0;
    while (reader.next(cells)) {
      for (const std::string_view cell : cells) {
        double value = 0;
        if (!parse_number(cell, value)) state.SkipWithError("not a number");
        sum += value;
      }
    }
    benchmark::DoNotOptimize(sum);
    benchmark::DoNotOptimize(reader.sha256());
  }
  set_rate(state);
}

BENCHMARK(BM_csv_read_and_hash_only)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_csv_rows)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_csv_numbers)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ellice
