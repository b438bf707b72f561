#include <openssl/evp.h>

#include <array>
#include <string>
#include <vector>

#include "service.hpp"

namespace ellice::serve {

namespace {

std::string base64_sha256(std::string_view text) {
  std::array<unsigned char, 32> digest = {};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 45> encoded = {};
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return {encoded.begin(), encoded.begin() + length};
}

/// What stands between <tag …> and </tag>, each as a source of a policy. A script that is no
/// program (type="application/json") needs none, and has one anyway.
std::string inline_sources(std::string_view page, const std::string& tag) {
  std::string sources;
  const std::string open = "<" + tag;
  const std::string close = "</" + tag + ">";
  for (std::size_t at = 0; (at = page.find(open, at)) != std::string_view::npos;) {
    const std::size_t begin = page.find('>', at);
    const std::size_t end = begin == std::string_view::npos ? begin : page.find(close, begin);
    if (end == std::string_view::npos) break;
    sources += " 'sha256-" + base64_sha256(page.substr(begin + 1, end - begin - 1)) + "'";
    at = end + close.size();
  }
  return sources.empty() ? " 'none'" : sources;
}

}  // namespace

std::string policy_of(std::string_view page) {
  return "default-src 'none'; script-src" + inline_sources(page, "script") + "; style-src" +
         inline_sources(page, "style") +
         "; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

}  // namespace ellice::serve
