#include "ellice/model/coefficients.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <fstream>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "support/messages.hpp"
#include "support/numeric_dataset.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

/// A logistic regression as a statistics program fits it: no penalty, reference levels left out,
/// original units, the intercept last.
struct Fit {
  Vector beta = {};
  Matrix covariance = {};
  double log_likelihood = 0;
};

Fit fit(const RowMatrix& design, const std::vector<int>& labels) {
  const Index p = design.cols();
  Fit result{.beta = Vector::Zero(p)};
  for (int step = 0; step < 60; ++step) {
    Matrix information = Matrix::Zero(p, p);
    Vector gradient = Vector::Zero(p);
    result.log_likelihood = 0;
    for (Index i = 0; i < design.rows(); ++i) {
      const Vector x = design.row(i);
      const int y = labels[static_cast<std::size_t>(i)];
      const double score = x.dot(result.beta);
      const double probability = 1 / (1 + std::exp(-score));
      information += probability * (1 - probability) * x * x.transpose();
      gradient += (y - probability) * x;
      result.log_likelihood += y == 1 ? std::log(probability) : std::log1p(-probability);
    }
    result.covariance = information.fullPivLu().inverse();
    result.beta += result.covariance * gradient;
  }
  return result;
}

/// Applicants with a number, an ordinal level, a yes or no and one of three purposes.
struct Case {
  Schema schema;
  RowMatrix raw;     // as Dataset::raw
  RowMatrix design;  // income, grade, member=yes, purpose=car, purpose=home, 1
  std::vector<int> labels;
  Coefficients coefficients;
};

Case example(std::uint64_t seed) {
  Case result;
  result.schema.target = {.column = "approved", .favourable = "yes"};
  result.schema.features = {
      {.name = "income", .min = 500, .max = 9000},
      {.name = "grade", .kind = FeatureKind::ordinal, .levels = {"low", "middle", "high"}},
      {.name = "member", .kind = FeatureKind::binary, .levels = {"no", "yes"}},
      {.name = "purpose", .kind = FeatureKind::categorical, .levels = {"boat", "car", "home"}}};
  Random random(seed);
  const Index n = 400;
  result.raw.resize(n, 4);
  result.design = RowMatrix::Zero(n, 6);
  for (Index i = 0; i < n; ++i) {
    const double income = 500 + 8500 * random.uniform();
    const double grade = std::floor(3 * random.uniform());
    const double member = random.uniform() < 0.4 ? 1 : 0;
    const double purpose = std::floor(3 * random.uniform());
    result.raw.row(i) << income, grade, member, purpose;
    result.design.row(i) << income, grade, member, purpose == 1 ? 1 : 0, purpose == 2 ? 1 : 0, 1;
    const double score = income / 2000 - 2 + 0.5 * grade + member - 0.7 * (purpose == 1 ? 1 : 0);
    result.labels.push_back(random.uniform() < 1 / (1 + std::exp(-score)) ? 1 : 0);
  }
  const Fit fitted = fit(result.design, result.labels);
  const std::vector<std::string> names = {"income",      "grade",        "member=yes",
                                          "purpose=car", "purpose=home", "const"};
  for (std::size_t t = 0; t < names.size(); ++t)
    result.coefficients.terms.push_back(
        {.term = names[t], .estimate = fitted.beta(static_cast<Index>(t))});
  result.coefficients.covariance = fitted.covariance;
  result.coefficients.rows = n;
  result.coefficients.log_likelihood = fitted.log_likelihood;
  result.coefficients.sha256 = std::string(64, 'a');
  return result;
}

Vector with_one(const Vector& z) {
  Vector result(z.size() + 1);
  result << z, 1;
  return result;
}

