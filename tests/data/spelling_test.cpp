#include "data/spelling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/random.hpp"

namespace ellice {
namespace {

TEST(DisplayNumber, GroupsThousandsAndKeepsEveryDigit) {
  EXPECT_EQ(display_number(0), "0");
  EXPECT_EQ(display_number(999), "999");
  EXPECT_EQ(display_number(9000), "9 000");
  EXPECT_EQ(display_number(26500), "26 500");
  EXPECT_EQ(display_number(-26500), "-26 500");
  EXPECT_EQ(display_number(-100), "-100");
  EXPECT_EQ(display_number(1234567.125), "1 234 567.125");
  EXPECT_EQ(display_number(0.1), "0.1");
  EXPECT_EQ(display_number(1e22), "1e+22");
}

TEST(DisplayNumber, ReadsBackIdenticallyWithoutItsBlanks) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const double value =
        random.normal() * std::pow(10.0, static_cast<double>(random.below(14)) - 4);
    std::string text = display_number(value);
    std::erase(text, ' ');
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
  }
}

TEST(DisplayRounded, KeepsSoManyDigits) {
  EXPECT_EQ(display_rounded(28437.2), "28 400");
  EXPECT_EQ(display_rounded(0.0123456), "0.0123");
  EXPECT_EQ(display_rounded(2), "2");
}

TEST(DisplayPercent, NeverRoundsToNothingOrAll) {
  EXPECT_EQ(display_percent(0), "0.0 %");
  EXPECT_EQ(display_percent(0.312), "31.2 %");
  EXPECT_EQ(display_percent(1), "100.0 %");
  EXPECT_EQ(display_percent(0.0004), "< 0.1 %");
  EXPECT_EQ(display_percent(0.9996), "> 99.9 %");
}

TEST(DisplayValue, AddsTheUnitWhereThereIsOne) {
  EXPECT_EQ(display_with_unit({.name = "income", .unit = "EUR/year"}, 26500.0), "26 500 EUR/year");
  EXPECT_EQ(display_with_unit({.name = "housing"}, std::string("own")), "own");
}

TEST(FeatureLabel, ReadsAsWords) {
  EXPECT_EQ(feature_label({.name = "loan_amount"}), "loan amount");
}

TEST(Display, RoundsWhereAChangeStartsButNotAcrossItsEnd) {
  EXPECT_EQ(display_start(27361.819047619, 30000.0), "27 361.8");
  EXPECT_EQ(display_start(1234567.125, 2e6), "1 234 567");
  EXPECT_EQ(display_start(0.1 + 0.2, 1.0), "0.3");
  EXPECT_EQ(display_start(26500.0, 26500.0), "26 500");
  EXPECT_EQ(display_start(0.0, 1.0), "0");
  EXPECT_EQ(display_start(1.0000001, 1.0), "1.0000001") << "else there would be no change to see";
  EXPECT_EQ(display_start(1.2345678, 1.234569), "1.2345678") << "else it would seem to fall";
  EXPECT_EQ(display_start(3333.3, 8000.0, 3), "3 333") << "whole digits stay";
  EXPECT_EQ(display_start(17.3456, 48.0, 3), "17.3");
  EXPECT_EQ(display_start(std::string("rent"), std::string("own")), "rent");
}

}  // namespace
}  // namespace ellice
