#pragma once

// What stands in the head of a request, read and judged without any network.

#include <map>
#include <string>
#include <string_view>

namespace ellice::serve {

/// A path and the parameters behind its question mark, percent escapes undone.
struct Target {
  std::string path = {};
  std::map<std::string, std::string> query = {};
};

/// Throws Refusal{400} for what is no path, for escapes that are none, bytes that are not UTF-8,
/// control characters, and a parameter that stands twice.
[[nodiscard]] Target read_target(std::string_view target);

/// Without a token only who addresses this machine by a name of its own may ask, so that no page of
/// another site does it through a name that it turned to this address, and no page of another
/// site at all. Throws Refusal{403}.
void check_origin(const std::string& host, const std::string& origin, const std::string& site);

/// Throws Refusal{401} unless it is «Bearer » and the token; takes as long wherever they differ.
void check_token(const std::string& authorization, std::string_view token);

/// Throws Refusal{415} for anything but application/json, in UTF-8.
void check_type(const std::string& type);

/// A method's name for the log: one of HTTP's, or «other».
[[nodiscard]] std::string method_text(const std::string& method);

/// Now, as 2026-01-31T12:00:00.000Z.
[[nodiscard]] std::string time_text();

}  // namespace ellice::serve
