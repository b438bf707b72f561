#pragma once

// ONNX files that tests write by themselves, in protobuf's wire format: parts of messages as bytes,
// which are put together by +.

#include <cstdint>
#include <string>
#include <vector>

namespace ellice::testing_support::onnx_writer {

inline constexpr std::int64_t f32 = 1;
inline constexpr std::int64_t i64 = 7;
inline constexpr std::int64_t text = 8;
inline constexpr std::int64_t boolean = 9;
inline constexpr std::int64_t f16 = 10;

/// Constants of a graph.
[[nodiscard]] std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                                 const std::vector<double>& numbers, std::int64_t type = f32);
[[nodiscard]] std::string texts(const std::string& name, const std::vector<std::string>& all);

/// Attributes of a node.
[[nodiscard]] std::string whole(const std::string& name, std::int64_t value);
[[nodiscard]] std::string real(const std::string& name, double value);
[[nodiscard]] std::string reals(const std::string& name, const std::vector<double>& values);
[[nodiscard]] std::string wholes(const std::string& name, const std::vector<std::int64_t>& values);
[[nodiscard]] std::string words(const std::string& name, const std::vector<std::string>& values);

/// Named by its operator and «_here», as messages have it.
[[nodiscard]] std::string node(const std::string& op, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs,
                               const std::string& attributes = "", const std::string& domain = "");
/// An input with so many columns; none of 0: one number for each row.
[[nodiscard]] std::string input(const std::string& name, std::int64_t columns, std::int64_t type);
/// A whole file of nodes, constants and inputs.
[[nodiscard]] std::string model(const std::string& body, const std::vector<std::string>& outputs,
                                std::int64_t version = 17);

}  // namespace ellice::testing_support::onnx_writer
