#include "code/toolchain/compile.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "base/fail.hpp"
#include "code/bundle/file.hpp"
#include "code/bundle/limits.hpp"
#include "code/toolchain/exports.hpp"
#include "code/toolchain/process.hpp"
#include "code/toolchain/scratch_directory.hpp"
#include "code/toolchain/slices.hpp"
#include "code/toolchain/translate.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;

bool wants(const CompileRequest& request, SliceKind kind) {
  return std::find(request.kinds.begin(), request.kinds.end(), kind) != request.kinds.end();
}

bool has_cpp(const CompileRequest& request) {
  return std::any_of(request.sources.begin(), request.sources.end(), is_cpp_source);
}

Status check_request(const CompileRequest& request) {
  if (request.sources.empty()) {
    return fail(ErrorCode::invalid_argument,
                "no source to compile: name .c, .cc, .cpp or .cxx files");
  }
  for (const fs::path& source : request.sources) {
    if (!is_c_source(source) && !is_cpp_source(source)) {
      return fail(ErrorCode::invalid_argument,
                  "'{}' is no C or C++ source: its name should end in "
                  ".c, .cc, .cpp or .cxx",
                  source.string());
    }
    std::error_code ignored;
    if (!fs::exists(source, ignored)) {
      return fail(ErrorCode::not_found, "the source '{}' does not exist", source.string());
    }
  }
  if (request.targets.empty() || request.kinds.empty() || request.optimisation_level > 3) {
    return fail(ErrorCode::invalid_argument,
                "a bundle needs at least one target and one kind of "
                "slice, and an optimisation level from 0 to 3");
  }
  return {};
}

// Says what to install before clang says that <cstddef> does not exist.
Status check_sysroot(const CompileSession& session, Machine machine) {
  const char* library = has_cpp(session.request()) ? "libstdc++.so" : "libc.so";
  GODWIT_TRY(const ProcessResult found,
             run_process({session.tools().clang, fmt::format("--target={}", triple_of(machine)),
                          fmt::format("-print-file-name={}", library)},
                         session.request().command_timeout));
  if (found.output.find('/') != std::string::npos) return {};
  std::string package = fmt::format("g++-{}", triple_of(machine));
  std::replace(package.begin(), package.end(), '_', '-');
  return fail(
      ErrorCode::not_found,
      "cannot compile for {0}: its C and C++ libraries are not installed here; install {1}, "
      "or leave {0} out with --target {2}",
      to_string(machine), package, to_string(host_machine()));
}

Status prepare(CompileSession& session, SliceInputs& inputs) {
  const CompileRequest& request = session.request();
  GODWIT_CHECK(check_sysroot(session, inputs.machine));
  std::error_code error;
  fs::create_directory(session.file(std::string(to_string(inputs.machine))), error);
  if (error) return fail(ErrorCode::io, "cannot make a directory: {}", error.message());
  GODWIT_TRY(inputs.needs, resolve_needs(session, inputs.machine));
  inputs.cpp = has_cpp(request);
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    const std::string stem =
        fmt::format("{}/{}-{}", to_string(inputs.machine), i, request.sources[i].stem().string());
    inputs.objects.push_back(session.file(stem + ".o"));
    if (wants(request, SliceKind::bitcode)) inputs.bitcode.push_back(session.file(stem + ".bc"));
  }
  return {};
}

// Parsing is most of a translation, so native code is made of the bitcode where that gives the
// same: bitcode is optimised already, and flags of the user may be about the source.
bool is_native_from_bitcode(const CompileRequest& request) {
  return wants(request, SliceKind::bitcode) && request.optimisation_level >= 2 &&
         request.flags.empty();
}

// Exports are read from objects, so a bundle without native slices still makes one per source.
Status object_from_bitcode(CompileSession& session, const SliceInputs& target, std::size_t source) {
  std::vector<std::string> argv = clang_for(session, target.machine, /*cpp=*/false);
  if (wants(session.request(), SliceKind::native)) {
    append_native_options(argv, session.request());
  } else {
    argv.emplace_back("-O0");
  }
  argv.insert(argv.end(),
              {"-c", target.bitcode[source].string(), "-o", target.objects[source].string()});
  return session.run(
      argv, fmt::format("make native code of {} for {}", session.request().sources[source].string(),
                        to_string(target.machine)));
}

// All translations of all sources, side by side.
Status translate_all(CompileSession& session, const std::vector<SliceInputs>& targets) {
  const CompileRequest& request = session.request();
  const bool native = wants(request, SliceKind::native) && !is_native_from_bitcode(request);
  std::vector<UniqueFunction<Status()>> jobs;
  for (const SliceInputs& target : targets) {
    for (std::size_t i = 0; i < request.sources.size(); ++i) {
      const Translation common{.source = request.sources[i],
                               .output = {},
                               .machine = target.machine,
                               .kind = SliceKind::none,
                               .with_foreign_headers = target.needs.has_stand_ins,
                               .quiet = &target != &targets.front()};
      if (native) {
        jobs.emplace_back([&session, &target, i, job = common]() mutable {
          job.kind = SliceKind::native;
          job.output = target.objects[i];
          return translate(session, job);
        });
      }
      if (wants(request, SliceKind::bitcode)) {
        jobs.emplace_back([&session, &target, i, native, job = common]() mutable -> Status {
          job.kind = SliceKind::bitcode;
          job.output = target.bitcode[i];
          job.quiet = job.quiet || native;
          GODWIT_CHECK(translate(session, job));
          return native ? Status() : object_from_bitcode(session, target, i);
        });
      }
    }
  }
  return session.run_all(std::move(jobs));
}

