#include "ellice/study/store.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "ellice/core/json.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using testing_support::message_of;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("ellice-store-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "results.sqlite").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path_;
  Json identity_ = {{"plan_sha256", "abc"}, {"version", "0.1.0"}};
};

TEST_F(StoreTest, RecordsAreThereAfterOpeningAgain) {
  const Json record = {{"value", 0.1}, {"list", {1, 2}}, {"text", "a\nb"}};
  {
    StudyStore store(path_, identity_);
    EXPECT_FALSE(store.has("b"));
    store.add("b", record);
    store.add("a", Json::object());
  }
  const StudyStore store(path_, identity_);
  EXPECT_EQ(store.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(store.find("b"), record);
  EXPECT_FALSE(store.find("c").has_value());
  EXPECT_EQ(store.identity(), identity_);
}

TEST_F(StoreTest, RefusesAnotherStudy) {
  Json other = identity_;
  other["plan_sha256"] = "def";
  // Nothing is lost where nothing was finished.
  { const StudyStore store(path_, other); }
  {
    StudyStore store(path_, identity_);
    EXPECT_EQ(store.identity(), identity_);
    store.add("a", {{"x", 1}});
  }
  expect_input_error([&] { const StudyStore store(path_, other); },
                     {"holds another study", "plan_sha256"});
}

TEST_F(StoreTest, RefusesWhatIsNoStore) {
  std::ofstream(path_) << "query_index,income\n0,1\n";
  expect_input_error([&] { const StudyStore store(path_, identity_); }, {path_, "study's results"});
  expect_input_error([&] { (void)StudyStore::open(path_ + ".none"); }, {"no such file"});
}

TEST_F(StoreTest, ASecondProgramIsToldToWait) {
  const StudyStore store(path_, identity_);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string message =
        message_of(ErrorCode::output, [&] { const StudyStore second(path_, identity_); });
    ::_exit(message.find("another run") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(StoreTest, NothingFinishedIsLostWhenTheProgramIsKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    StudyStore store(path_, identity_);
    for (int k = 0;; ++k) {
      store.add("record " + std::to_string(k), {{"k", k}});
      std::ofstream(folder_ / "count") << k + 1 << std::flush;
    }
  }
  ::usleep(300'000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  int told = 0;
  std::ifstream(folder_ / "count") >> told;
  const StudyStore store(path_, identity_);
  EXPECT_GE(store.names().size(), static_cast<std::size_t>(told));
  for (int k = 0; k < told; ++k) {
    EXPECT_EQ(store.find("record " + std::to_string(k)).value()["k"], k);
  }
}

// A limit on the size of files stands for a full disk.
TEST_F(StoreTest, AFullDiskIsReportedAndLosesNothing) {
  { StudyStore(path_, identity_).add("small", {{"k", 1}}); }
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 40'000, .rlim_max = 40'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    StudyStore store(path_, identity_);
    const std::string message = message_of(ErrorCode::output, [&] {
      store.add("large", {{"text", std::string(200'000, 'x')}});
    });
    ::_exit(message.find("cannot be written") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const StudyStore store(path_, identity_);
  EXPECT_EQ(store.names(), (std::vector<std::string>{"small"}));
}

}  // namespace
}  // namespace ellice
