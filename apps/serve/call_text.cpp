#include "call_text.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "core/sha256.hpp"
#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "exchange.hpp"

namespace ellice::serve {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string unescaped(std::string_view text, bool plus_is_blank) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      result += ' ';
      continue;
    }
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) throw Refusal(400, "a % without two hexadecimal digits", "path");
    result += static_cast<char>(16 * high + low);
    i += 2;
  }
  const bool has_control = std::any_of(result.begin(), result.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (has_control || find_invalid_utf8(result))
    throw Refusal(400, "control characters, or bytes that are not UTF-8", "path");
  return result;
}

/// A host without its port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(0, end + 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_own_name(std::string_view host) {
  const std::string name = lower_case(host_name(host));
  if (name == "localhost" || name == "[::1]") return true;
  // 127.0.0.0/8 and nothing that a name server answers for.
  return name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

Target read_target(std::string_view target) {
  if (!target.starts_with('/')) throw Refusal(400, "a path begins with /", "path");
  const std::size_t mark = target.find('?');
  Target result{.path = unescaped(target.substr(0, mark), false)};
  if (mark == std::string_view::npos) return result;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string key = unescaped(pair.substr(0, equals), true);
    const std::string value =
        equals == std::string_view::npos ? "" : unescaped(pair.substr(equals + 1), true);
    if (!result.query.emplace(key, value).second)
      throw Refusal(400, "the parameter stands twice", shortened(key, 40));
  }
  return result;
}

void check_origin(const std::string& host, const std::string& origin, const std::string& site) {
  if (!is_own_name(host)) {
    throw Refusal(403,
                  "without a token this service answers to localhost and 127.0.0.1 alone, and the "
                  "request is addressed to another host",
                  "Host");
  }
  const bool is_same = origin.empty() || origin == "http://" + host;
  if (!is_same || site == "cross-site")
    throw Refusal(403, "pages of other sites may not ask", "Origin");
}

void check_token(const std::string& authorization, std::string_view token) {
  constexpr std::string_view scheme = "bearer ";  // in whichever case
  const bool is_bearer = lower_case(authorization.substr(0, scheme.size())) == scheme;
  // Hashes are equally long.
  const std::string found = sha256_hex(is_bearer ? authorization.substr(scheme.size()) : "");
  const std::string expected = sha256_hex(std::string(token));
  if (CRYPTO_memcmp(found.data(), expected.data(), expected.size()) != 0)
    throw Refusal(401, "give the token: `Authorization: Bearer TOKEN`", "Authorization");
}

void check_type(const std::string& type) {
  std::string text = lower_case(type);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '"'; });
  if (text != "application/json" && text != "application/json;charset=utf-8")
    throw Refusal(415, "the body must be application/json", "Content-Type");
}

std::string method_text(const std::string& method) {
  static constexpr std::array<std::string_view, 8> known = {"GET",     "POST",  "PUT",   "DELETE",
                                                            "OPTIONS", "PATCH", "TRACE", "CONNECT"};
  return std::find(known.begin(), known.end(), method) == known.end() ? "other" : method;
}

std::string time_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", std::string_view(text.data(), size), milliseconds % 1000);
}

}  // namespace ellice::serve
