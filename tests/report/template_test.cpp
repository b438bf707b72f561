#include "report/template.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

TemplateFields people_fields() {
  TemplateFields fields{.texts = {"bank", "word"}};
  fields.lists["people"].texts = {"name", "word"};
  fields.lists["people"].lists["plans"].texts = {"step"};
  return fields;
}

TemplateValues people_values() {
  const TemplateValues ann{
      .texts = {{"name", "Ann"}, {"word", "inner"}},
      .lists = {{"plans", {{.texts = {{"step", "1"}}}, {.texts = {{"step", "2"}}}}}}};
  const TemplateValues bob{.texts = {{"name", "Bob"}}};
  return {.texts = {{"bank", "B"}, {"word", "outer"}}, .lists = {{"people", {ann, bob}}}};
}

std::string rendered(const std::string& text) {
  return Template(text, "t.html", people_fields()).render(people_values());
}

std::string template_fault(const std::string& text) {
  try {
    (void)Template(text, "t.html", people_fields());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "";
}

TEST(Template, FillsFieldsListsAndWhatIsAbsent) {
  EXPECT_EQ(rendered("{{bank}} {{ bank }}{{! a remark}}"), "B B");
  EXPECT_EQ(rendered("{{#people}}{{name}} {{/people}}"), "Ann Bob ");
  EXPECT_EQ(Template("[{{bank}}{{#people}}x{{/people}}]", "t.html", people_fields()).render({}),
            "[]");
}

TEST(Template, FindsTheInnermostName) {
  EXPECT_EQ(rendered("{{word}}{{#people}} {{name}}:{{word}}:{{bank}}{{/people}}"),
            "outer Ann:inner:B Bob:outer:B");
}

TEST(Template, NestsLists) {
  EXPECT_EQ(rendered("{{#people}}{{name}}{{#plans}}[{{step}}{{name}}]{{/plans}}{{^plans}}-{{/"
                     "plans}}{{/people}}"
                     "{{^people}}nobody{{/people}}"),
            "Ann[1Ann][2Ann]Bob-");
}

TEST(Template, NamesFileLineAndFieldOfWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n\n{{bnak}}", "t.html:3: unknown field \"bnak\"; did you mean \"bank\"?"},
      {"{{#peopel}}{{/peopel}}", "t.html:1: unknown field \"peopel\""},
      {"\n{{name}}", "t.html:2: field \"name\" is known inside of {{#people}} only"},
      {"{{^people}}{{name}}{{/people}}", "field \"name\" is known inside of {{#people}} only"},
      {"{{people}}",
       "field \"people\" is a text where a list is expected, or a list where a text is"},
      {"{{#bank}}{{/bank}}", "field \"bank\" is a text where"},
      {"{{}}", "unknown field \"\""},
      {"a\n{{#people}}\n\n", "t.html:2: {{#people}} is never closed by {{/people}}"},
      {"{{/people}}", "{{/people}} closes nothing"},
      {"{{#people}}{{#plans}}\n{{/people}}{{/plans}}",
       "t.html:2: {{/people}} stands where {{/plans}} is expected"},
      {"\n{{bank", "t.html:2: {{ without }}"},
      {"{{{bank}}}", "\"{{{\" is not understood"},
      {"{{&bank}}", "\"{{&\" is not understood"},
      {"{{>other}}", "\"{{>\" is not understood"},
      {"\xFF", "t.html:1: not UTF-8"},
  };
  for (const auto& [text, words] : cases) {
    EXPECT_NE(template_fault(text).find(words), std::string::npos) << text << "\n"
                                                                   << template_fault(text);
  }
}

