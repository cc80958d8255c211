// Values as people write and read them: command-line words to a blob, a blob to text or JSON.
//
//   bool, numbers   true, -3, 0xff, 2.5, inf, nan
//   str             as it is; inside other values quoted as in JSON, or bare up to , : ] }
//   bytes           as they are; hex:00ff; @path for a file's content
//   span, list      [1, 2, 3]; of plain elements also @path for a file that holds them as memory
//   array, tuple    [1, "two"]
//   map             {key: value}
//   struct          {x: 1, y: 2} in any order, or [1, 2]; fields that are opt may be left out
//   opt             null, or the value
//   ref             gdw://..., quoted inside other values
#pragma once

#include <span>
#include <string>

#include "base/bytes.hpp"
#include "code/types/type.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

inline constexpr std::size_t kLiteralDepthLimit = 32;

// The blob of arguments given as words, one per parameter. Errors: invalid_argument, naming the
// argument's number, its type and what was found; not_found and io for files.
[[nodiscard]] Result<Buffer> encode_text(const Signature& signature,
                                         std::span<const std::string> words);

// The value in a result blob. A str stands alone as it is; JSON writes bytes as "hex:00ff", and
// inf and nan as strings. Errors: bad_format if the blob is not one of this type.
[[nodiscard]] Result<std::string> format_text(const Type& type, Bytes blob);
[[nodiscard]] Result<std::string> format_json(const Type& type, Bytes blob);

}  // namespace godwit::code
