#include "work.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"

namespace ellice::python {

namespace {

constexpr std::chrono::milliseconds look_every(50);

// Lives as long as the interpreter, which ends before static objects do.
nb::object* stopped_type = nullptr;

/// What the working thread says.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_finished = false;
  std::exception_ptr error;
  std::string stage;
  std::size_t done = 0;
  std::size_t total = 0;
};

/// The exception that Python holds, which there must be.
nb::object take_raised() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
}

/// Why to stop, if there is a reason. With the interpreter's lock.
std::optional<nb::object> reason_to_stop(const nb::object& progress, Board& board) {
  if (PyErr_CheckSignals() != 0) return take_raised();
  if (progress.is_none()) return std::nullopt;
  std::string stage;
  std::size_t done = 0;
  std::size_t total = 0;
  {
    const std::lock_guard lock(board.mutex);
    stage = board.stage;
    done = board.done;
    total = board.total;
  }
  if (stage.empty()) return std::nullopt;
  const nb::object answer = nb::steal(PyObject_CallFunction(progress.ptr(), "snn", stage.c_str(),
                                                            static_cast<Py_ssize_t>(done),
                                                            static_cast<Py_ssize_t>(total)));
  if (!answer.is_valid()) return take_raised();
  if (answer.ptr() != Py_False) return std::nullopt;
  return (*stopped_type)("stopped by the progress callback");
}

}  // namespace

void set_stopped_type(const nb::object& type) {
  if (stopped_type == nullptr) stopped_type = new nb::object(type);
}

std::optional<nb::object> run_work(const nb::object& progress, int threads,
                                   const std::function<void(const Execution&)>& body) {
  std::atomic<bool> stop = false;
  Board board;
  const Execution execution{.threads = threads, .progress = [&](const ProgressState& state) {
                              const std::lock_guard lock(board.mutex);
                              board.stage = state.stage;
                              board.done = state.done;
                              board.total = state.total;
                              return !stop.load();
                            }};
  std::thread worker([&] {
    std::exception_ptr error;
    try {
      const StopScope scope(&stop);
      body(execution);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(board.mutex);
    board.error = error;
    board.is_finished = true;
    board.changed.notify_all();
  });
  std::optional<nb::object> reason;
  bool is_finished = false;
  while (!is_finished) {
    {
      const nb::gil_scoped_release release;
      std::unique_lock lock(board.mutex);
      is_finished = board.changed.wait_for(lock, look_every, [&] { return board.is_finished; });
    }
    if (reason || is_finished) continue;
    reason = reason_to_stop(progress, board);
    if (reason) stop = true;
  }
  worker.join();
  if (reason) return reason;
  if (board.error) std::rethrow_exception(board.error);
  // The last word: all is done, and there is nothing to stop any more.
  reason = reason_to_stop(progress, board);
  if (reason && reason->type().is(*stopped_type)) reason.reset();
  return reason;
}

void run_whole(const nb::object& progress, int threads,
               const std::function<void(const Execution&)>& body) {
  if (const std::optional<nb::object> reason = run_work(progress, threads, body)) raise(*reason);
}

void raise(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace ellice::python
