#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>

#include "model/onnx_graph.hpp"

namespace ellice::onnx {

/// A node as it stands in the file, for both that read it, the one that folds and the one that
/// executes: names, attributes, axes, and the refusal that names it. What it computes is none of
/// its business.
class Operation {
 public:
  Operation(const Node& node, const std::string& source) : node_(&node), source_(&source) {}

  [[nodiscard]] const std::string& op() const { return node_->op; }
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const std::string& source() const { return *source_; }
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) const {
    refuse_for(fmt::format(why, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::size_t inputs() const { return node_->inputs.size(); }
  [[nodiscard]] bool has_input(std::size_t k) const;
  [[nodiscard]] const std::string& input_name(std::size_t k) const;
  [[nodiscard]] const std::string& output_name() const;  // the first one

  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  [[nodiscard]] std::int64_t whole(std::string_view attribute, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::string word(std::string_view attribute, std::string otherwise) const;
  /// The place of an axis that may be counted from the end.
  [[nodiscard]] std::size_t axis_of(std::int64_t given, std::size_t rank) const;

 private:
  [[noreturn]] void refuse_for(const std::string& why) const;

  const Node* node_;
  const std::string* source_;
};

}  // namespace ellice::onnx
