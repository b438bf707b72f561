#include "model/pmml.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(Pmml, NamesBothLabels) {
  const std::vector<std::string> both = {"yes", "no"};
  EXPECT_EQ(parse_pmml(regression, "m.pmml").labels, both);
  EXPECT_TRUE(parse_pmml(general, "m.pmml").labels.empty());
  const std::string with_reference =
      with(general, "linkFunction", "targetReferenceCategory=\"no\" linkFunction");
  EXPECT_EQ(parse_pmml(with_reference, "m.pmml").labels, both);

  // Without one the coefficients speak for the label that is not the reference.
  std::string silent = with_reference;
  for (int i = 0; i < 3; ++i) silent = with(silent, "targetCategory=\"yes\" ", "");
  expect_input_error([&] { (void)parse_pmml(silent, "m.pmml"); },
                     {"m.pmml: <GeneralRegressionModel>: targetReferenceCategory is \"no\"",
                      "expected a targetCategory in each <PCell>"});
  silent = with(silent, "<Header/>", R"(<Header/><DataDictionary><DataField name="approved">
    <Value value="no"/><Value value="?" property="missing"/><Value value="yes"/></DataField></DataDictionary>)");
  silent = with(silent, "<ParameterList>",
                R"(<MiningSchema><MiningField name="approved" usageType="target"/>
    </MiningSchema><ParameterList>)");
  EXPECT_EQ(parse_pmml(silent, "m.pmml").event, "yes");
}