Result<std::vector<FunctionInfo>> exports_of(const CompileSession& session,
                                             const SliceInputs& target) {
  std::vector<FunctionInfo> functions;
  std::map<std::string, std::string> seen;  // name -> source
  for (std::size_t i = 0; i < target.objects.size(); ++i) {
    const std::string source = session.request().sources[i].string();
    GODWIT_TRY(const Buffer object, read_file(target.objects[i], kMaxBundleBytes));
    GODWIT_TRY(const ElfFile elf, ElfFile::parse(object.view()));
    auto exported = read_exports(elf);
    if (!exported) {
      return fail(exported.error().code, "cannot use '{}': {}", source, exported.error().message);
    }
    for (FunctionInfo& function : *exported) {
      const auto [first, added] = seen.emplace(function.name, source);
      if (!added) {
        return fail(ErrorCode::invalid_argument,
                    "the function '{}' is exported twice, by '{}' and by '{}': rename one",
                    function.name, first->second, source);
      }
      functions.push_back(std::move(function));
    }
  }
  if (functions.empty()) {
    return fail(ErrorCode::invalid_argument,
                "nothing is exported: add GODWIT_EXPORT(function); after the functions that others "
                "should be able to call (#include <godwit/mobile.hpp>)");
  }
  return functions;
}

// The same functions with the same signatures everywhere, or a call would mean something else on
// another machine.
Result<std::vector<FunctionInfo>> common_exports(const CompileSession& session,
                                                 std::vector<SliceInputs>& targets) {
  std::vector<FunctionInfo> functions;
  for (SliceInputs& target : targets) {
    GODWIT_TRY(auto exported, exports_of(session, target));
    for (const FunctionInfo& function : exported) target.entries.push_back(function.entry);
    if (&target == &targets.front())
      functions = std::move(exported);
    else if (!std::equal(functions.begin(), functions.end(), exported.begin(), exported.end(),
                         [](const FunctionInfo& a, const FunctionInfo& b) {
                           return a.name == b.name && a.signature == b.signature &&
                                  a.entry == b.entry && a.flags == b.flags;
                         })) {
      return fail(ErrorCode::invalid_argument,
                  "the sources export other functions or signatures for {} than for {}: a bundle "
                  "offers the same on every machine",
                  to_string(target.machine), to_string(targets.front().machine));
    }
  }
  return functions;
}

Result<std::vector<MadeSlice>> make_slices(CompileSession& session,
                                           const std::vector<SliceInputs>& targets) {
  std::vector<MadeSlice> slices(targets.size() * session.request().kinds.size());
  std::vector<UniqueFunction<Status()>> jobs;
  std::size_t next = 0;
  for (const SliceInputs& target : targets) {
    for (const SliceKind kind : session.request().kinds) {
      jobs.emplace_back([&session, &target, kind, &slice = slices[next++]]() -> Status {
        const auto make = kind == SliceKind::native ? make_native_slice : make_bitcode_slice;
        GODWIT_TRY(slice, make(session, target));
        return {};
      });
    }
  }
  GODWIT_CHECK(session.run_all(std::move(jobs)));
  return slices;
}

}  // namespace

Result<Bundle> compile(const CompileRequest& request) {
  GODWIT_CHECK(check_request(request));
  GODWIT_TRY(const Tools tools, find_tools(request));
  GODWIT_TRY(ScratchDirectory scratch, ScratchDirectory::create());
  if (request.keep_temporaries) {
    scratch.keep();
    if (request.on_command) {
      request.on_command(fmt::format("# keeping temporary files in {}", scratch.path().string()));
    }
  }
  CompileSession session(request, tools, scratch.path());

  std::vector<SliceInputs> targets;
  for (const Machine machine : request.targets) {
    SliceInputs& target = targets.emplace_back();
    target.machine = machine;
    GODWIT_CHECK(prepare(session, target));
  }
  GODWIT_CHECK(translate_all(session, targets));
  GODWIT_TRY(std::vector<FunctionInfo> functions, common_exports(session, targets));
  GODWIT_TRY(std::vector<MadeSlice> slices, make_slices(session, targets));

  BundleBuilder builder(request.name.empty() ? request.sources.front().stem().string()
                                             : request.name);
  builder.producer(tools.producer()).needs(targets.front().needs.sonames);
  for (FunctionInfo& function : functions) builder.function(std::move(function));
  for (MadeSlice& slice : slices) builder.slice(std::move(slice.info), std::move(slice.bytes));
  return std::move(builder).build();
}

}  // namespace godwit::code
