#include "fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ellice/data/schema.hpp"
#include "ellice/model/model_file.hpp"

namespace ellice::fuzz {

void broken(std::string_view promise) {
  (void)std::fprintf(stderr, "broken promise: %s\n", std::string(promise).c_str());
  std::abort();
}

MemoryFile::MemoryFile(const std::uint8_t* data, std::size_t size)
    : descriptor_(::memfd_create("input", 0)) {
  promise(descriptor_ >= 0, "a file in memory");
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = ::write(descriptor_, data + done, size - done);
    promise(written > 0, "a file in memory");
    done += static_cast<std::size_t>(written);
  }
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

std::string MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

const Model& model_for(const std::string& sha256) {
  static const std::vector<Model> models = [] {
    std::vector<Model> read;
    const std::string folder = ELLICE_SOURCE_DIR "/tests/golden/models/";
    for (const char* name : {"implications", "squared", "compas", "iris3", "iris3-network"})
      read.push_back(read_model(folder + name + ".json"));
    return read;
  }();
  for (const Model& model : models) {
    if (model.sha256 == sha256) return model;
  }
  return models.front();
}

const Schema& schema() {
  static const Schema all = read_schema(ELLICE_SOURCE_DIR "/tests/golden/inputs/loans.yaml");
  return all;
}

}  // namespace ellice::fuzz
