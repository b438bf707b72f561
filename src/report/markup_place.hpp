#pragma once

#include <string>
#include <string_view>

namespace ellice {

/// Follows HTML as browsers split it into tags and text, and knows what they would take further
/// text for.
class MarkupPlace {
 public:
  void follow(std::string_view markup);

  /// The first element that was met in which browsers read by rules of its own (script, svg, …), of
  /// which this class knows nothing; empty if none was.
  [[nodiscard]] const std::string& unknown_element() const { return unknown_; }

  /// Between tags, where escaped text is text.
  [[nodiscard]] bool is_text() const { return state_ == State::text; }
  /// Where escaped text stays what it is: between tags, or in the quotes of an attribute that holds
  /// words (no address, style or script).
  [[nodiscard]] bool takes_escaped_text() const;

 private:
  enum class State {
    text,
    tag_name,
    tag,  // between attributes
    attribute,
    after_name,
    before_value,
    value,
    remark,
    declaration,  // <!…>, <?…> and </ …>: ends at the first >
    style,
    title,  // no markup but its end, while escapes are undone
  };

  void step(char c);
  void step_tag_name(char c);
  void step_attribute(char c);
  void step_value(char c);
  void step_content(char c);
  void end_tag();

  State state_ = State::text;
  std::string name_ = {};       // of the tag
  std::string attribute_ = {};  // its name
  char quote_ = 0;              // of the value; 0: none
  std::string last_ =
      {};  // the end of a remark or of what a style or title holds, as far as it matters
  std::string unknown_ = {};
};

}  // namespace ellice
