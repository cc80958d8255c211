#include "code/toolchain/needs.hpp"

#include <optional>

#include "base/fail.hpp"
#include "code/bundle/file.hpp"
#include "code/bundle/limits.hpp"
#include "code/bundle/names.hpp"
#include "code/elf/elf_file.hpp"
#include "code/toolchain/process.hpp"

namespace godwit::code {
namespace {

std::vector<std::string> empty_library_command(const CompileSession& session, Machine machine,
                                               const std::filesystem::path& output) {
  return {session.tools().clang,
          fmt::format("--target={}", triple_of(machine)),
          "-shared",
          "-nostdlib",
          "-fuse-ld=lld",
          "-Wl,--build-id=none",
          "-Wl,--no-as-needed",
          "-o",
          output.string(),
          "-xc",
          "/dev/null"};
}

bool is_soname(const std::string& need) {
  return need.find(".so") != std::string::npos;
}

std::string linker_argument(const std::string& need) {
  return is_soname(need) ? "-l:" + need : "-l" + need;
}

// Links nothing but the library and reads off what got needed: this follows linker scripts, and
// finds nothing for a static library. No value: not installed for that machine.
Result<std::optional<std::vector<std::string>>> probe(CompileSession& session, Machine machine,
                                                      const std::string& need) {
  const auto output = session.file(fmt::format("probe-{}-{}.so", to_string(machine), need));
  auto command = empty_library_command(session, machine, output);
  command.push_back(linker_argument(need));
  GODWIT_TRY(const ProcessResult linked, run_process(command, session.request().command_timeout));
  if (linked.exit_code != 0) return std::optional<std::vector<std::string>>();
  GODWIT_TRY(const Buffer image, read_file(output, kMaxBundleBytes));
  GODWIT_TRY(const ElfFile elf, ElfFile::parse(image.view()));
  GODWIT_TRY(const ElfFile::Dynamic dynamic, elf.dynamic());
  return std::optional(std::vector<std::string>(dynamic.needed.begin(), dynamic.needed.end()));
}

Result<std::vector<std::string>> sonames_elsewhere(CompileSession& session, Machine missing_on,
                                                   const std::string& need) {
  if (is_soname(need)) return std::vector<std::string>{need};
  for (const Machine machine : {host_machine(), Machine::x86_64, Machine::aarch64}) {
    if (machine == missing_on) continue;
    GODWIT_TRY(auto sonames, probe(session, machine, need));
    if (sonames && !sonames->empty()) return *std::move(sonames);
  }
  return fail(ErrorCode::not_found,
              "the library '{0}' is not installed for {1}, and nothing here says what it is called "
              "there: install its development package, or name it as the target knows it, like "
              "--needs lib{0}.so.1",
              need, to_string(missing_on));
}

}  // namespace

Result<ResolvedNeeds> resolve_needs(CompileSession& session, Machine machine) {
  ResolvedNeeds resolved;
  for (const std::string& need : session.request().needs) {
    GODWIT_CHECK(check_name("needed library", need));
    GODWIT_TRY(auto sonames, probe(session, machine, need));
    if (sonames) {
      resolved.link_arguments.push_back(linker_argument(need));
    } else {
      GODWIT_TRY(sonames, sonames_elsewhere(session, machine, need));
      for (const std::string& soname : *sonames) {
        const auto stand_in =
            session.file(fmt::format("stand-in-{}-{}", to_string(machine), soname));
        auto command = empty_library_command(session, machine, stand_in);
        command.push_back("-Wl,-soname," + soname);
        GODWIT_CHECK(session.run(command, fmt::format("make a stand-in for {}", soname)));
        resolved.link_arguments.push_back(stand_in.string());
      }
      resolved.has_stand_ins = true;
    }
    resolved.sonames.insert(resolved.sonames.end(), sonames->begin(), sonames->end());
  }
  return resolved;
}

}  // namespace godwit::code
