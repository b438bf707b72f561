#include "ellice/core/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/sha256.hpp"
#include "ellice/core/error.hpp"

namespace ellice {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ellice_file_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(File, ReadsWhatWasWritten) {
  const std::string text = std::string("line\r\n\0binary", 13) + std::string(200000, 'x');
  write_file(path("a"), text);
  EXPECT_EQ(read_file(path("a")), text);
  write_file(path("a"), "new");
  EXPECT_EQ(read_file(path("a")), "new");
  EXPECT_EQ(entries(), 1U) << "a temporary file was left behind";
}

TEST_F(File, NamesTheFileThatCannotBeRead) {
  try {
    (void)read_file(path("absent"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    EXPECT_NE(std::string(error.what()).find("absent: No such file"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW((void)read_file(folder_.string()), Error);
}

TEST_F(File, WritesNothingWhereItCannotWriteAll) {
  EXPECT_THROW(write_file(path("no/such/folder/a"), "x"), Error);
  // /dev/full accepts a file to be opened and refuses every byte.
  try {
    write_file("/dev/full", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::output);
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
}

TEST_F(File, KeepsASymbolicLinkAndTheUsersPermissions) {
  write_file(path("real"), "old");
  fs::create_symlink(path("real"), path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("real")), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path("real").c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(File, StaysAsPrivateAsItWas) {
  write_file(path("private"), "old");
  ASSERT_EQ(::chmod(path("private").c_str(), 0600), 0);
  write_file(path("private"), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path("private").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Sha256, AgreesWithPublishedVectors) {  // FIPS 180-2, appendix B
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 in_pieces;
  for (int i = 0; i < 1000; ++i) in_pieces.update(std::string(1000, 'a'));
  EXPECT_EQ(in_pieces.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace ellice