TEST(Pmml, WhoseLabelsAreOthersThanThoseOfTheSchemaIsRefused) {
  Schema schema;
  schema.target = {.column = "approved", .favourable = "yes"};
  schema.features = {
      {.name = "income", .kind = FeatureKind::numeric, .min = -10, .max = 10},
      {.name = "purpose", .kind = FeatureKind::categorical, .levels = {"car", "other"}}};
  const auto model_with = [&](const char* event, const char* other, const char* given) {
    std::string text = with(general, "linkFunction",
                            fmt::format("targetReferenceCategory=\"{}\" linkFunction", other));
    for (int i = 0; i < 3; ++i) {
      text = with(text, "targetCategory=\"yes\"", fmt::format("targetCategory=\"{}\"", event));
    }
    Coefficients read = parse_pmml(text, "m.pmml");
    // A fit to 200 rows.
    read.terms[0].estimate = -0.6838681544186834;
    read.terms[1].estimate = 0.5007453618944553;
    read.terms[2].estimate = 0.9351846546597937;
    read.covariance = Matrix{{0.06110386137487118, -0.00350672933502929, -0.06110347374765556},
                             {-0.00350672933502929, 0.006381271568900854, 0.00350602396136225},
                             {-0.06110347374765556, 0.00350602396136225, 0.11974507517588026}};
    read.rows = 200;
    read.log_likelihood = -101.76677270090693;
    if (*given != '\0') {
      read.event = given;
      read.labels.clear();
    }
    return model_of(read, schema);
  };
  expect_input_error([&] { (void)model_with("1", "0", ""); },
                     {"m.pmml: its labels are \"1\" and \"0\", and none is \"yes\"", "--event"});
  const Model yes = model_with("yes", "no", "");
  const Model no = model_with("no", "yes", "");
  const Model said = model_with("1", "0", "yes");
  EXPECT_EQ(yes.network.head(), said.network.head());
  EXPECT_EQ(yes.network.head(), -no.network.head());
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

// What stands around a model and changes what it scores, or what it says of a score.
TEST(Pmml, ThatChangesValuesOrScoresIsRefusedByElement) {
  const auto refuses = [](const std::string& text, std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(text);
    expect_input_error([&] { return parse_pmml(text, "m.pmml"); }, words);
  };
  const std::string mining = "<MiningSchema>";
  const auto with_field = [&](const std::string& attributes, const std::string& values = "") {
    const std::string text =
        with(regression, mining, mining + "<MiningField name=\"income\" " + attributes + "/>");
    return with(text, "<DataDictionary>",
                "<DataDictionary><DataField name=\"income\" optype=\"continuous\" "
                "dataType=\"double\">" +
                    values + "</DataField>");
  };
  const std::string interval =
      "<Interval closure=\"closedClosed\" leftMargin=\"0\" "
      "rightMargin=\"9\"/>";
  for (const char* outliers : {"asExtremeValues", "asMissingValues"}) {
    refuses(with_field(fmt::format("outliers=\"{}\" lowValue=\"0\" highValue=\"9\"", outliers)),
            {"<MiningField name=\"income\">", "outliers", outliers});
  }
  refuses(with_field("", interval), {"<DataField name=\"income\">", "<Interval>", "0 to 9"});
  refuses(with_field("invalidValueTreatment=\"asMissing\"", interval), {"<Interval>", "asMissing"});
  refuses(with_field("", "<Value value=\"-9\" property=\"missing\"/>"),
          {"<Value value=\"-9\">", "missing"});
  refuses(with_field("invalidValueTreatment=\"asMissing\"", "<Value value=\"a\"/>"),
          {"invalidValueTreatment", "asMissing"});
  refuses(
      with_field("missingValueTreatment=\"asMean\" missingValueReplacement=\"3\""),
      {"<MiningField name=\"income\">", "missingValueReplacement", "found \"3\"", "leave it out"});
  refuses(with_field("invalidValueReplacement=\"3\""),
          {"<MiningField name=\"income\">", "invalidValueReplacement=\"3\" cannot be imported"});
  refuses(with(with_field(""), "dataType=\"double\"", "dataType=\"double\" unitOfTime=\"day\""),
          {"<DataField name=\"income\">", "unitOfTime=\"day\" cannot be imported"});
  refuses(with(with_field(""), mining, mining + "<MiningField name=\"income\"/>"),
          {"<MiningField name=\"income\">", "stands twice"});
  const auto with_targets = [&](const std::string& target) {
    return with(regression, "</MiningSchema>", "</MiningSchema><Targets>" + target + "</Targets>");
  };
  for (const char* attribute :
       {"rescaleConstant=\"-3\"", "rescaleFactor=\"2\"", "max=\"1\"", "castInteger=\"round\""}) {
    refuses(with_targets(fmt::format("<Target field=\"approved\" {}/>", attribute)),
            {"<Target field=\"approved\">", attribute});
  }
  refuses(with_targets("<Target field=\"approved\"><TargetValue value=\"yes\" "
                       "priorProbability=\"0.1\"/></Target>"),
          {"<TargetValue>", "priorProbability=\"0.1\""});
  refuses(with(regression, "normalizationMethod", "isScorable=\"false\" normalizationMethod"),
          {"<RegressionModel>", "isScorable"});
  refuses(with(general, "modelType", "offsetVariable=\"debt\" modelType"),
          {"<GeneralRegressionModel>", "offsetVariable=\"debt\""});
  refuses(with(general, "label=\"income\"", "label=\"income\" referencePoint=\"2\""),
          {"<Parameter name=\"p1\">", "referencePoint"});
  refuses(with(general, "<Predictor name=\"purpose\"/>",
               "<Predictor name=\"purpose\" contrastMatrixType=\"helmert\"/>"),
          {"<Predictor name=\"purpose\">", "contrasts"});
  // Without effect.
  const std::vector<std::string> harmless = {
      with_field("outliers=\"asIs\" lowValue=\"0\" highValue=\"9\" importance=\"0.5\" "
                 "usageType=\"active\" missingValueTreatment=\"asMean\" optype=\"continuous\""),
      with_field("missingValueReplacement=\"3\" usageType=\"supplementary\""),
      with_field("invalidValueTreatment=\"asIs\"", interval),
      with_targets("<Target field=\"approved\" rescaleConstant=\"0\" rescaleFactor=\"1\"/>")};
  for (const std::string& text : harmless)
    EXPECT_EQ(parse_pmml(text, "m.pmml").terms.size(), 3U) << text;
}

// A number that is none is refused wherever it stands, not read as 0 or up to its comma.
TEST(Pmml, NumbersThatAreNoneAreRefusedWhereverTheyStand) {
  const auto refuses = [](const std::string& text, std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(text);
    expect_input_error([&] { return parse_pmml(text, "m.pmml"); }, words);
  };
  const std::string other = R"(intercept="0" targetCategory="no")";
  for (const char* text : {"0,75", "none", "", "0x", "nan"}) {
    refuses(
        with(regression, other, fmt::format(R"(intercept="{}" targetCategory="no")", text)),
        {"<RegressionTable>", "intercept", fmt::format("found \"{}\", expected a number", text)});
    refuses(with(regression, "coefficient=\"0.25\"",
                 fmt::format("coefficient=\"0.25\" exponent=\"{}\"", text)),
            {"<NumericPredictor>", "exponent", fmt::format("found \"{}\"", text)});
    refuses(with(general, "label=\"income\"",
                 fmt::format("label=\"income\" referencePoint=\"{}\"", text)),
            {"<Parameter>", "referencePoint", fmt::format("found \"{}\"", text)});
    for (const char* name : {"rescaleFactor", "rescaleConstant"}) {
      refuses(with(regression, "</MiningSchema>",
                   fmt::format(
                       "</MiningSchema><Targets><Target field=\"approved\" {}=\"{}\"/></Targets>",
                       name, text)),
              {"<Target field=\"approved\">", name, fmt::format("found \"{}\"", text)});
    }
  }
  refuses(with(regression, "coefficient=\"0.25\"", "coefficient=\"0.25\" exponent=\"1,5\""),
          {"exponent", "\"1,5\""});
}

TEST(Pmml, AttributesThatStandTwiceAreRefused) {
  expect_input_error(
      [&] {
        return parse_pmml(
            with(regression, "coefficient=\"0.25\"", "coefficient=\"0.25\" coefficient=\"0\""),
            "m.pmml");
      },
      {"m.pmml", "<NumericPredictor>", "coefficient stands twice"});
}

TEST(Pmml, OfOtherEncodingsIsReadOrRefusedByThem) {
  // "Hütte" in Latin-1, as SAS and SPSS write it.
  const std::string latin1 = with(regression, "new &amp; old car", "H\xFCtte");
  for (const char* name : {"ISO-8859-1", "windows-1252"}) {
    const Coefficients read = parse_pmml(
        with(latin1, "encoding=\"UTF-8\"", fmt::format("encoding='{}'", name)), "m.pmml");
    EXPECT_EQ(read.terms[2].term, "purpose=Hütte") << name;
  }
  const std::string utf8 = with(regression, "new &amp; old car", "Hütte");
  EXPECT_EQ(parse_pmml(utf8, "m.pmml").terms[2].term, "purpose=Hütte");
  EXPECT_EQ(parse_pmml(utf8.substr(utf8.find("<PMML")), "m.pmml").terms[2].term, "purpose=Hütte");
  // What has no other letters is the same in all of them.
  EXPECT_EQ(parse_pmml(with(regression, "UTF-8", "UTF-16"), "m.pmml").terms.size(), 3U);
  const auto refuses = [](const std::string& text, std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return parse_pmml(text, "m.pmml"); }, words);
  };
  refuses(latin1, {"m.pmml", "not UTF-8 at byte", "save the file as UTF-8"});
  refuses(with(utf8, "UTF-8", "ISO-8859-2"), {"m.pmml", "ISO-8859-2", "save the file as UTF-8"});
  std::string wide;
  for (const char c : with(regression, "UTF-8", "UTF-16")) wide += {'\0', c};
  refuses(wide, {"m.pmml", "UTF-16", "save the file as UTF-8"});
  refuses("\xFE\xFF" + wide, {"m.pmml", "UTF-16", "save the file as UTF-8"});
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
