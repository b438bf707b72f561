#pragma once

#include <unistd.h>

namespace ellice {

/// Closes a file of the operating system when it goes. Standard input stays open.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ > STDIN_FILENO) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

}  // namespace ellice
