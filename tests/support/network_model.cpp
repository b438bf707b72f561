#include "support/network_model.hpp"

#include <Eigen/Eigenvalues>

namespace ellice {

Matrix dense_gauss_newton(const Network& network, const RowMatrix& rows) {
  Matrix result = Matrix::Zero(network.parameters(), network.parameters());
  NetworkPass pass(network);
  Vector jacobian;
  for (Index i = 0; i < rows.rows(); ++i) {
    const double p = 1 / (1 + std::exp(-pass.forward(rows.row(i).transpose())));
    pass.backward();
    pass.parameter_gradient(jacobian);
    result += p * (1 - p) / static_cast<double>(rows.rows()) * jacobian * jacobian.transpose();
  }
  return result;
}

Model network_model(const std::vector<Index>& hidden, Activation activation, std::uint64_t seed,
                    Index inputs, double share, const std::vector<InputGroup>& groups) {
  const problem_zoo::Labelled labelled =
      problem_zoo::random_rows(80, inputs, static_cast<unsigned>(seed));
  const Dataset data = problem_zoo::numeric_dataset(labelled);
  Model model{.encoder = Encoder::fit(data),
              .network = random_network(inputs, hidden, activation, Random(seed), groups)};
  const RowMatrix rows = model.encoder.encode(data.raw);
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(), .l2 = 1e-3, .loss = 0.4, .objective = 0.5};
  model.sha256 = std::string(60, 'a') + std::to_string(1000 + seed % 1000);

  const Matrix full = dense_gauss_newton(model.network, rows);
  const Index head = model.network.head().size();
  model.curvature.hessian = full.bottomRightCorner(head, head);
  model.curvature.hessian.diagonal().array() += model.training.l2;
  if (hidden.empty()) return model;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(full);
  GaussNewton curvature{.damping = 0.1, .cut = share * 0.1};
  const Index rank = (eigen.eigenvalues().array() > curvature.cut).count();
  curvature.values = eigen.eigenvalues().tail(rank).reverse();
  curvature.vectors = eigen.eigenvectors().rightCols(rank).rowwise().reverse();
  model.curvature.full = curvature;
  return model;
}

}  // namespace ellice
