#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ellice/request/answer.hpp"

namespace ellice::serve {

/// What happens now, for the counters that are no sums.
struct Gauges {
  std::size_t connections = 0;
  std::size_t queue_waiting = 0;
  std::size_t queue_running = 0;
  std::size_t queue_capacity = 0;
  bool draining = false;
};

/// Sums since the start, as Prometheus reads them.
class Metrics {
 public:
  /// `computed`: processor time of its thread of the queue; none where there was no such thread.
  void count_request(const std::string& route, int status, double seconds,
                     std::optional<double> computed);
  void count_answer(Status status);
  void count_people(const std::string& route, std::size_t people);
  void count_reload(bool is_done);

  /// The text of /metrics, without what is said of models.
  [[nodiscard]] std::string text(const Gauges& gauges) const;

 private:
  static constexpr std::array<double, 14> limits = {
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30};
  struct Durations {
    std::array<std::size_t, limits.size()> at_most = {};
    std::size_t count = 0;
    double sum = 0;
    void add(double seconds);
  };
  using ByRoute = std::map<std::string, Durations>;
  [[nodiscard]] static std::string histogram(std::string_view name, std::string_view help,
                                             const ByRoute& all);
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::pair<std::string, int>, std::size_t> requests_;
  ByRoute durations_;
  ByRoute computed_;
  std::map<std::string, std::size_t> people_;
  std::array<std::size_t, EnumNames<Status>::names.size()> answers_ = {};
  std::array<std::size_t, 2> reloads_ = {};  // failed, done
};

/// A value of a label: quotes, backslashes and line ends escaped.
[[nodiscard]] std::string label_text(std::string_view text);

}  // namespace ellice::serve