// Result 52: with the encoder's own means and deviations, the ellipsoid that training finds.
TEST(Coefficients, GiveTheEllipsoidThatTheRowsGive) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const problem_zoo::Labelled rows = problem_zoo::random_rows(300, 5, seed);
    const Dataset data = problem_zoo::numeric_dataset(rows);
    const Model trained = train(data, {}, {.l2 = 0, .folds = 0}).model;
    RowMatrix design(data.raw.rows(), data.raw.cols() + 1);
    design << data.raw, Vector::Ones(data.raw.rows());
    const Fit fitted = fit(design, data.labels);
    Coefficients coefficients{.covariance = fitted.covariance,
                              .rows = data.raw.rows(),
                              .log_likelihood = fitted.log_likelihood,
                              .sha256 = std::string(64, 'b')};
    for (Index j = 0; j < data.raw.cols(); ++j)
      coefficients.terms.push_back({.term = data.schema.features[static_cast<std::size_t>(j)].name,
                                    .estimate = fitted.beta(j),
                                    .mean = trained.encoder.mean()(j),
                                    .scale = trained.encoder.scale()(j),
                                    .min = trained.encoder.min()(j),
                                    .max = trained.encoder.max()(j)});
    coefficients.terms.push_back({.term = "(Intercept)", .estimate = fitted.beta(data.raw.cols())});
    const Model model = model_of(coefficients, data.schema);
    const Matrix& expected = trained.curvature.hessian;
    EXPECT_LE((model.curvature.hessian - expected).norm(), 1e-8 * expected.norm());
    EXPECT_LE((model.network.head() - trained.network.head()).norm(),
              1e-8 * trained.network.head().norm());
    EXPECT_NEAR(model.training.objective, trained.training.objective, 1e-10);
  }
}

// Result 53: reference levels change neither scores nor how far models disagree about a row.
TEST(Coefficients, OfReferenceLevelsGiveTheirScoresAndStandardErrors) {
  for (const std::uint64_t seed : {4U, 5U, 6U}) {
    const Case one = example(seed);
    const Model model = model_of(one.coefficients, one.schema);
    const Eigen::LDLT<Matrix> hessian(model.curvature.hessian);
    ASSERT_TRUE(hessian.isPositive());
    const auto n = static_cast<double>(one.coefficients.rows);
    Vector beta(6);
    for (Index t = 0; t < 6; ++t)
      beta(t) = one.coefficients.terms[static_cast<std::size_t>(t)].estimate;
    for (Index i = 0; i < one.raw.rows(); ++i) {
      Vector z(model.encoder.columns());
      const Vector raw = one.raw.row(i);
      model.encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
      const Vector x = one.design.row(i);
      EXPECT_NEAR(model.logit(z), x.dot(beta), 1e-10);
      const Vector a = with_one(z);
      const double spread = n * x.dot(one.coefficients.covariance * x);
      EXPECT_NEAR(a.dot(hessian.solve(a)), spread, 1e-8 * spread);
    }
  }
}

TEST(Coefficients, RecommendTheirConfidenceRegion) {
  const Case one = example(7);
  const Model model = model_of(one.coefficients, one.schema);
  const Json& recommended = (**model.recommended)["last-layer"];
  EXPECT_NEAR(recommended["epsilon"].get<double>(), 12.591587243743977 / 800,
              1e-12);  // χ², 6, 95 %
  EXPECT_EQ(recommended["rule"], "confidence:95%");
}

TEST(Coefficients, OfTheOtherLabelAreTurned) {
  Case one = example(8);
  const Model yes = model_of(one.coefficients, one.schema);
  one.coefficients.event = "no";
  for (Coefficient& term : one.coefficients.terms) term.estimate = -term.estimate;
  const Model no = model_of(one.coefficients, one.schema);
  EXPECT_EQ(yes.network.head(), no.network.head());
  EXPECT_EQ(yes.curvature.hessian, no.curvature.hessian);
  EXPECT_EQ(no.decision.classes, (std::vector<std::string>{"no", "yes"}));
}

