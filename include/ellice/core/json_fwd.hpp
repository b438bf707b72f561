#pragma once

// The name of JSON for headers that only pass it on. Who builds or reads a value includes
// ellice/core/json.hpp, which costs every source that includes it a second of compiling.

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace ellice {

using Json = nlohmann::ordered_json;  // keys stay in the order in which a person would read them

class JsonObject;

/// A JSON value in a struct whose users need not see the JSON library. Copies are deep.
class HeldJson {
 public:
  HeldJson();            // an empty object
  HeldJson(Json value);  // NOLINT(google-explicit-constructor): it is the value
  HeldJson(const HeldJson& other);
  HeldJson(HeldJson&& other) noexcept;
  HeldJson& operator=(const HeldJson& other);
  HeldJson& operator=(HeldJson&& other) noexcept;
  ~HeldJson();

  [[nodiscard]] Json& operator*() { return *value_; }
  [[nodiscard]] const Json& operator*() const { return *value_; }
  [[nodiscard]] Json* operator->() { return value_.get(); }
  [[nodiscard]] const Json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<Json> value_;
};

}  // namespace ellice
