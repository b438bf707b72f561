#pragma once

// A model in memory with all that is made from it once: its page's texts, its training rows and the
// Explainers of what was asked lately.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "asked.hpp"
#include "certificate/certifier.hpp"
#include "ellice/explain/explainer.hpp"
#include "explain/frontier_file.hpp"

namespace ellice::serve {

/// What answers requests that differ in their people alone. Const, shared by threads.
class WarmExplainer {
 public:
  explicit WarmExplainer(ExplainRequest request) : explainer_(std::move(request)) {}

  [[nodiscard]] const Explainer& explainer() const { return explainer_; }
  [[nodiscard]] const Certifier& certifier() const;

 private:
  Explainer explainer_;
  mutable std::once_flag certifies_;
  mutable std::unique_ptr<const Certifier> certifier_;
};

/// The same for curves; its levels are part of what was asked.
struct WarmFrontier {
  WarmFrontier(ExplainRequest request, const std::vector<std::string>& epsilons)
      : owned(std::move(request)), tracer(owned, epsilons) {}
  OwnedProblem owned;
  FrontierTracer tracer;
};

/// The things made last, by what was asked; those that nobody asked for longest are forgotten.
template <class T>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  /// `make` may run in several threads at once for one key; the results are the same.
  template <class Make>
  std::shared_ptr<const T> get(const std::string& key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = places_.find(key); found != places_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->second;
      }
    }
    std::shared_ptr<const T> made = make();
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return made;
    entries_.emplace_front(key, made);
    places_[key] = entries_.begin();
    if (entries_.size() > most_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return made;
  }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const T>>;
  std::size_t most_;
  std::mutex mutex_;          // guards what follows
  std::list<Entry> entries_;  // those asked for last come first
  std::map<std::string, typename std::list<Entry>::iterator> places_;
};

/// People whom a page may show, from a table that its operator gave.
struct ServedPeople {
  std::vector<RawRow> rows = {};
  std::vector<std::optional<std::string>> ids = {};
};

class ServedModel {
 public:
  ServedModel(std::string name, std::shared_ptr<const Model> model,
              std::shared_ptr<const TrainingRows> rows, ServedPeople people);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::shared_ptr<const Model>& model() const { return model_; }
  /// Those given beside the model file, as requests hold them; may be null.
  [[nodiscard]] const std::shared_ptr<const TrainingRows>& given_rows() const { return given_; }
  /// The same, else those of the model file.
  [[nodiscard]] const std::shared_ptr<const TrainingRows>& rows() const { return rows_; }
  [[nodiscard]] const ServedPeople& people() const { return people_; }

  /// {"format": "ellice.service.model", …}: the model file without training rows, and how these are
  /// distributed.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The model file, without training rows.
  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] std::shared_ptr<const WarmExplainer> explainer(const Asked& asked) const;
  [[nodiscard]] std::shared_ptr<const WarmFrontier> frontier(const Asked& asked) const;

 private:
  std::string name_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const TrainingRows> given_;
  std::shared_ptr<const TrainingRows> rows_;
  ServedPeople people_;
  std::string text_;
  std::string file_;
  mutable Recent<WarmExplainer> explainers_;
  mutable Recent<WarmFrontier> frontiers_;
};

/// The models of a process at one time; a reload makes another.
class ServedModels final : public ModelFinder {
 public:
  /// Throws Error{argument} where two have one name.
  explicit ServedModels(std::vector<std::shared_ptr<const ServedModel>> models);

  [[nodiscard]] std::shared_ptr<const Model> find(const std::string& sha256) const override;
  /// Null where there is none.
  [[nodiscard]] const ServedModel* by_name(std::string_view name) const;
  [[nodiscard]] const ServedModel* by_hash(std::string_view sha256) const;
  [[nodiscard]] const std::vector<std::shared_ptr<const ServedModel>>& all() const {
    return models_;
  }

 private:
  std::vector<std::shared_ptr<const ServedModel>> models_;
};

}  // namespace ellice::serve