// As statsmodels with and without a formula, R, SAS and pandas write the same terms.
TEST(Coefficients, MayBeNamedAsProgramsNameThem) {
  Case one = example(9);
  const Model expected = model_of(one.coefficients, one.schema);
  const std::vector<std::vector<std::string>> styles = {
      {"income", "grade", "member[T.yes]", "C(purpose)[T.car]", "purpose[T.home]", "Intercept"},
      {"Q(\"income\")", "grade", "C(member, Treatment(reference='no'))[T.yes]",
       "C(Q('purpose'))[T.car]", "C(Q('purpose'), Sum)[T.home]", "const"},
      {"`income`", "grade", "memberyes", "purposecar", "purposehome", "(Intercept)"},
      {"income", "grade", "member yes", "purpose car", "purpose home", "Intercept"},
      {"income", "grade", "member", "purpose_car", "purpose_home", "_cons"}};
  for (const std::vector<std::string>& style : styles) {
    for (std::size_t t = 0; t < style.size(); ++t) one.coefficients.terms[t].term = style[t];
    EXPECT_EQ(model_of(one.coefficients, one.schema).sha256, expected.sha256) << style[2];
  }
}

TEST(Coefficients, InAnotherOrderAreTheSameModel) {
  Case one = example(10);
  const Model expected = model_of(one.coefficients, one.schema);
  std::reverse(one.coefficients.terms.begin(), one.coefficients.terms.end());
  one.coefficients.covariance = one.coefficients.covariance.reverse().eval();
  const Model model = model_of(one.coefficients, one.schema);
  EXPECT_LE((model.network.head() - expected.network.head()).norm(), 1e-12);
  EXPECT_LE((model.curvature.hessian - expected.curvature.hessian).norm(), 1e-12);
}

// Estimates by one program, their covariance by another.
// pandas holds whole numbers beside empty cells as floats.
TEST(Coefficients, OfLevelsThatAreWholeNumbersMayBeNamedByFloats) {
  Case one = example(9);
  std::vector<std::string>& levels = one.schema.features[3].levels;
  ASSERT_EQ(levels.size(), 3U);
  const std::vector<std::string> words = levels;
  const std::vector<std::string> numbers = {"1", "2", "3"};
  levels = numbers;
  const auto number_of = [&](const std::string& word) {
    return numbers[static_cast<std::size_t>(std::find(words.begin(), words.end(), word) -
                                            words.begin())];
  };
  const auto name = [&](const std::string& before, const std::string& after) {
    one.coefficients.terms[3].term = before + number_of("car") + after;
    one.coefficients.terms[4].term = before + number_of("home") + after;
  };
  name("C(purpose)[T.", "]");
  const Model expected = model_of(one.coefficients, one.schema);
  name("C(purpose)[T.", ".0]");
  EXPECT_EQ(model_of(one.coefficients, one.schema).sha256, expected.sha256);
  name("purpose_", ".0");
  EXPECT_EQ(model_of(one.coefficients, one.schema).sha256, expected.sha256);
  // A level of that very name is another one.
  levels[static_cast<std::size_t>(std::find(words.begin(), words.end(), "car") - words.begin())] =
      number_of("home") + ".0";
  EXPECT_ANY_THROW((void)model_of(one.coefficients, one.schema));
}

TEST(Coefficients, AndTheirCovarianceMayBeNamedDifferently) {
  Case one = example(14);
  const Model expected = model_of(one.coefficients, one.schema);
  one.coefficients.covariance = one.coefficients.covariance.reverse().eval();
  one.coefficients.covariance_terms = {"(Intercept)", "purposehome", "C(purpose)[T.car]",
                                       "memberyes",   "grade",       "income"};
  EXPECT_EQ(model_of(one.coefficients, one.schema).sha256, expected.sha256);
  one.coefficients.covariance_terms[1] = "purpose=boat";  // then "home" would be the reference
  expect_input_error([&] { return model_of(one.coefficients, one.schema); },
                     {"covariance has nothing for \"purpose=home\""});
}

