#include "letter_arguments.hpp"

#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "id_check.hpp"
#include "request/recourse_file.hpp"

namespace ellice::cli {

namespace {

LetterOptions letter_options(const LetterArguments& arguments, const std::string& id) {
  require(!id.empty(), "--letters needs --id COLUMN: to whom each letter is addressed");
  require(arguments.lender.find_first_not_of(" \t\r\n") != std::string::npos,
          "--letters needs --lender NAME: who writes the letters");
  require(!arguments.date.empty(), "--letters needs --date YYYY-MM-DD: the day on the letters");
  LetterOptions options{.lender = arguments.lender, .date = parse_date(arguments.date, "--date")};
  if (!arguments.valid_until.empty()) {
    options.valid_until = parse_date(arguments.valid_until, "--valid-until");
    require(*options.valid_until >= options.date, "--valid-until {} is before --date {}",
            arguments.valid_until, arguments.date);
  }
  return options;
}

LetterMessages messages_of(const LetterArguments& arguments) {
  if (arguments.messages.empty()) return LetterMessages(arguments.language);
  return {read_file(arguments.messages), input_name(arguments.messages)};
}

Template page_of(const LetterArguments& arguments) {
  if (arguments.page.empty())
    return {default_letter_template(), "the template of letters", letter_fields()};
  const std::string page = read_file(arguments.page);
  require_input(
      page.find("{{") != std::string::npos,
      "{}: there is no field in it, and every letter would be the same; put {{{{#plan}}}} "
      "and others where they belong (docs/reference/formats.md, Letters)",
      input_name(arguments.page));
  return {page, input_name(arguments.page), letter_fields()};
}

std::string iso_text(const Date& date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::string people(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "person" : "people");
}

}  // namespace

void add_letter_options(Verb& verb, LetterArguments& arguments) {
  const std::string group = "Letters";
  verb.add_option("--letters", arguments.folder,
                  "write a page to print for every person who is declined into this folder, which "
                  "must be new or empty, and without -o and --format the answers with them; needs "
                  "--id, --lender and --date")
      ->type_name("FOLDER")
      ->group(group);
  verb.add_option("--lender", arguments.lender, "who writes: a name, further lines below it")
      ->type_name("NAME")
      ->group(group);
  verb.add_option("--date", arguments.date, "the day on the letters, or on the page")
      ->type_name("YYYY-MM-DD")
      ->group(group);
  verb.add_option(
          "--valid-until", arguments.valid_until,
          "the last day on which the lender keeps to the plans; without it letters say that "
          "there is no such day")
      ->type_name("YYYY-MM-DD")
      ->group(group);
  add_choice(verb, "--language", arguments.language, "of the letters")->group(group);
  verb.add_option("--letter-template", arguments.page,
                  "HTML with {{fields}} in place of our own page")
      ->type_name("FILE")
      ->group(group);
  verb.add_option("--letter-messages", arguments.messages,
                  "YAML with all messages in place of those of the language")
      ->type_name("FILE")
      ->group(group);
}

void check_letter_options(const Verb& verb, const LetterArguments& arguments) {
  require(arguments.are_asked() || !verb.gives("--letters"),
          "--letters: found \"\", expected a folder");
  for (const char* const option :
       {"--lender", "--valid-until", "--language", "--letter-template", "--letter-messages"}) {
    require(arguments.are_asked() || !verb.gives(option),
            "{} is for --letters; give --letters FOLDER as well, or leave it out", option);
  }
}

LetterJob::LetterJob(const LetterArguments& arguments, const std::string& id)
    : options_(letter_options(arguments, id)),
      messages_(messages_of(arguments)),
      page_(page_of(arguments)),
      folder_(arguments.folder) {}

void LetterJob::begin(const Explainer& explainer, std::optional<double> worth) {
  if (const std::optional<Horizon>& horizon = explainer.problem().constraints.horizon) {
    options_.horizon_ends = end_of(*horizon, options_.date);
    if (options_.valid_until && *options_.valid_until < *options_.horizon_ends) {
      fail(
          ErrorCode::argument,
          "--valid-until {} is before the end of the horizon, {} ({} from --date): a plan may take "
          "that long",
          iso_text(*options_.valid_until), iso_text(*options_.horizon_ends), to_text(*horizon));
    }
  }
  batch_.emplace(folder_,
                 LetterWriter(explainer.resolved(), explainer.request().reason_codes, messages_,
                              page_, options_),
                 explainer.model().schema(), worth);
}

void LetterJob::finish(std::size_t left_out, const Console& console) {
  batch_->finish();
  folder_.commit();
  const LetterCounts& counts = batch_->counts();
  std::string others;
  if (counts.unreadable > 0)
    others += fmt::format(" and {} whose row cannot be read", people(counts.unreadable));
  const std::vector<std::size_t>& incomplete = batch_->incomplete_rows();
  if (!incomplete.empty())
    others += fmt::format(" and {} whose row has empty cells", people(incomplete.size()));
  console.info(fmt::format(
      "wrote {} {} to {}: {} with a plan, {} that say that there is none; no letter for {} "
      "already accepted{}",
      counts.letters(), counts.letters() == 1 ? "letter" : "letters", folder_.path(), counts.plans,
      counts.without_plan, people(counts.accepted + left_out), others));
  if (!incomplete.empty()) {
    console.warning(fmt::format(
        "no letter for {} ({}, counted from 1 below the header): empty cells of the row are filled "
        "by a guess, which a letter would state as the person's own; complete {} and explain {} "
        "again",
        people(incomplete.size()), named_rows(incomplete),
        incomplete.size() == 1 ? "the row" : "these rows", incomplete.size() == 1 ? "it" : "them"));
  }
  if (batch_->letters_with_protected_reasons() == 0) return;
  std::string features;
  for (const auto& [name, count] : batch_->protected_reasons())
    features += fmt::format("{}{} in {}", features.empty() ? "" : ", ", name, count);
  console.warning(fmt::format(
      "{} of {} letters give a protected feature as a principal reason ({}): look at them before "
      "they are sent",
      batch_->letters_with_protected_reasons(), counts.letters(), features));
}

}  // namespace ellice::cli
