#include "flag_text.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace ellice::cli {

namespace {

std::set<std::string>& known_flags() {
  static std::set<std::string> flags;
  return flags;
}

/// What stands on a command line for a field, or nothing if it is none.
std::optional<std::string> mention(std::string_view inside) {
  const std::size_t colon = inside.find(": ");
  const std::string_view name = inside.substr(0, colon);
  if (name == "rows") return "--data FILE.csv or --dataset NAME";  // two flags for one field
  const std::string flag = field_flag(name);
  if (!known_flags().contains(flag)) return std::nullopt;
  if (colon == std::string_view::npos) return flag;
  return flag + " " + std::string(inside.substr(colon + 2));
}

}  // namespace

std::string field_flag(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void remember_flag(const std::string& flag) {
  known_flags().insert(flag);
}

std::string with_flags(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t open = text.find('`');
    const std::size_t close = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (close == std::string_view::npos) return result.append(text);
    const std::optional<std::string> flag = mention(text.substr(open + 1, close - open - 1));
    result.append(text.substr(0, open));
    result.append(flag ? *flag : std::string(text.substr(open, close - open + 1)));
    text.remove_prefix(close + 1);
  }
}

}  // namespace ellice::cli