// Without known scales those that the covariance shows: mean and deviation weighted by p(1 − p).
TEST(Coefficients, ShowTheSpreadOfTheirColumns) {
  const Case one = example(11);
  const Model model = model_of(one.coefficients, one.schema);
  Vector beta(6);
  for (Index t = 0; t < 6; ++t)
    beta(t) = one.coefficients.terms[static_cast<std::size_t>(t)].estimate;
  double weights = 0;
  double sum = 0;
  double squares = 0;
  for (Index i = 0; i < one.raw.rows(); ++i) {
    const double p = 1 / (1 + std::exp(-one.design.row(i).dot(beta)));
    weights += p * (1 - p);
    sum += p * (1 - p) * one.raw(i, 0);
    squares += p * (1 - p) * one.raw(i, 0) * one.raw(i, 0);
  }
  const double mean = sum / weights;
  EXPECT_NEAR(model.encoder.mean()(0), mean, 1e-8 * mean);
  EXPECT_NEAR(model.encoder.scale()(0), std::sqrt(squares / weights - mean * mean), 1e-6 * mean);
  EXPECT_EQ(model.encoder.min()(0), 500);
  EXPECT_EQ(model.encoder.max()(0), 9000);
}

// What a program calls the other level of a binary feature is the same model.
TEST(Coefficients, OfTheFirstLevelOfABinaryFeatureAreTurned) {
  Case one = example(15);
  const Model expected = model_of(one.coefficients, one.schema);
  one.design.col(2) = (1 - one.design.col(2).array()).matrix();
  const Fit fitted = fit(one.design, one.labels);
  for (std::size_t t = 0; t < 6; ++t)
    one.coefficients.terms[t].estimate = fitted.beta(static_cast<Index>(t));
  one.coefficients.terms[2].term = "C(member, Treatment('yes'))[T.no]";
  one.coefficients.covariance = fitted.covariance;
  const Model model = model_of(one.coefficients, one.schema);
  EXPECT_LE((model.network.head() - expected.network.head()).norm(), 1e-9);
  EXPECT_LE((model.curvature.hessian - expected.curvature.hessian).norm(), 1e-9);
}

TEST(Coefficients, OfAFeatureWhoseNameIsThatOfALevelAreItsOwn) {
  Case one = example(16);
  one.schema.features[0].name = "purposecar";
  one.coefficients.terms[0].term = "purposecar";
  one.coefficients.terms[3].term = "C(purpose)[T.car]";
  one.coefficients.terms[4].term = "factor(purpose)home";
  const Model model = model_of(one.coefficients, one.schema);
  EXPECT_NEAR(model.network.head()(0),
              one.coefficients.terms[0].estimate * model.encoder.scale()(0), 1e-12);
}

TEST(Coefficients, BecomeAFileThatIsReadBackAsItIs) {
  Case one = example(12);
  one.coefficients.tool = "R 4.2.2, glm";
  const Model model = model_of(one.coefficients, one.schema);
  const Json document = to_json(model);
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(document["origin"]["tool"], "R 4.2.2, glm");
  const Model again = model_from_json(document, "m.json");
  EXPECT_EQ(to_text(to_json(again)), to_text(document));
  EXPECT_EQ(again.sha256, model.sha256);
}

// Result 52 (v): two numbers of one range, which nothing else tells apart.
TEST(Coefficients, BesideTheCovarianceOfOthersGiveLogitsThatAreTooLarge) {
  Schema schema;
  schema.target = {.column = "approved", .favourable = "yes"};
  schema.features = {{.name = "income", .min = 0, .max = 9000},
                     {.name = "debt", .min = 0, .max = 9000}};
  int refused = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 20)) {
    Random random(seed);
    RowMatrix design(500, 3);
    std::vector<int> labels;
    for (Index i = 0; i < design.rows(); ++i) {
      const double income = 4000 + 4000 * random.uniform();
      const double debt = 3000 * random.uniform();
      design.row(i) << income, debt, 1;
      const double score = (income - 6000) / 700 - (debt - 1500) / 600;
      labels.push_back(random.uniform() < 1 / (1 + std::exp(-score)) ? 1 : 0);
    }
    const Fit fitted = fit(design, labels);
    Coefficients good{.terms = {{.term = "income", .estimate = fitted.beta(0)},
                                {.term = "debt", .estimate = fitted.beta(1)},
                                {.term = "const", .estimate = fitted.beta(2)}},
                      .covariance = fitted.covariance,
                      .rows = 500,
                      .log_likelihood = fitted.log_likelihood,
                      .sha256 = std::string(64, 'a')};
    EXPECT_NO_THROW((void)model_of(good, schema));
    const auto refuses = [&](const auto& alter) {
      Coefficients other = good;
      alter(other);
      expect_input_error([&] { return model_of(other, schema); }, {"logits have a mean square"});
      ++refused;
    };
    refuses([](Coefficients& one) { one.covariance_terms = {"debt", "income", "const"}; });
    refuses([](Coefficients& one) { one.terms[0].estimate *= 1000; });
    refuses([](Coefficients& one) { one.terms[1].estimate *= -1; });
    refuses([](Coefficients& one) { one.terms[2].estimate = 0; });
  }
  EXPECT_GT(refused, 40);
}

