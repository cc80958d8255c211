// Compiles the mobile functions of ops while Godwit itself is being built: what `godwit cc` does,
// before there is a godwit.
//
//   godwit_ops_bundle OUTPUT.gdw SOURCE.cpp...
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/fail.hpp"
#include "code/toolchain/compile.hpp"

namespace godwit::ops {
namespace {

// For every machine whose libraries are installed here; this one's always are.
Result<code::Bundle> compile_for_all(code::CompileRequest request) {
  auto bundle = code::compile(request);
  if (bundle || bundle.error().code != ErrorCode::not_found) return bundle;
  request.targets = {code::host_machine()};
  fmt::print("ops: for {} only: {}\n", code::to_string(code::host_machine()),
             bundle.error().message);
  return code::compile(request);
}

Status run(int argc, char** argv) {
  if (argc < 3) return fail(ErrorCode::invalid_argument, "usage: {} OUTPUT.gdw SOURCE...", argv[0]);
  code::CompileRequest request;
  request.name = "ops";
  request.sources.assign(argv + 2, argv + argc);
  GODWIT_TRY(const code::Bundle bundle, compile_for_all(std::move(request)));
  return bundle.write(argv[1]);
}

}  // namespace
}  // namespace godwit::ops

int main(int argc, char** argv) {
  const godwit::Status done = godwit::ops::run(argc, argv);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "{}\n", done.error().message);
  return EXIT_FAILURE;
}
