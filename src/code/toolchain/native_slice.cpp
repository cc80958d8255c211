#include "base/fail.hpp"
#include "code/bundle/file.hpp"
#include "code/bundle/limits.hpp"
#include "code/elf/traits.hpp"
#include "code/toolchain/slices.hpp"
#include "code/toolchain/translate.hpp"

namespace godwit::code {
namespace {

// What the C compiler's crtbeginS.o does for us, and nothing else: the rest of the start files
// would add 2.7 KB, a constructor and writable data to every slice. Linked only where something
// refers to __dso_handle, that is, registers a destructor.
constexpr std::string_view kStartSource = R"(
extern void __cxa_finalize(void*);
extern void* const __dso_handle __attribute__((visibility("hidden")));
void* const __dso_handle = (void*)&__dso_handle;
__attribute__((destructor)) static void godwit_finalize(void) {
  __cxa_finalize((void*)&__dso_handle);
}
)";

Result<std::filesystem::path> make_start_object(CompileSession& session, Machine machine) {
  const auto source = session.file(fmt::format("{}/godwit_start.c", to_string(machine)));
  const auto object = session.file(fmt::format("{}/godwit_start.o", to_string(machine)));
  GODWIT_CHECK(write_file_atomically(source, bytes_of(kStartSource)));
  std::vector<std::string> argv = clang_for(session, machine, /*cpp=*/false);
  for (const std::string& argument : {std::string("-O2"), std::string("-c"), source.string(),
                                      std::string("-o"), object.string()}) {
    argv.push_back(argument);
  }
  GODWIT_CHECK(session.run(argv, "compile the start object"));
  return object;
}

// Only entries leave the shared object. Hidden visibility alone is not enough: libstdc++'s headers
// give what they define default visibility.
std::string version_script(const std::vector<std::string>& entries) {
  std::string script = "{\n  global:\n";
  for (const std::string& entry : entries) script += fmt::format("    \"{}\";\n", entry);
  return script + "  local: *;\n};\n";
}

}  // namespace

Result<MadeSlice> make_native_slice(CompileSession& session, const SliceInputs& inputs) {
  const std::string_view machine = to_string(inputs.machine);
  const auto script = session.file(fmt::format("{}/exports.map", machine));
  const auto output = session.file(fmt::format("{}/slice.so", machine));
  GODWIT_CHECK(write_file_atomically(script, bytes_of(version_script(inputs.entries))));
  GODWIT_TRY(const auto start, make_start_object(session, inputs.machine));

  std::vector<std::string> argv = clang_for(session, inputs.machine, inputs.cpp);
  argv.insert(argv.end(), {"-shared", "-nostartfiles", "-fuse-ld=lld", "-Wl,-Bsymbolic",
                           "-Wl,--gc-sections", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--build-id=none",
                           "-Wl,--as-needed", "-Wl,--version-script=" + script.string()});
  // A function nobody defines is the author's mistake; it should show here, not on a node.
  if (!inputs.needs.has_stand_ins) argv.emplace_back("-Wl,-z,defs");
  argv.insert(argv.end(),
              {"-o", output.string(), "-Wl,--start-lib", start.string(), "-Wl,--end-lib"});
  for (const auto& object : inputs.objects) argv.push_back(object.string());
  if (!inputs.needs.link_arguments.empty()) {
    argv.emplace_back("-Wl,--no-as-needed");
    argv.insert(argv.end(), inputs.needs.link_arguments.begin(), inputs.needs.link_arguments.end());
    argv.emplace_back("-Wl,--as-needed");
  }
  GODWIT_CHECK(session.run(argv, fmt::format("link the code for {}", machine)));

  GODWIT_TRY(Buffer bytes, read_file(output, kMaxBundleBytes));
  GODWIT_TRY(const ElfFile elf, ElfFile::parse(bytes.view()));
  GODWIT_TRY(CodeTraits traits, traits_of(elf));
  return MadeSlice{{.kind = SliceKind::native,
                    .machine = inputs.machine,
                    .triple = std::string(triple_of(inputs.machine)),
                    .producer = session.tools().producer(),
                    .traits = std::move(traits)},
                   std::move(bytes)};
}

}  // namespace godwit::code
