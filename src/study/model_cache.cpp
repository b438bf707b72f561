#include "model_cache.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

namespace {

constexpr std::string_view magic = "ellice models 1\n";

/// Numbers one after another, as this machine holds them: the file never leaves its folder.
class Writer {
 public:
  void number(double value) { bytes(&value, sizeof value); }
  void count(std::uint64_t value) { bytes(&value, sizeof value); }
  void bytes(const void* data, std::size_t size) {
    text_.append(static_cast<const char*>(data), size);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  double number() {
    double value = 0;
    take(&value, sizeof value);
    return value;
  }
  std::uint64_t count() {
    std::uint64_t value = 0;
    take(&value, sizeof value);
    return value;
  }
  void take(void* data, std::size_t size) {
    require_input(size <= text_.size(), "the file ends too early");
    std::memcpy(data, text_.data(), size);
    text_.remove_prefix(size);
  }
  bool skip(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }

 private:
  std::string_view text_;
};

/// Kinds whose models are made once, rather than sought for each answer.
bool is_kept(const Evaluator& evaluator) {
  return evaluator.models() != nullptr;
}

std::string identity(const EvaluationSource& source, const std::vector<EvaluatorKind>& kinds,
                     const std::vector<double>& epsilons, const EvaluatorOptions& options,
                     Random seeds) {
  Json json = {{"model", source.model->sha256},
               {"epsilons", epsilons},
               {"options", fields_to_json(options)},
               {"seed", seeds.bits()}};
  for (const EvaluatorKind kind : kinds) json["kinds"].push_back(std::string(enum_name(kind)));
  return sha256_hex(canonical_text(json));
}

void write_set(Writer& writer, const Evaluator& evaluator) {
  const StressSet& set = *evaluator.models();
  const std::optional<double> epsilon = evaluator.summary().epsilon;
  writer.count(static_cast<std::uint64_t>(evaluator.summary().kind));
  writer.count(static_cast<std::uint64_t>(set.kind));
  writer.count(epsilon.has_value() ? 1 : 0);
  writer.number(epsilon.value_or(0));
  writer.number(set.bound);
  writer.number(set.noise);
  writer.count(set.tried);
  writer.count(set.models.size());
  for (const StressModel& model : set.models) {
    writer.number(model.objective);
    const Vector parameters = parameter_vector(model.network);
    writer.bytes(parameters.data(), static_cast<std::size_t>(parameters.size()) * sizeof(double));
  }
}

EvaluatorPointer read_set(Reader& reader, const Network& base) {
  const auto kind = static_cast<EvaluatorKind>(reader.count());
  StressSet set{.kind = static_cast<StressKind>(reader.count())};
  const bool has_epsilon = reader.count() == 1;
  const double epsilon = reader.number();
  set.bound = reader.number();
  set.noise = reader.number();
  set.tried = reader.count();
  const std::uint64_t models = reader.count();
  Vector parameters(base.parameters());
  for (std::uint64_t k = 0; k < models; ++k) {
    const double objective = reader.number();
    reader.take(parameters.data(), static_cast<std::size_t>(parameters.size()) * sizeof(double));
    set.models.push_back({.network = with_parameters(base, parameters), .objective = objective});
  }
  return evaluator_of(kind, has_epsilon ? std::optional(epsilon) : std::nullopt, std::move(set));
}

std::optional<std::vector<EvaluatorPointer>> read_sets(const std::string& path,
                                                       const std::string& wanted,
                                                       const Network& base) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string text = read_file(path);
  Reader reader(text);
  if (!reader.skip(magic) || !reader.skip(wanted)) return std::nullopt;
  std::vector<EvaluatorPointer> sets;
  try {
    for (std::uint64_t count = reader.count(); count > 0; --count)
      sets.push_back(read_set(reader, base));
  } catch (const Error&) {
    return std::nullopt;  // cut short: made again
  }
  return sets;
}

}  // namespace

std::vector<EvaluatorPointer> cached_evaluators(const std::string& path,
                                                const EvaluationSource& source,
                                                const std::vector<EvaluatorKind>& kinds,
                                                const std::vector<double>& epsilons,
                                                const EvaluatorOptions& options,
                                                const Random& seeds, const Execution& execution) {
  const std::string wanted = identity(source, kinds, epsilons, options, seeds);
  const std::optional<std::vector<EvaluatorPointer>> kept =
      read_sets(path, wanted, source.model->network);
  std::vector<EvaluatorPointer> result;
  if (!kept) {
    result = make_evaluators(source, kinds, epsilons, options, seeds, execution);
    Writer writer;
    writer.bytes(magic.data(), magic.size());
    writer.bytes(wanted.data(), wanted.size());
    std::uint64_t count = 0;
    for (const EvaluatorPointer& evaluator : result) count += is_kept(*evaluator) ? 1 : 0;
    writer.count(count);
    for (const EvaluatorPointer& evaluator : result) {
      if (is_kept(*evaluator)) write_set(writer, *evaluator);
    }
    write_file(path, writer.text());
    return result;
  }
  for (const EvaluatorKind kind : kinds) {
    const std::size_t before = result.size();
    for (const EvaluatorPointer& evaluator : *kept) {
      if (evaluator->summary().kind == kind) result.push_back(evaluator);
    }
    if (result.size() > before) continue;
    for (const EvaluatorPointer& evaluator :
         make_evaluators(source, {kind}, epsilons, options, seeds, execution)) {
      result.push_back(evaluator);
    }
  }
  return result;
}

}  // namespace ellice
