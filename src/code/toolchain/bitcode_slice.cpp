#include <fmt/ranges.h>

#include "base/fail.hpp"
#include "code/bundle/file.hpp"
#include "code/bundle/limits.hpp"
#include "code/elf/traits.hpp"
#include "code/toolchain/slices.hpp"
#include "code/toolchain/translate.hpp"

namespace godwit::code {
namespace {

// Bitcode says nothing of sections; an object compiled from it does.
Result<CodeTraits> traits_of_bitcode(CompileSession& session, Machine machine,
                                     const std::filesystem::path& bitcode) {
  const auto object = session.file(fmt::format("{}/slice.bc.o", to_string(machine)));
  std::vector<std::string> argv = clang_for(session, machine, /*cpp=*/false);
  argv.insert(argv.end(),
              {"-O0", "-fdata-sections", "-c", bitcode.string(), "-o", object.string()});
  GODWIT_CHECK(session.run(argv, "look into the bitcode"));
  GODWIT_TRY(const Buffer bytes, read_file(object, kMaxBundleBytes));
  GODWIT_TRY(const ElfFile elf, ElfFile::parse(bytes.view()));
  return traits_of(elf);
}

}  // namespace

Result<MadeSlice> make_bitcode_slice(CompileSession& session, const SliceInputs& inputs) {
  const Tools& tools = session.tools();
  const std::string_view machine = to_string(inputs.machine);
  const auto merged = session.file(fmt::format("{}/merged.bc", machine));
  const auto output = session.file(fmt::format("{}/slice.bc", machine));

  // Also for a single file: llvm-link drops the ThinLTO summary and the source's path.
  std::vector<std::string> link = {tools.llvm_link, "-o", merged.string()};
  for (const auto& file : inputs.bitcode) link.push_back(file.string());
  GODWIT_CHECK(session.run(link, fmt::format("merge the bitcode for {}", machine)));

  const auto kept = session.file(fmt::format("{}/entries.txt", machine));
  const std::string entries = fmt::format("{}\n", fmt::join(inputs.entries, "\n"));
  GODWIT_CHECK(write_file_atomically(kept, bytes_of(entries)));
  GODWIT_CHECK(session.run(
      {tools.opt, "-passes=internalize,globaldce", "--internalize-public-api-file=" + kept.string(),
       "-o", output.string(), merged.string()},
      fmt::format("reduce the bitcode for {}", machine)));

  GODWIT_TRY(CodeTraits traits, traits_of_bitcode(session, inputs.machine, output));
  GODWIT_TRY(Buffer bytes, read_file(output, kMaxBundleBytes));
  return MadeSlice{{.kind = SliceKind::bitcode,
                    .machine = inputs.machine,
                    .triple = std::string(triple_of(inputs.machine)),
                    .producer = tools.producer(),
                    .llvm_major = tools.llvm_major,
                    .traits = std::move(traits)},
                   std::move(bytes)};
}

}  // namespace godwit::code
