#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ellice {

/// SHA-256 of what is fed to it, as 64 lower-case hexadecimal digits (the form of sha256sum).
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  [[nodiscard]] std::string hex();  // ends the hash

 private:
  struct Context;
  struct Release {
    void operator()(Context* context) const;
  };
  std::unique_ptr<Context, Release> context_;
};

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace ellice