TEST(Template, RefusesFieldsWhereEscapedTextCouldDoSomething) {
  for (const std::string text : {"<p {{bank}}>",
                                 "<p class={{bank}}>",
                                 "<{{bank}}>",
                                 "</{{bank}}>",
                                 "<a href=\"{{bank}}\">",
                                 "<p onclick=\"{{bank}}\">",
                                 "<p style='{{bank}}'>",
                                 "<img src='{{bank}}'>",
                                 "<meta content=\"{{bank}}\">",
                                 "<style>{{bank}}</style>",
                                 "<STYLE>{{bank}}</STYLE>",
                                 "<style></styl{{bank}}e></style>",
                                 "<script>{{bank}}</script>",
                                 "<script></script>{{bank}}",
                                 "<!-- {{bank}} -->",
                                 "<!--><script>-->{{bank}}",
                                 "<!---><script>-->{{bank}}",
                                 "<!-- --!><script>-->{{bank}}",
                                 "<!x a=\"><script>{{bank}}</script>\">",
                                 "<? a='><script>{{bank}}</script>'>",
                                 "</ a='><script>{{bank}}</script>'>",
                                 "<title><p title='</title><script>{{bank}}'></title>",
                                 "<textarea>{{bank}}</textarea>",
                                 "<svg><style>{{bank}}</style></svg>",
                                 "<p title=\"{{#people}}\"></p>{{/people}}",
                                 "{{#people}}<style>{{/people}}</style>",
                                 "<style>{{#people}}</style>{{/people}}",
                                 "{{#people}}<{{/people}}script>",
                                 "<p title=\"\" {{bank}}=\"\">",
                                 "<p title {{bank}}>",
                                 "<p title=\"{{bank}}",
                                 "<p",
                                 "<!-- ",
                                 "<style>",
                                 "<p title='a'href='{{bank}}'>",
                                 "<p title/href='{{bank}}'>",
                                 "<p title =\n{{bank}}>",
                                 "<iframe srcdoc='x'></iframe>{{bank}}"}) {
    EXPECT_NE(template_fault(text), "") << text;
  }
}

TEST(Template, TakesFieldsWhereEscapedTextIsText) {
  for (const std::string text :
       {"{{bank}}", "<p>{{bank}}</p>", "<p title=\"{{bank}}\">", "<html LANG='{{bank}}'>",
        "<title>{{bank}}</title>", "<!DOCTYPE html><p>{{bank}}", "<!-- -->{{bank}}",
        "<!-->{{bank}}", "<style>p > a {}</style >{{bank}}", "1 < 2 {{bank}}", "<br/>{{bank}}",
        "<p class=a title = \"{{bank}}\">", "<p hidden title=\"{{bank}}\">", "</>{{bank}}",
        "<style>a</styles>b</style>{{bank}}"}) {
    EXPECT_EQ(template_fault(text), "") << text;
  }
}

/// What a browser makes of escaped text; written apart from the code that escapes.
std::string unescaped(std::string text) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [name, sign] : names) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at)
      text.replace(at, name.size(), sign);
  }
  return text;
}

TEST(Template, LetsNoValueBecomeMarkup) {
  const std::string before = "<html lang=\"en\"><title>", between = "</title><p title=\"";
  const Template page(
      before + "{{bank}}" + between + "{{bank}}\" class='{{bank}}'>{{bank}}</p></html>", "t.html",
      people_fields());
  const std::vector<std::string> pieces = {
      "<",  ">",        "\"",       "'",    "&",    "</title>", "<script>", "-->",
      "{{", "{{bank}}", "&lt;",     "&#39", "}}",   "]]>",      "=",        "ä",
      "\n", " ",        "onload=x", "/",    "<!--", "</p>",     "\\",       "`"};
  std::mt19937_64 random(20260301);
  for (int k = 0; k < 3000; ++k) {
    std::string value;
    for (std::uint64_t n = random() % 12; n > 0; --n) value += pieces[random() % pieces.size()];
    const std::string out = page.render({.texts = {{"bank", value}}});
    // Four times the same escaped text and otherwise the template, byte for byte.
    const std::size_t size = (out.size() - page.render({}).size()) / 4;
    const std::string shown = out.substr(before.size(), size);
    ASSERT_EQ(shown.find_first_of("<>\"'"), std::string::npos) << out;
    ASSERT_EQ(unescaped(shown), value);
    ASSERT_EQ(out, before + shown + between + shown + "\" class='" + shown + "'>" + shown +
                       "</p></html>");
  }
}

TEST(Template, EndsOnTextsOfAllKinds) {
  const std::vector<std::string> pieces = {
      "{{",       "}}",      "{{#people}}", "{{/people}}", "{{^plans}}", "{{/plans}}",
      "{{bank}}", "<p ",     ">",           "title=\"",    "\"",         "<!--",
      "-->",      "<style>", "</style>",    "'",           "\n"};
  std::mt19937_64 random(7);
  int taken = 0;
  for (int k = 0; k < 5000; ++k) {
    std::string text;
    for (std::uint64_t n = random() % 8; n > 0; --n) text += pieces[random() % pieces.size()];
    if (!template_fault(text).empty()) continue;
    ++taken;
    (void)rendered(text);
  }
  EXPECT_GT(taken, 100);
  std::string deep;
  for (int k = 0; k < 100000; ++k) deep += "{{#people}}";
  EXPECT_NE(template_fault(deep).find("lists inside of each other"), std::string::npos);
}

}  // namespace
}  // namespace ellice
