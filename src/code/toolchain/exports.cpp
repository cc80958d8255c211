#include "code/toolchain/exports.hpp"

#include <cstring>
#include <optional>
#include <string_view>

#include "base/fail.hpp"
#include "code/bundle/limits.hpp"
#include "code/bundle/names.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::code {
namespace {

constexpr std::string_view kSectionName = "godwit_exports";
constexpr std::size_t kRecordAlignment = 8;

std::optional<std::string> text_in(Bytes record, std::uint32_t offset, std::uint32_t size) {
  if (offset > record.size() || size > record.size() - offset) return std::nullopt;
  return std::string(text_of(record.subspan(offset, size)));
}

Result<FunctionInfo> read_record(Bytes record) {
  godwit_export_v1 raw;
  std::memcpy(&raw, record.data(), sizeof raw);
  auto name = text_in(record, raw.name_offset, raw.name_size);
  auto signature = text_in(record, raw.signature_offset, raw.signature_size);
  auto entry = text_in(record, raw.entry_offset, raw.entry_size);
  if (!name || !signature || !entry) {
    return fail(ErrorCode::corrupt_code, "a string of an export record lies outside the record");
  }
  GODWIT_CHECK(check_name("exported name", *name));
  GODWIT_CHECK(check_symbol("entry symbol", *entry));
  return FunctionInfo{.name = *std::move(name),
                      .signature = *std::move(signature),
                      .entry = *std::move(entry),
                      .flags = raw.flags};
}

}  // namespace

Result<std::vector<FunctionInfo>> read_exports(const ElfFile& file) {
  std::vector<FunctionInfo> functions;
  for (const ElfSection& section : file.sections()) {
    if (section.name != kSectionName) continue;
    Bytes rest = section.contents;
    while (!rest.empty()) {
      std::uint32_t size = 0;
      if (rest.size() >= sizeof size) std::memcpy(&size, rest.data(), sizeof size);
      // Records of larger alignment leave zeros between them.
      if (size == 0 && rest.size() >= kRecordAlignment) {
        rest = rest.subspan(kRecordAlignment);
        continue;
      }
      if (size < sizeof(godwit_export_v1) || size > rest.size() || size % kRecordAlignment != 0) {
        return fail(ErrorCode::corrupt_code, "an export record claims {} of {} bytes", size,
                    rest.size());
      }
      if (functions.size() == kMaxFunctions) {
        return fail(ErrorCode::bad_format, "more than {} exported functions", kMaxFunctions);
      }
      GODWIT_TRY(FunctionInfo function, read_record(rest.first(size)));
      functions.push_back(std::move(function));
      rest = rest.subspan(size);
    }
  }
  return functions;
}

}  // namespace godwit::code
