#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "ellice/core/error.hpp"

namespace ellice::testing_support {

/// The message of the Error that `call` throws, which must have this code; "" if it throws none.
template <class F>
std::string message_of(ErrorCode code, F&& call) {
  try {
    (void)call();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_words(const std::string& message,
                         std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << "\"" << word << "\" is not in: " << message;
  }
}

/// `call` throws Error{input} whose message holds all these words.
template <class F>
void expect_input_error(F&& call, std::initializer_list<std::string_view> words) {
  expect_words(message_of(ErrorCode::input, call), words);
}

}  // namespace ellice::testing_support
