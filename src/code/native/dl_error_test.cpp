#include "code/native/dl_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace godwit::code {
namespace {

using testing::HasSubstr;

TEST(DlError, AMissingLibraryIsNamed) {
  const Error error = explain_dl_error(
      "kernels", "libfoo.so.9: cannot open shared object file: No such file or directory");
  EXPECT_EQ(error.code, ErrorCode::missing_library);
  EXPECT_THAT(error.message, HasSubstr("kernels"));
  EXPECT_THAT(error.message, HasSubstr("library libfoo.so.9,"));
}

TEST(DlError, AMissingSymbolIsNamed) {
  const Error error =
      explain_dl_error("kernels", "/tmp/x/kernels-1.so: undefined symbol: frobnicate");
  EXPECT_EQ(error.code, ErrorCode::missing_symbol);
  EXPECT_THAT(error.message, HasSubstr("function frobnicate,"));
  EXPECT_EQ(explain_dl_error("k", "x.so: undefined symbol: f, version V_1").code,
            ErrorCode::missing_symbol);
}

TEST(DlError, AnOlderSystemIsAMissingLibrary) {
  const Error error = explain_dl_error(
      "kernels", "/lib/libc.so.6: version `GLIBC_2.99' not found (required by kernels.so)");
  EXPECT_EQ(error.code, ErrorCode::missing_library);
  EXPECT_THAT(error.message, HasSubstr("GLIBC_2.99"));
}

TEST(DlError, AnythingElseIsBadCode) {
  EXPECT_EQ(explain_dl_error("kernels", "file too short").code, ErrorCode::corrupt_code);
  EXPECT_EQ(explain_dl_error("kernels", "x: Cannot allocate memory").code,
            ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace godwit::code
