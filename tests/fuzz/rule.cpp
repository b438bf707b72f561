// The language of rules and implications.

#include "ellice/data/rule.hpp"

#include <cmath>

#include "fuzz.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  return fuzz::accept([&] {
    if (is_implication(text)) {
      const Implication implication = parse_implication(text);
      fuzz::promise(parse_implication(implication.text) == implication, "its text reads back");
      fuzz::promise(implication.consequence.by >= 0, "a move has a size");
      return;
    }
    const Rule rule = parse_rule(text);
    fuzz::promise(parse_rule(rule.text) == rule, "its text reads back");
    fuzz::promise(!rule.terms.empty() && std::isfinite(rule.bound), "a rule has numbers");
    for (const auto& [name, coefficient] : rule.terms)
      fuzz::promise(std::isfinite(coefficient) && coefficient != 0, "a term has a number");
  });
}
