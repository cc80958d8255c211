// Sources on disk for tests that compile, and the requests they make.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder_for_test.hpp"
#include "code/toolchain/compile.hpp"

namespace godwit::code {

// A directory of sources, gone with its owner.
class SourceTree {
 public:
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

 private:
  TestFolder folder_;
};

// Native code for this machine alone: the quickest build.
inline CompileRequest native_request(std::vector<std::filesystem::path> sources) {
  return {.sources = std::move(sources), .targets = {host_machine()}, .kinds = {SliceKind::native}};
}

inline Result<Bundle> compile_text(std::string_view text, const std::string& name = "code.cpp") {
  const SourceTree tree;
  return compile(native_request({tree.write(name, text)}));
}

// An entry `name` of signature () -> i64 whose body is `body`.
inline std::string entry_text(const std::string& name, const std::string& body) {
  return "#include <godwit/mobile_c.h>\n#include <string.h>\n"
         "GODWIT_EXPORT_C(" +
         name +
         ", \"() -> i64\", 0);\n"
         "static int64_t body_of_" +
         name + "(void) { " + body +
         " }\n"
         "int32_t godwit_entry_" +
         name +
         "(const godwit_here_v1* here, const void* args,\n"
         "                                  size_t args_size, godwit_reply* reply) {\n"
         "  (void)here; (void)args; (void)args_size;\n"
         "  int64_t value = body_of_" +
         name +
         "();\n"
         "  memcpy(reply->data, &value, sizeof value);\n"
         "  reply->size = sizeof value;\n"
         "  return GODWIT_OK;\n}\n";
}

}  // namespace godwit::code
