// Runs a fuzz target on the files of folders, where there is no fuzzer: what was found once stays
// mended.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "ellice/core/file.hpp"
#include "fuzz.hpp"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int k = 1; k < argc; ++k) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[k])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::cout << file.string() << std::endl;  // at once: the last one shown is the one that failed
    const std::string text = ellice::read_file(file.string());
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::cout << files.size() << " files\n";
  return files.empty() ? 1 : 0;
}
