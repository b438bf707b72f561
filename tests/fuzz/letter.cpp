// Templates of letters and catalogues of their messages: every text is tried as both.

#include "report/letter.hpp"

#include "fuzz.hpp"
#include "report/letter_messages.hpp"
#include "report/template.hpp"

using namespace ellice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::accept([&] {
    const LetterMessages messages(text, "fuzzed.yaml");
    fuzz::promise(messages.number("1 234") != messages.number("1.234"), "numbers are told apart");
    (void)messages.percent(0.123);
    (void)messages.date(parse_date("2026-05-01", "--date"));
    (void)messages.unit("EUR/year");
    (void)messages.plain();
  });
  return fuzz::accept([&] {
    const Template page(text, "fuzzed.html", letter_fields());
    fuzz::promise(page.render({}) == page.render({}), "a page is the same twice");
  });
}
