#pragma once

// One answer as a letter to the person: why, what to do, how long that holds, how it was checked.
// No scores and no numbers of queries.

#include <optional>
#include <string>
#include <vector>

#include "ellice/request/reason_codes.hpp"
#include "report/letter_messages.hpp"
#include "report/template.hpp"
#include "request/recourse_file.hpp"

namespace ellice {

struct LetterOptions {
  std::string lender = {};
  Date date = {};
  std::optional<Date> valid_until = {};
  std::optional<Date> horizon_ends = {};  // until when slow features were reckoned to change
};

/// The last day of a horizon that begins at a day: whole months and years by the calendar, all else
/// by days. Throws Error{argument} for one of more than a thousand years.
[[nodiscard]] Date end_of(const Horizon& horizon, const Date& begin);

/// The names that templates of letters may use (docs/reference/formats.md).
[[nodiscard]] TemplateFields letter_fields();

/// SHA-256 of the certificate's canonical JSON, by which a letter names it.
[[nodiscard]] std::string certificate_hash(const Certificate& certificate, const Schema& schema);

/// Names an answer: twelve digits of the hash of its record, whatever time it took.
[[nodiscard]] std::string letter_reference(const Answer& answer, const Schema& schema);

/// The changes of an answer, that of the smallest cost first: what the move would cost if it alone
/// were made, the schema's weights included. Equal ones in the schema's order.
[[nodiscard]] std::vector<Change> by_ease(const Answer& answer, const Encoder& encoder,
                                          const Cost& cost);

class LetterWriter {
 public:
  /// `request` must outlive the writer.
  LetterWriter(const Request& request, ReasonCodes codes, LetterMessages messages, Template page,
               LetterOptions options);

  /// Whether the base model accepts the person, who must have a query.
  [[nodiscard]] bool is_accepted(const Answer& answer) const;
  /// Whether the letter has a plan: one that is certified.
  [[nodiscard]] static bool has_plan(const Answer& answer);
  /// Of somebody who was declined.
  [[nodiscard]] std::string letter(const Answer& answer) const;

 private:
  [[nodiscard]] const Feature& feature(const std::string& name) const;
  [[nodiscard]] std::string value(const Feature& feature, const Value& value,
                                  const std::string& displayed) const;
  [[nodiscard]] TemplateValues reason(const Reason& reason) const;
  [[nodiscard]] TemplateValues step(const Change& change) const;
  [[nodiscard]] std::vector<std::string> conditions(const Answer& answer) const;
  [[nodiscard]] TemplateValues plan(const Answer& answer) const;

  const Request* request_;
  ReasonCodes codes_;
  LetterMessages messages_;
  Template page_;
  LetterOptions options_;
  TemplateValues common_;  // what all letters say
};

}  // namespace ellice
