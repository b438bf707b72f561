#pragma once

// Sums and products with about 104 bits on every processor: an unevaluated sum of two doubles
// (docs/theory.md, Result 50, which bounds the errors). Sums of errors contain no product that a
// compiler could fuse with anything, so its options do not matter.

#include <cmath>

namespace ellice {

class DoubleDouble {
 public:
  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double value) : high_(value) {}  // NOLINT(google-explicit-constructor)
  /// Exact for 64 bits; of 113 the last ones are rounded.
  explicit DoubleDouble(long double value)
      : high_(static_cast<double>(value)), low_(static_cast<double>(value - high_)) {}

  explicit operator long double() const { return static_cast<long double>(high_) + low_; }
  explicit operator double() const { return high_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double low() const { return low_; }

  friend DoubleDouble operator-(const DoubleDouble& value) { return {-value.high_, -value.low_}; }
  friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble high = exact_sum(a.high_, b.high_);
    const DoubleDouble low = exact_sum(a.low_, b.low_);
    const DoubleDouble whole = exact_sum(high.high_, high.low_ + low.high_);
    return exact_sum(whole.high_, whole.low_ + low.low_);
  }
  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }
  friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    const double product = a.high_ * b.high_;
    const double error = std::fma(a.high_, b.high_, -product);
    const double mixed = a.high_ * b.low_ + a.low_ * b.high_;
    return exact_sum(product, error + mixed);
  }
  DoubleDouble& operator+=(const DoubleDouble& other) { return *this = *this + other; }
  DoubleDouble& operator-=(const DoubleDouble& other) { return *this = *this - other; }

  /// a + b: rounded, and its error, which is a double.
  static DoubleDouble exact_sum(double a, double b) {
    const double sum = a + b;
    const double of_b = sum - a;
    return {sum, (a - (sum - of_b)) + (b - of_b)};
  }

 private:
  constexpr DoubleDouble(double high, double low) : high_(high), low_(low) {}

  double high_ = 0;
  double low_ = 0;
};

}  // namespace ellice
