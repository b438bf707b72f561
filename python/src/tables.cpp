#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrow_in.hpp"
#include "ellice/core/error.hpp"
#include "objects.hpp"

namespace ellice::python {

namespace {

using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

/// As Arrow writes the type; empty for one that is not read.
std::string type_of(const nb::dlpack::dtype& type) {
  if (type.lanes != 1) return {};
  const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
  const auto pick = [&](const char* types) -> std::string {
    switch (type.bits) {
      case 8:
        return {types[0]};
      case 16:
        return {types[1]};
      case 32:
        return {types[2]};
      case 64:
        return {types[3]};
      default:
        return {};
    }
  };
  if (code == nb::dlpack::dtype_code::Bool && type.bits == 8) return "?";
  if (code == nb::dlpack::dtype_code::Int) return pick("csil");
  if (code == nb::dlpack::dtype_code::UInt) return pick("CSIL");
  if (code == nb::dlpack::dtype_code::Float && type.bits >= 32) return pick("..fg");
  return {};
}

std::unique_ptr<Cells> array_cells(const std::string& name, const Array& array) {
  const std::string type = type_of(array.dtype());
  require_input(!type.empty(), "table: column \"{}\" holds numbers of a type that is not read",
                name);
  const std::ptrdiff_t stride = array.stride(0) * (array.dtype().bits / 8);
  return number_cells(type, array.data(), stride);
}

/// Columns as (name, array), (name, texts) or (name, numbers of levels, levels).
HeldFrame frame_of(const List& columns, std::size_t rows) {
  HeldFrame held;
  Batch batch{.rows = rows};
  for (const nb::handle entry : columns) {
    const auto column = nb::cast<nb::tuple>(entry);
    const auto name = nb::cast<std::string>(column[0]);
    std::size_t size = 0;
    if (nb::isinstance<nb::list>(column[1])) {
      auto texts = nb::cast<std::vector<std::string>>(column[1]);
      size = texts.size();
      batch.columns.push_back(text_cells(std::move(texts)));
    } else {
      const auto array = nb::cast<Array>(column[1]);
      size = array.shape(0);
      std::unique_ptr<Cells> cells = array_cells(name, array);
      if (column.size() == 3)
        cells = level_cells(std::move(cells), nb::cast<std::vector<std::string>>(column[2]));
      batch.columns.push_back(std::move(cells));
      held.kept.append(nb::cast(array));
    }
    held.frame.names.push_back(name);
    require_input(size == rows, "table: column \"{}\" has {} rows, but the table has {}", name,
                  size, rows);
  }
  held.frame.batches.push_back(std::move(batch));
  return held;
}

/// Of a stream of Arrow: with all its rows, or with those that somebody asks for.
HeldFrame frame_of_arrow(const nb::capsule& capsule, bool is_whole) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), arrow_stream_capsule));
  if (stream == nullptr) throw nb::python_error();
  HeldFrame held;
  {
    const nb::gil_scoped_release release;  // rows may come from another thread
    held.frame = is_whole ? read_arrow(*stream) : open_arrow(*stream);
  }
  held.kept.append(capsule);
  return held;
}

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<HeldFrame>(module, "Frame", "Columns where they lie in memory.")
      .def_prop_ro("rows", [](const HeldFrame& held) { return held.frame.rows(); })
      .def_prop_ro("names", [](const HeldFrame& held) { return held.frame.names; });
  module.def("frame_of", &frame_of, nb::arg("columns"), nb::arg("rows"));
  module.def("frame_of_arrow", &frame_of_arrow, nb::arg("capsule"), nb::arg("whole") = true);
}

}  // namespace ellice::python