TEST(Coefficients, ThatDoNotFitAreRefusedByName) {
  const auto refuses = [](const auto& alter, std::initializer_list<std::string_view> words) {
    Case one = example(13);
    alter(one);
    expect_input_error([&] { return model_of(one.coefficients, one.schema); }, words);
  };
  const auto term = [](std::size_t t, const char* name) {
    return [=](Case& one) { one.coefficients.terms[t].term = name; };
  };
  refuses(term(0, "incme"), {"no term belongs to \"income\"", "`drop`"});
  refuses(term(5, "slope"), {"no term is the intercept"});
  refuses(term(0, "Intercept"), {"both the intercept"});
  refuses(term(3, "purpose=yacht"), {"\"boat\" and \"car\" have no term"});
  refuses(term(3, "income:grade"), {"\"boat\" and \"car\" have no term"});
  refuses([](Case& one) { one.schema.features.erase(one.schema.features.begin() + 2); },
          {"\"member=yes\" belongs to no feature"});
  refuses([](Case& one) { one.coefficients.rows = 250; }, {"over 250 rows"});
  refuses([](Case& one) { one.coefficients.log_likelihood /= 3; }, {"curvature", "log-likelihood"});
  refuses([](Case& one) { one.coefficients.covariance *= 1.6; }, {"curvature", "a robust one"});
  refuses(
      [](Case& one) {
        const Vector deviations = one.coefficients.covariance.diagonal().cwiseSqrt();
        one.coefficients.covariance.array() /= (deviations * deviations.transpose()).array();
      },
      {"curvature", "not their correlation"});
  refuses([](Case& one) { one.coefficients.log_likelihood = 12; }, {"log-likelihood of 12"});
  refuses([](Case& one) { one.coefficients.covariance(1, 1) = -1; },
          {"variance of \"grade\"", "-1"});
  refuses([](Case& one) { one.coefficients.covariance(1, 2) *= -3; },
          {"\"grade\"", "in one place"});
  refuses([](Case& one) { one.coefficients.covariance.conservativeResize(5, 5); }, {"5 rows"});
  refuses(
      [](Case& one) {
        one.coefficients.covariance.row(2) = (1 - 1e-13) * one.coefficients.covariance.row(1);
        one.coefficients.covariance.col(2) = one.coefficients.covariance.row(2);
        one.coefficients.covariance(2, 2) = one.coefficients.covariance(1, 1);
      },
      {"not positive definite"});
  refuses([](Case& one) { one.schema.features[0].max.reset(); }, {"\"income\"", "`min` and `max`"});
  refuses([](Case& one) { one.schema.missing = MissingPolicy::median; }, {"medians"});
  refuses([](Case& one) { one.coefficients.terms[0].scale = 0; }, {"\"income\"", "the scale 0"});
  refuses([](Case& one) { one.coefficients.terms[0].mean = 1e6; }, {"\"income\"", "the mean"});
  refuses([](Case& one) { one.coefficients.event = "YES"; }, {"\"YES\"", "case or blanks"});
  refuses([](Case& one) { one.schema.features[0].max = 600; }, {"\"income\" has a mean of"});
  // Of two terms the covariance is swapped.
  const auto swapped = [](Index i, Index j) {
    return [=](Case& one) {
      Matrix& covariance = one.coefficients.covariance;
      covariance.row(i).swap(covariance.row(j));
      covariance.col(i).swap(covariance.col(j));
    };
  };
  refuses(swapped(0, 2), {"by this covariance"});
  refuses(swapped(2, 3), {"by this covariance"});
  refuses(swapped(1, 4), {"by this covariance"});
  // Levels coded by their difference from the last one, as SAS does unless told otherwise.
  refuses(
      [](Case& one) {
        for (Index i = 0; i < one.design.rows(); ++i) {
          if (one.raw(i, 3) == 0) one.design(i, 3) = one.design(i, 4) = -1;
        }
        const Fit fitted = fit(one.design, one.labels);
        for (std::size_t t = 0; t < 6; ++t)
          one.coefficients.terms[t].estimate = fitted.beta(static_cast<Index>(t));
        one.coefficients.covariance = fitted.covariance;
      },
      {"no column of 0 and 1", "param=ref"});
  // A robust covariance: A⁻¹BA⁻¹ with squared residuals in B.
  refuses(
      [](Case& one) {
        Vector beta(6);
        for (Index t = 0; t < 6; ++t)
          beta(t) = one.coefficients.terms[static_cast<std::size_t>(t)].estimate;
        Matrix middle = Matrix::Zero(6, 6);
        for (Index i = 0; i < one.design.rows(); ++i) {
          const Vector x = one.design.row(i);
          const double rest =
              one.labels[static_cast<std::size_t>(i)] - 1 / (1 + std::exp(-x.dot(beta)));
          middle += rest * rest * x * x.transpose();
        }
        one.coefficients.covariance =
            (one.coefficients.covariance * middle * one.coefficients.covariance).eval();
      },
      {"not a robust one"});
  // Four digits.
  refuses(
      [](Case& one) {
        for (double& value : one.coefficients.covariance.reshaped()) {
          const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3);
          value = std::round(value / unit) * unit;
        }
      },
      {"eight digits"});
}

