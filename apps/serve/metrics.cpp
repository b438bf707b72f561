#include "metrics.hpp"

#include <unistd.h>

#include <fstream>

#include "core/number_text.hpp"
#include "ellice/core/version.hpp"

namespace ellice::serve {

namespace {

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::string family(std::string_view name, std::string_view type, std::string_view help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string gauge(std::string_view name, std::string_view help, double value) {
  return family(name, "gauge", help) + fmt::format("{} {}\n", name, number_text(value));
}

}  // namespace

std::string label_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

void Metrics::Durations::add(double seconds) {
  for (std::size_t i = 0; i < limits.size(); ++i)
    if (seconds <= limits[i]) ++at_most[i];
  ++count;
  sum += seconds;
}

void Metrics::count_request(const std::string& route, int status, double seconds,
                            std::optional<double> computed) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  durations_[route].add(seconds);
  if (computed) computed_[route].add(*computed);
}

void Metrics::count_answer(Status status) {
  const std::lock_guard lock(mutex_);
  ++answers_[static_cast<std::size_t>(status)];
}

void Metrics::count_people(const std::string& route, std::size_t people) {
  const std::lock_guard lock(mutex_);
  people_[route] += people;
}

void Metrics::count_reload(bool is_done) {
  const std::lock_guard lock(mutex_);
  ++reloads_[is_done ? 1 : 0];
}

std::string Metrics::histogram(std::string_view name, std::string_view help, const ByRoute& all) {
  std::string text = family(name, "histogram", help);
  for (const auto& [route, durations] : all) {
    const std::string label = label_text(route);
    for (std::size_t i = 0; i < limits.size(); ++i)
      text += fmt::format("{}_bucket{{route=\"{}\",le=\"{}\"}} {}\n", name, label,
                          number_text(limits[i]), durations.at_most[i]);
    text += fmt::format(
        "{0}_bucket{{route=\"{1}\",le=\"+Inf\"}} {2}\n{0}_sum{{route=\"{1}\"}} {3}\n"
        "{0}_count{{route=\"{1}\"}} {2}\n",
        name, label, durations.count, number_text(durations.sum));
  }
  return text;
}

std::string Metrics::text(const Gauges& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string text = family("ellice_requests_total", "counter", "Requests by route and status.");
  for (const auto& [key, count] : requests_) {
    text += fmt::format("ellice_requests_total{{route=\"{}\",status=\"{}\"}} {}\n",
                        label_text(key.first), key.second, count);
  }
  text += histogram("ellice_request_seconds",
                    "From the last byte of a request to the last byte of its answer.", durations_);
  text += histogram("ellice_compute_seconds",
                    "Processor time of the thread that computed an answer.", computed_);
  text += family("ellice_people_total", "counter", "People asked about, by route.");
  for (const auto& [route, people] : people_)
    text += fmt::format("ellice_people_total{{route=\"{}\"}} {}\n", label_text(route), people);
  text += family("ellice_answers_total", "counter", "Answers and plans by status.");
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    text += fmt::format("ellice_answers_total{{status=\"{}\"}} {}\n", EnumNames<Status>::names[i],
                        answers_[i]);
  }
  text += family("ellice_reloads_total", "counter", "Reloads of the models by result.");
  text += fmt::format(
      "ellice_reloads_total{{result=\"done\"}} {}\nellice_reloads_total{{result=\"failed\"}} {}\n",
      reloads_[1], reloads_[0]);
  text += gauge("ellice_connections", "Open connections.", static_cast<double>(gauges.connections));
  text += gauge("ellice_queue_waiting", "Requests that wait to be computed.",
                static_cast<double>(gauges.queue_waiting));
  text += gauge("ellice_queue_running", "Requests that are being computed.",
                static_cast<double>(gauges.queue_running));
  text += gauge("ellice_queue_capacity", "Requests that may wait.",
                static_cast<double>(gauges.queue_capacity));
  text += gauge("ellice_draining", "1 once the service has been asked to end.",
                gauges.draining ? 1 : 0);
  text += gauge("process_resident_memory_bytes", "Memory in use.", resident_bytes());
  text += family("ellice_build_info", "gauge", "What is running.");
  text += fmt::format("ellice_build_info{{version=\"{}\",commit=\"{}\"}} 1\n",
                      label_text(version().number), label_text(version().commit));
  return text;
}

}  // namespace ellice::serve
