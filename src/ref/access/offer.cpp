#include <charconv>

#include "base/fail.hpp"
#include "godwit/owned.hpp"

namespace godwit {

Result<OwnershipOffer> OwnershipOffer::parse(std::string_view text) {
  const std::size_t mark = text.find('#');
  if (mark == std::string_view::npos) {
    return fail(ErrorCode::bad_format, "an offer of ownership is a handle, '#' and a number");
  }
  GODWIT_TRY(const Handle handle, Handle::parse(text.substr(0, mark)));
  const std::string_view digits = text.substr(mark + 1);
  OwnershipOffer offer{handle};
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, offer.number);
  if (error != std::errc() || stop != end || digits.empty()) {
    return fail(ErrorCode::bad_format, "'{}' is not the number of an offer", digits);
  }
  return offer;
}

}  // namespace godwit
