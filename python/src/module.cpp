#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "ellice/core/error.hpp"
#include "ellice/core/version.hpp"
#include "objects.hpp"
#include "work.hpp"

namespace ellice::python {

namespace {

/// A caller's mistake and bad input are ValueErrors: the message names the place and the value.
void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::argument:
      case ErrorCode::input:
        PyErr_SetString(PyExc_ValueError, error.what());
        return;
      case ErrorCode::output:
        PyErr_SetString(PyExc_OSError, error.what());
        return;
      case ErrorCode::internal:
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return;
      case ErrorCode::cancelled:
        PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
        return;
    }
  }
}

}  // namespace

}  // namespace ellice::python

NB_MODULE(_core, module) {  // NOLINT: the macro's names
  using namespace ellice::python;
  module.doc() = "The library, as the package uses it.";
  nb::register_exception_translator(translate);
  module.attr("version") = ellice::version().number;
  module.def("set_stopped", &set_stopped_type, nb::arg("type"));
  bind_tables(module);
  bind_models(module);
  bind_importing(module);
  bind_explaining(module);
  bind_judging(module);
}