class CoefficientFiles : public testing::Test {
 protected:
  static Coefficients with_covariance(const std::string& estimates, const std::string& covariance) {
    Coefficients result = read_coefficients(estimates);
    read_covariance(covariance, result);
    return result;
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "coefficients_" + name;
    write_file(path, text);
    return path;
  }
};

TEST_F(CoefficientFiles, OfCsvAreMatchedByTheirNames) {
  const std::string estimates =
      write("e.csv",
            "Variable,ClassVal0,Estimate,StdErr,mean,scale\nIntercept,,-1.5,0.2,,\n"
            "income,,0.25,0.1,3000,500\npurpose,new car,0.5,0.3,,\n");
  const std::string covariance =
      write("c.csv",
            "Parameter,purposenew car,Intercept,income\nIntercept,2,1,3\nincome,6,3,5\n"
            "purposenew car,4,2,6\n");
  const Coefficients read = with_covariance(estimates, covariance);
  ASSERT_EQ(read.terms.size(), 3);
  EXPECT_EQ(read.terms[2].term, "purpose new car");
  EXPECT_EQ(read.terms[1].scale, 500);
  EXPECT_FALSE(read.terms[0].mean.has_value());
  EXPECT_EQ(read.covariance_terms,
            (std::vector<std::string>{"purposenew car", "Intercept", "income"}));
  EXPECT_EQ(read.covariance, (Matrix{{4, 2, 6}, {2, 1, 3}, {6, 3, 5}}));
  EXPECT_EQ(read.sha256.size(), 64);
}

