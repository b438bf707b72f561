#include "model/pmml.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

// The shape in which sklearn2pmml and others write a logistic regression.
const std::string regression = R"(<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header><Application name="SkLearn2PMML" version="0.110"/></Header>
  <DataDictionary><DataField name="approved" optype="categorical" dataType="string"/></DataDictionary>
  <RegressionModel functionName="classification" normalizationMethod="logit">
    <MiningSchema><MiningField name="approved" usageType="target"/></MiningSchema>
    <RegressionTable intercept="-1.5" targetCategory="yes">
      <NumericPredictor name="income" coefficient="0.25"/>
      <CategoricalPredictor name="purpose" value="boat" coefficient="0"/>
      <CategoricalPredictor name="purpose" value="new &amp; old car" coefficient="0.5"/>
    </RegressionTable>
    <RegressionTable intercept="0" targetCategory="no"/>
  </RegressionModel>
</PMML>)";

// The shape in which R's pmml and SPSS write it.
const std::string general = R"xml(<PMML version="4.3"><Header/>
  <GeneralRegressionModel functionName="classification" modelType="generalizedLinear" linkFunction="logit">
    <ParameterList><Parameter name="p0" label="(Intercept)"/><Parameter name="p1" label="income"/>
      <Parameter name="p2" label="purposecar"/></ParameterList>
    <FactorList><Predictor name="purpose"/></FactorList>
    <CovariateList><Predictor name="income"/></CovariateList>
    <PPMatrix><PPCell value="1" predictorName="income" parameterName="p1"/>
      <PPCell value="car" predictorName="purpose" parameterName="p2"/></PPMatrix>
    <PCovMatrix><PCovCell pRow="p0" pCol="p0" value="4"/><PCovCell pRow="p1" pCol="p0" value="1"/>
      <PCovCell pRow="p1" pCol="p1" value="5"/><PCovCell pRow="p2" pCol="p0" value="2"/>
      <PCovCell pRow="p2" pCol="p1" value="3"/><PCovCell pRow="p2" pCol="p2" value="6"/></PCovMatrix>
    <ParamMatrix><PCell targetCategory="yes" parameterName="p0" df="1" beta="-1.5"/>
      <PCell targetCategory="yes" parameterName="p1" df="1" beta="0.25"/>
      <PCell targetCategory="yes" parameterName="p2" df="1" beta="0.5"/></ParamMatrix>
  </GeneralRegressionModel></PMML>)xml";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Pmml, OfARegressionModelGivesItsTable) {
  const Coefficients read = parse_pmml(regression, "m.pmml");
  ASSERT_EQ(read.terms.size(), 3);
  EXPECT_EQ(read.terms[0].term, "(Intercept)");
  EXPECT_EQ(read.terms[0].estimate, -1.5);
  EXPECT_EQ(read.terms[1].term, "income");
  EXPECT_EQ(read.terms[2].term, "purpose=new & old car");
  EXPECT_EQ(read.terms[2].estimate, 0.5);
  EXPECT_EQ(read.event, "yes");
  EXPECT_EQ(read.tool, "SkLearn2PMML 0.110");
  EXPECT_EQ(read.covariance.size(), 0);
}

TEST(Pmml, OfAGeneralModelGivesItsCovarianceToo) {
  const Coefficients read = parse_pmml(general, "m.pmml");
  ASSERT_EQ(read.terms.size(), 3);
  EXPECT_EQ(read.terms[0].term, "(Intercept)");
  EXPECT_EQ(read.terms[2].term, "purpose=car");
  EXPECT_EQ(read.covariance, (Matrix{{4, 1, 2}, {1, 5, 3}, {2, 3, 6}}));
}

TEST(Pmml, MayGiveTheSecondClassByASoftmax) {
  std::string text = with(regression, "\"logit\"", "\"softmax\"");
  text = with(text, R"(<RegressionTable intercept="0" targetCategory="no"/>)", "");
  text = with(
      text, R"(<RegressionTable intercept="-1.5")",
      R"(<RegressionTable intercept="0" targetCategory="no"/><RegressionTable intercept="-1.5")");
  EXPECT_EQ(parse_pmml(text, "m.pmml").event, "yes");
}

TEST(Pmml, ThatCannotBeImportedIsRefusedByElement) {
  const auto refuses = [](const std::string& text, std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return parse_pmml(text, "m.pmml"); }, words);
  };
  refuses("<PMML><Regr", {"m.pmml: no XML", "at byte"});
  refuses("<html/>", {"found <html>", "expected <PMML>"});
  refuses("<PMML/>", {"found no model"});
  refuses("<PMML><TreeModel functionName=\"classification\"/></PMML>", {"found <TreeModel>"});
  refuses(with(regression, "classification", "regression"), {"functionName", "\"regression\""});
  refuses(with(regression, "\"logit\"", "\"cauchit\""), {"normalizationMethod", "cauchit"});
  refuses(with(regression, "coefficient=\"0.25\"", "coefficient=\"much\""),
          {"coefficient", "\"much\""});
  refuses(with(regression, "coefficient=\"0.25\"", ""), {"<NumericPredictor>: no coefficient"});
  refuses(with(regression, "coefficient=\"0.25\"", "coefficient=\"0.25\" exponent=\"2\""),
          {"\"income\"", "power 2"});
  refuses(with(regression, "<NumericPredictor", "<PredictorTerm"), {"<PredictorTerm> cannot be"});
  refuses(with(regression, "intercept=\"0\"", "intercept=\"1\""), {"<RegressionTable> number 2"});
  refuses(with(regression, R"(<RegressionTable intercept="0" targetCategory="no"/>)", ""),
          {"found 1 elements"});
  refuses(
      with(
          regression, "<RegressionModel",
          R"(<TransformationDictionary><DerivedField name="income"/></TransformationDictionary><RegressionModel)"),
      {"<DerivedField name=\"income\">"});
  refuses(with(general, "\"logit\"", "\"probit\""), {"linkFunction", "probit"});
  refuses(with(general, "generalizedLinear", "CoxRegression"), {"modelType", "CoxRegression"});
  refuses(with(general, "value=\"1\" predictorName", "value=\"3\" predictorName"), {"power 3"});
  refuses(
      with(general, "<PPCell value=\"car\"",
           R"(<PPCell value="1" predictorName="income" parameterName="p2"/><PPCell value="car")"),
      {"\"p2\" is a product"});
  refuses(with(general, "<PCovMatrix>", "<PCovMatrix type=\"robust\">"),
          {"<PCovMatrix>", "robust"});
  refuses(with(general, R"(<PCovCell pRow="p2" pCol="p1" value="3"/>)", ""),
          {"nothing for \"p1\" and \"p2\""});
  refuses(with(general, R"(parameterName="p1" df)", R"(parameterName="p9" df)"), {"\"p9\""});
  refuses(with(general, R"("yes" parameterName="p1")", R"("no" parameterName="p1")"),
          {"\"yes\" and \"no\""});
}

// Entities of a document type are neither read from files nor expanded.
TEST(Pmml, ReadsNoOtherFile) {
  const std::string text =
      with(regression, "<PMML", R"(<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><PMML)");
  const Coefficients read =
      parse_pmml(with(text, "value=\"new &amp; old car\"", "value=\"&e;\""), "m.pmml");
  EXPECT_EQ(read.terms[2].term, "purpose=&e;");
}

}  // namespace
}  // namespace ellice
