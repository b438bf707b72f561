#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ellice::testing_support {

/// The text with ordinary blanks in place of those that do not break.
inline std::string with_plain_blanks(std::string text) {
  constexpr std::string_view unbroken = "\u00A0";
  for (std::size_t at = text.find(unbroken); at != std::string::npos; at = text.find(unbroken, at))
    text.replace(at, unbroken.size(), " ");
  return text;
}

/// What is wrong with the nesting of a page's tags; empty if every tag that opens is closed in
/// order, attributes are quoted, and no bare < or & stands in the text.
inline std::string markup_fault(std::string_view page) {
  static const std::set<std::string, std::less<>> empty_tags = {"meta", "input", "!DOCTYPE"};
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < page.size()) {
    const std::string near(page.substr(at, 60));
    if (page[at] == '&') {
      const std::size_t end = page.find(';', at);
      if (end == std::string_view::npos || end - at > 8) return "bare & at " + near;
      at = end + 1;
      continue;
    }
    if (page[at] == '>') return "bare > at " + near;
    if (page[at] != '<') {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    bool quoted = false;
    while (end < page.size() && (quoted || page[end] != '>')) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<') return "< inside a tag at " + near;
      ++end;
    }
    if (end == page.size()) return "unfinished tag at " + near;
    const std::string_view tag = page.substr(at + 1, end - at - 1);
    const std::size_t name_end = std::min(tag.find_first_of(" \n/", 1), tag.size());
    const std::string name(tag.substr(0, name_end));
    if (name.starts_with('/')) {
      if (open.empty() || open.back() != name.substr(1)) return "unexpected </> at " + near;
      open.pop_back();
    } else if (!tag.ends_with('/') && !empty_tags.contains(name)) {
      open.push_back(name);
    }
    at = end + 1;
    if (name == "style" || name == "script") at = page.find("</" + name + ">", at);
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

}  // namespace ellice::testing_support
