// Compiles mobile functions of Godwit's own while Godwit itself is being built: what `godwit cc`
// does, before there is a godwit.
//
//   godwit_bundle_tool NAME OUTPUT.gdw SOURCE.cpp...
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/fail.hpp"
#include "code/toolchain/compile.hpp"

namespace godwit::code {
namespace {

// For every machine whose libraries are installed here; this one's always are.
Result<Bundle> compile_for_all(CompileRequest request) {
  auto bundle = compile(request);
  if (bundle || bundle.error().code != ErrorCode::not_found) return bundle;
  request.targets = {host_machine()};
  fmt::print("{}: for {} only: {}\n", request.name, to_string(host_machine()),
             bundle.error().message);
  return compile(request);
}

Status run(int argc, char** argv) {
  if (argc < 4) {
    return fail(ErrorCode::invalid_argument, "usage: {} NAME OUTPUT.gdw SOURCE...", argv[0]);
  }
  CompileRequest request;
  request.name = argv[1];
  request.sources.assign(argv + 3, argv + argc);
  GODWIT_TRY(const Bundle bundle, compile_for_all(std::move(request)));
  return bundle.write(argv[2]);
}

}  // namespace
}  // namespace godwit::code

int main(int argc, char** argv) {
  const godwit::Status done = godwit::code::run(argc, argv);
  if (done) return EXIT_SUCCESS;
  fmt::print(stderr, "{}\n", done.error().message);
  return EXIT_FAILURE;
}