// Two files were read: what is wrong with the one is not looked for in the other.
TEST_F(CoefficientFiles, FaultsOfTheCovarianceNameItsFile) {
  const std::string estimates = write("e2.csv", "term,estimate\nconst,1\nx,2\n");
  Schema schema{.target = {.column = "y", .favourable = "yes"}};
  schema.features = {{.name = "x", .min = 0, .max = 1}};
  const auto refuses = [&](const std::string& numbers,
                           std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(numbers);
    Coefficients read = with_covariance(estimates, write("cov2.csv", "t,const,x\n" + numbers));
    read.rows = 100;
    read.log_likelihood = -50;
    expect_input_error([&] { return model_of(read, schema); }, words);
  };
  refuses("const,-1,0\nx,0,1\n", {"cov2.csv: the variance of \"const\""});
  refuses("const,1,0.5\nx,0.1,1\n", {"cov2.csv: the covariance of \"x\" and \"const\""});
  refuses("const,9,0\nx,0,9\n", {"cov2.csv: by this covariance"});
  Coefficients other = with_covariance(estimates, write("cov2.csv", "t,a,b\na,1,0\nb,0,1\n"));
  other.rows = 100;
  other.log_likelihood = -50;
  expect_input_error([&] { return model_of(other, schema); }, {"cov2.csv: covariance: "});
}

TEST_F(CoefficientFiles, AsPandasWritesThemAreUnderstood) {
  const Coefficients read = with_covariance(write("p.csv", ",0\nconst,1\nx,2\n"),
                                            write("q.csv", ",const,x\nconst,1,0.5\nx,0.5,1\n"));
  EXPECT_EQ(read.terms[1].term, "x");
  EXPECT_EQ(read.terms[1].estimate, 2);
}

TEST_F(CoefficientFiles, OfJsonHoldEverything) {
  const Coefficients read = read_coefficients(
      write("f.json",
            R"({"terms": ["const", "x"], "estimates": [1, 2], "covariance": [[1, 0.5], [0.5, 2]],
                    "rows": 90, "log_likelihood": -40.5, "scale": {"x": 3}, "event": "no"})"));
  EXPECT_EQ(read.rows, 90);
  EXPECT_EQ(read.log_likelihood, -40.5);
  EXPECT_EQ(read.terms[1].scale, 3);
  EXPECT_EQ(read.event, "no");
}

TEST_F(CoefficientFiles, ThatAreWrongAreRefusedByPlace) {
  const std::string good = write("g.csv", "term,estimate\nconst,1\nx,2\n");
  const auto refuses = [&](const std::string& estimates, const std::string& covariance,
                           std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return with_covariance(estimates, covariance); }, words);
  };
  refuses(write("b.csv", "x,y\n1,2\n"), good, {"expected `term` and `estimate`"});
  refuses(write("b.csv", "term,estimate\nconst,one\n"), good, {":2", "\"one\""});
  refuses(good, write("b.csv", "t,const\nconst,1\n"), {"found 2 columns, expected 3"});
  refuses(good, write("b.csv", "t,const,z\nconst,1,1\nx,1,1\n"),
          {":3", "no column is called \"x\""});
  refuses(good, write("b.csv", "t,const,x\nconst,1,1\n"), {"no row for \"x\""});
  refuses(good, write("b.csv", "t,const,x\nx,1,1\nx,1,1\n"), {":3", "was there before"});
  refuses(good, write("b.csv", "t,const,x\nconst,1,inf\nx,1,1\n"), {":2", "\"inf\""});
  // Editors and spreadsheets write UTF-16, with a mark or without.
  for (const std::string& text : {std::string("term,estimate\nconst,1\n"), std::string("<PMML/>"),
                                  std::string("{\"terms\": []}")}) {
    std::string wide;
    for (const char c : text) wide += {c, '\0'};
    for (const std::string& mark : {std::string(), std::string("\xFF\xFE")}) {
      expect_input_error([&] { return read_coefficients(write("u.csv", mark + wide)); },
                         {"u.csv", "UTF-16", "save the file as UTF-8"});
    }
    expect_input_error([&] { return with_covariance(good, write("v.csv", "\xFF\xFE" + wide)); },
                       {"v.csv", "UTF-16"});
  }
  expect_input_error(
      [&] {
        return read_coefficients(write(
            "r.json", R"({"terms": ["const"], "estimates": [1], "covariance": [[1]], "rows": 9,
                          "log_likelihood": -4, "covariance_type": "HC3"})"));
      },
      {"covariance_type", "HC3", "nonrobust"});
}

}  // namespace
}  // namespace ellice
