#pragma once

// What the verifier's checks of the different sets share.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "certificate/eliminated_hessian.hpp"
#include "ellice/certificate/certificate.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/model.hpp"

namespace ellice::verification {

using LongVector = EliminatedHessian::LongVector;
using LongMatrix = EliminatedHessian::LongMatrix;

inline constexpr long double tolerance = 1e-9L;
/// Half the distance of neighbouring doubles: what writing a number may change of it, relatively.
inline constexpr long double unit_roundoff = 0x1p-53L;

/// Agreement of a stored number with the recomputed one, relative to its own size; `floor` is the
/// size below which a number is the rounding of larger ones.
inline bool agree(long double stored, long double recomputed, long double floor) {
  const long double size = std::max({std::abs(stored), std::abs(recomputed), floor});
  return std::abs(stored - recomputed) <= tolerance * size;
}

/// One model's part of a certificate, and where to say what is wrong with it.
struct Stated {
  std::string prefix = {};  // of the names of its numbers
  double logit = 0;
  double robust_logit = 0;
  double epsilon = 0;
  double threshold = 0;
};

class Check {
 public:
  Check(const Stated& stated, std::vector<std::string>& failures)
      : stated_(&stated), failures_(&failures) {}

  void number(std::string_view name, double found, long double recomputed, long double scale) {
    if (agree(found, recomputed, 1e-6L * scale)) return;
    failures_->push_back(fmt::format("{}{} is {}, recomputed {}", stated_->prefix, name, found,
                                     static_cast<double>(recomputed)));
  }
  void close(std::string_view name, long double found, long double recomputed,
             long double allowed) {
    if (std::abs(found - recomputed) <= allowed) return;
    failures_->push_back(fmt::format("{}{} is {}, recomputed {}", stated_->prefix, name,
                                     static_cast<double>(found), static_cast<double>(recomputed)));
  }
  void fail(std::string_view what) { failures_->push_back(stated_->prefix + std::string(what)); }
  void threshold(std::string_view which, long double logit) {
    if (logit >= static_cast<long double>(stated_->threshold)) return;
    failures_->push_back(fmt::format("{}{} logit {} is below the threshold {}", stated_->prefix,
                                     which, static_cast<double>(logit), stated_->threshold));
  }

 private:
  const Stated* stated_;
  std::vector<std::string>* failures_;
};

struct Recomputed {
  double logit = 0;
  double robust_logit = 0;
};

/// H, with the gauge of several classes.
[[nodiscard]] EliminatedHessian hessian_of(const Model& model,
                                           const std::optional<double>& damping);

/// What several classes' parameters, p each, have in common changes no difference of two scores,
/// and a curvature of its own makes H regular (theory.md, Result 37). Gives what rounding left out
/// of the sum, whose rounding would couple what they have in common with what they differ by.
LongMatrix add_gauge(LongMatrix& hessian, Index p);

/// The head's parameters, class by class.
[[nodiscard]] LongVector head_of(const Model& model);

/// [a_{L−1}; 1].
[[nodiscard]] LongVector features_of(const Model& model, VectorArg z);

/// Everything that a certificate says of the last-layer set of a model with one logit.
Recomputed check_head(const Model& model, const EliminatedHessian& eliminated, VectorArg z,
                      const Stated& stated, const Vector& worst_model,
                      std::vector<std::string>& failures);

/// The contest that a certificate of many classes speaks of: its target against all classes that it
/// does not call acceptable.
[[nodiscard]] Contest contest_of(const Model& model, const Certificate& certificate);

/// The part of a certificate that is about one rival: θ are the parameters of all classes, aᵀθ the
/// winner's score minus the rival's.
struct RivalPart {
  const LongVector& theta;
  const LongVector& a;
  Index rival;
  const Stated& stated;
  const Vector& worst_model;
};
using RivalCheck = std::function<Recomputed(const RivalPart& part)>;

/// Of the last-layer set. The Hessian and the failures must outlive it.
[[nodiscard]] RivalCheck ellipsoid_rival_check(const EliminatedHessian& eliminated,
                                               std::vector<std::string>& failures);

/// Everything that it says of each rival, and that none is missing.
Recomputed check_contest(const Model& model, const Contest& contest, const RivalCheck& check_rival,
                         VectorArg z, const Certificate& certificate, const Stated& stated,
                         std::vector<std::string>& failures);

}  // namespace ellice::verification
