#pragma once

// Letters of many people in one folder, which holds all of them or nothing.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/formula_guard.hpp"
#include "report/letter.hpp"
#include "report/letter_folder.hpp"

namespace ellice {

/// How many people got which letter.
struct LetterCounts {
  std::size_t plans = 0;
  std::size_t without_plan = 0;
  std::size_t accepted = 0;    // no letter
  std::size_t unreadable = 0;  // no letter
  [[nodiscard]] std::size_t letters() const { return plans + without_plan; }
};

class LetterBatch {
 public:
  /// The folder and the writer's request must outlive it. `worth`: several plans of a person are a
  /// trade-off, of which a letter has the one to recommend; without it the first.
  LetterBatch(LetterFolder& folder, LetterWriter writer, const Schema& schema,
              std::optional<double> worth = {});

  /// One letter for each person that was declined, whose plans stand together. None for those of
  /// `incomplete` (query indices): their row has cells that were empty and are filled.
  void add(const std::vector<Answer>& answers, const std::set<std::size_t>& incomplete = {});
  /// Adds index.csv: who got which letter.
  void finish();

  [[nodiscard]] const LetterCounts& counts() const { return counts_; }
  /// Protected features that letters give as reasons, and how many letters do.
  [[nodiscard]] const std::map<std::string, std::size_t>& protected_reasons() const {
    return protected_reasons_;
  }
  [[nodiscard]] std::size_t letters_with_protected_reasons() const { return with_protected_; }
  /// Rows, from 0, of people who were declined and get no letter, because it would state a guessed
  /// value as theirs.
  [[nodiscard]] const std::vector<std::size_t>& incomplete_rows() const { return incomplete_; }

 private:
  void add(const Answer& answer, bool is_complete);
  void count_protected(const Answer& answer);

  LetterFolder* folder_;
  LetterWriter writer_;
  const Schema* schema_;
  std::optional<double> worth_;
  LetterCounts counts_ = {};
  std::map<std::string, std::size_t> protected_reasons_ = {};
  std::size_t with_protected_ = 0;
  std::vector<std::size_t> incomplete_ = {};
  FormulaGuard guard_{true};  // the index is for people, who open it in spreadsheets
  std::string index_;
};

/// «000012_A-2040.html»: the row, counted from 1, which makes it unique, and what of the id is safe
/// in the names of files; «000012.html» without an id.
[[nodiscard]] std::string letter_file_name(const Answer& answer);

}  // namespace ellice
