#include "served_model.hpp"

#include <algorithm>
#include <utility>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "report/histograms.hpp"
#include "request/problem.hpp"

namespace ellice::serve {

namespace {

// An Explainer of a linear model takes some 100 kB, one of a network a few MB.
constexpr std::size_t most_explainers = 64;
constexpr std::size_t most_frontiers = 16;

}  // namespace

const Certifier& WarmExplainer::certifier() const {
  std::call_once(certifies_, [&] {
    const Problem& problem = explainer_.problem();
    certifier_ = std::make_unique<const Certifier>(explainer_.model(), problem.set,
                                                   explainer_.epsilon(), problem.threshold);
  });
  return *certifier_;
}

ServedModel::ServedModel(std::string name, std::shared_ptr<const Model> model,
                         std::shared_ptr<const TrainingRows> rows, ServedPeople people)
    : name_(std::move(name)),
      model_(std::move(model)),
      given_(std::move(rows)),
      rows_(or_stored_rows(given_, *model_)),
      people_(std::move(people)),
      explainers_(most_explainers),
      frontiers_(most_frontiers) {
  Json file = to_json(*model_);
  file.erase("rows");  // those of people
  file_ = to_text(file);
  Json text = make_envelope("ellice.service.model", 1);
  text["name"] = name_;
  text["model_sha256"] = model_->sha256;
  text["people"] = people_.rows.size();
  text["training_rows"] = rows_ ? Json(rows_->fitted.raw.rows()) : Json();
  text["histograms"] = rows_ ? training_histograms(*model_, *rows_) : Json();
  text["model"] = std::move(file);
  text_ = to_text(text);
}

std::shared_ptr<const WarmExplainer> ServedModel::explainer(const Asked& asked) const {
  return explainers_.get(sha256_hex(asked.key),
                         [&] { return std::make_shared<const WarmExplainer>(asked.request); });
}

std::shared_ptr<const WarmFrontier> ServedModel::frontier(const Asked& asked) const {
  std::string key = asked.key;
  for (const std::string& epsilon : asked.epsilons) key += '\n' + epsilon;
  return frontiers_.get(sha256_hex(key), [&] {
    return std::make_shared<const WarmFrontier>(asked.request, asked.epsilons);
  });
}

ServedModels::ServedModels(std::vector<std::shared_ptr<const ServedModel>> models)
    : models_(std::move(models)) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      require(models_[i]->name() != models_[j]->name(),
              "two models are called {} (by their files): rename one of them", models_[i]->name());
  }
}

std::shared_ptr<const Model> ServedModels::find(const std::string& sha256) const {
  const ServedModel* const found = by_hash(sha256);
  return found == nullptr ? nullptr : found->model();
}

const ServedModel* ServedModels::by_name(std::string_view name) const {
  const auto found = std::find_if(models_.begin(), models_.end(),
                                  [&](const auto& model) { return model->name() == name; });
  return found == models_.end() ? nullptr : found->get();
}

const ServedModel* ServedModels::by_hash(std::string_view sha256) const {
  const auto found = std::find_if(models_.begin(), models_.end(), [&](const auto& model) {
    return model->model()->sha256 == sha256;
  });
  return found == models_.end() ? nullptr : found->get();
}

}  // namespace ellice::serve
