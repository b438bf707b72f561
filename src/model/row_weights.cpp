#include "model/row_weights.hpp"

#include "ellice/core/error.hpp"

namespace ellice {

Vector row_weights(const Dataset& data, const std::optional<RowWeights>& weights) {
  if (!weights) return {};
  Vector result = Vector::Ones(data.rows());
  if (!weights->column.empty()) {
    require_input(data.weights.size() == data.rows(),
                  "{}: the weights of the rows, column \"{}\", are missing", data.source,
                  weights->column);
    result = data.weights;
  }
  if (weights->class_weight == ClassWeight::none) return result;
  Vector of_class = Vector::Zero(static_cast<Index>(data.classes.size()));
  for (Index i = 0; i < result.size(); ++i)
    of_class(data.labels[static_cast<std::size_t>(i)]) += result(i);
  const Vector factor = (result.sum() / static_cast<double>(of_class.size())) / of_class.array();
  for (Index i = 0; i < result.size(); ++i)
    result(i) *= factor(data.labels[static_cast<std::size_t>(i)]);
  return result;
}

}  // namespace ellice
