// Regions as the verbs of mobile code need them. Implemented by region/.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::call {

// Any thread.
class Regions {
 public:
  // Keeps what a view points at; dropped when the call that has the view ends.
  using Pin = std::shared_ptr<const void>;

  virtual ~Regions() = default;
  // The id of the region of that name. Errors: not_found.
  [[nodiscard]] virtual Result<std::uint64_t> find(std::string_view name) = 0;
  // Fills in everything of the view but its size. An empty `type` is any. Errors: as godwit_here_v1
  // says of region().
  [[nodiscard]] virtual Result<Pin> view(std::uint64_t id, std::string_view type,
                                         std::uint32_t rights, godwit_region_v1& view) = 0;
  // May take long.
  [[nodiscard]] virtual Status apply(Bytes descriptor) = 0;
};

}  // namespace godwit::call
