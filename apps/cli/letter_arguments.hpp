#pragma once

// `explain --letters`: its options, and what is done with them around the answers.

#include <memory>
#include <optional>
#include <string>

#include "ellice/explain/explainer.hpp"
#include "report/letter_batch.hpp"
#include "verb.hpp"

namespace ellice::cli {

struct LetterArguments {
  std::string folder = {};
  std::string page = {};      // a file; empty: our own template
  std::string messages = {};  // a file; empty: those of the language
  Language language = Language::en;
  std::string lender = {};
  std::string date = {};
  std::string valid_until = {};
  bool keeps_answers = false;  // in the folder, since no other place was named

  [[nodiscard]] bool are_asked() const { return !folder.empty(); }
};

void add_letter_options(Verb& verb, LetterArguments& arguments);
/// That nobody waits for letters that were not asked for.
void check_letter_options(const Verb& verb, const LetterArguments& arguments);

/// All that can be wrong with template, messages and folder is found when it is made, before any
/// answer is sought; without finish() the folder is left as it was.
class LetterJob {
 public:
  LetterJob(const LetterArguments& arguments, const std::string& id);

  /// Where the answers are written that the letters are about.
  [[nodiscard]] std::string answers_path() { return folder_.reserve("answers.json"); }
  /// `explainer` must outlive the job. `worth` where plans are trade-offs (LetterBatch).
  void begin(const Explainer& explainer, std::optional<double> worth);
  [[nodiscard]] LetterBatch* batch() { return batch_ ? &*batch_ : nullptr; }
  /// `left_out`: people whom the answers do not have, since the model accepts them.
  void finish(std::size_t left_out, const Console& console);

 private:
  LetterOptions options_;
  LetterMessages messages_;
  Template page_;
  LetterFolder folder_;
  std::optional<LetterBatch> batch_;
};

}  // namespace ellice::cli
