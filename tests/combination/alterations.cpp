#include "combination/alterations.hpp"

#include <cmath>
#include <set>

#include "combination/draw.hpp"

namespace ellice::combination {

namespace {

/// Keys below which names of features stand.
const std::set<std::string>& with_names() {
  static const std::set<std::string> keys = {"query",  "counterfactual", "point",
                                             "bounds", "direction",      "queries"};
  return keys;
}

void visit(const Json& value, const Place& place, bool is_row, std::vector<Place>& found) {
  const auto add = [&](const auto& step, const std::string& name, const Json& child, bool row) {
    Place next{.at = place.at / step, .name = place.name + name};
    found.push_back(next);
    visit(child, next, row, found);
  };
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      const std::string name = is_row ? ".*" : (place.name.empty() ? "" : ".") + key;
      add(key, name, child, with_names().contains(key) || (is_row && key != "queries"));
    }
  } else if (value.is_array()) {
    const bool are_rows = place.name.ends_with("witnesses");
    for (std::size_t k = 0; k < value.size(); ++k) add(k, "[]", value[k], are_rows);
  }
}

Alteration change(const Json& document, const Place& place, std::string what, Json after) {
  Alteration result{.what = std::move(what), .document = document};
  Json& value = result.document.at(place.at);
  result.before = value;
  result.after = after;
  value = std::move(after);
  return result;
}

Alteration without(const Json& document, const Place& place) {
  Alteration result{.what = "left out", .document = document};
  result.before = document.at(place.at);
  Json& parent = result.document.at(place.at.parent_pointer());
  if (parent.is_object()) {
    parent.erase(place.at.back());
  } else {
    parent.erase(static_cast<std::size_t>(std::stoul(place.at.back())));
  }
  return result;
}

Json other_number(const Json& value, bool fine, std::string& what, Random& random) {
  const double number = value.get<double>();
  const bool is_whole = value.is_number_integer();
  switch (random.below(6)) {
    case 0:
      what = "by a millionth";
      if (!fine || is_whole || number == 0) return value;
      return number * (1 + 1e-6);
    case 1:
      what = "by a thousandth";
      return is_whole || number == 0 ? Json(number + 1) : Json(number * (1 + 1e-3));
    case 2:
      what = "less by a thousandth";
      return is_whole ? Json(number - 1) : Json(number * (1 - 1e-3));
    case 3:
      what = "other sign";
      return is_whole ? Json(-value.get<std::int64_t>()) : Json(-number);
    case 4:
      what = "much larger";
      return is_whole ? Json(value.get<std::int64_t>() + 7) : Json(3 * number + 1);
    default:
      what = "nothing";
      return 0;
  }
}

/// Words that stand somewhere else in such files.
Json other_text(const std::string& text, std::string& what, Random& random) {
  static const std::vector<std::string> words = {"optimal",    "certified",  "already_robust",
                                                 "reduced",    "infeasible", "not_found",
                                                 "unverified", "last-layer", "full",
                                                 "true",       "ensemble",   "isotropic",
                                                 "l2",         "l1",         "l1+l2",
                                                 "mixed",      "exact",      "network",
                                                 "gradient",   "greedy",     "data",
                                                 "granted",    "refused",    "later",
                                                 "income",     "f 1",        "low",
                                                 "yes",        "same",       "fresh:50",
                                                 "5%",         "1%",         "survival:95%",
                                                 "auto",       "train",      "off",
                                                 "proved",     "likely",     "increase",
                                                 "decrease"};
  if (once_in(random, 3)) {
    what = "other words";
    return text + " indeed";
  }
  if (once_in(random, 3)) {
    what = "no words";
    return "";
  }
  what = "words of another field";
  return one_of(random, words);
}

Json other_list(const Json& value, std::string& what, Random& random) {
  Json result = value;
  switch (random.below(4)) {
    case 0:
      what = "last left out";
      if (!value.empty()) result.erase(value.size() - 1);
      return result;
    case 1:
      what = "first left out";
      if (!value.empty()) result.erase(std::size_t{0});
      return result;
    case 2:
      what = "last twice";
      if (!value.empty()) result.push_back(value.back());
      return result;
    default:
      what = "two swapped";
      if (value.size() > 1) std::swap(result[0], result[1 + random.below(value.size() - 1)]);
      return result;
  }
}

}  // namespace

std::vector<Place> places_of(const Json& document) {
  std::vector<Place> found;
  visit(document, {}, false, found);
  return found;
}

std::optional<Alteration> altered(const Json& document, const Place& place, bool fine,
                                  Random& random) {
  const Json& value = document.at(place.at);
  const bool goes = once_in(random, value.is_object() ? 1 : 6);
  if (goes) return without(document, place);
  std::string what;
  Json after;
  if (value.is_number()) {
    after = other_number(value, fine, what, random);
  } else if (value.is_string()) {
    after = other_text(value, what, random);
  } else if (value.is_boolean()) {
    what = "the opposite";
    after = !value.get<bool>();
  } else if (value.is_array()) {
    after = other_list(value, what, random);
  } else {
    what = "something";
    after = 1;
  }
  if (after == value) return std::nullopt;
  return change(document, place, what, std::move(after));
}

}  // namespace ellice::combination
