#include "core/sha256.hpp"

#include <openssl/evp.h>

#include <array>

#include "ellice/core/error.hpp"

namespace ellice {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
};

void Sha256::Release::operator()(Context* context) const {
  EVP_MD_CTX_free(context->evp);
  delete context;
}

namespace {

void check(bool ok) {
  if (!ok) fail(ErrorCode::internal, "SHA-256 is not available from OpenSSL");
}

}  // namespace

Sha256::Sha256() : context_(new Context) {
  check(context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

void Sha256::update(std::string_view bytes) {
  check(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(context_->evp, digest.data(), &size) == 1);
  std::string result;
  constexpr std::string_view digits = "0123456789abcdef";
  for (unsigned int i = 0; i < size; ++i) {
    result += digits[digest.at(i) >> 4U];
    result += digits[digest.at(i) & 15U];
  }
  return result;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace ellice
