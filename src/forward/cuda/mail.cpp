#include "forward/cuda/mail.hpp"

#include <algorithm>
#include <utility>

namespace godwit::cuda {

using forward::Outpost;

Result<Outpost::Note> Mail::take(std::uint16_t tag, std::size_t bytes) {
  const auto fits = [&](const Outpost::Note& note) {
    return note.bytes.size() == sizeof tag + bytes &&
           std::memcmp(note.bytes.data(), &tag, sizeof tag) == 0;
  };
  for (;;) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), fits);
    if (found != waiting_.end()) {
      Outpost::Note note = std::move(*found);
      waiting_.erase(found);
      return note;
    }
    GODWIT_TRY(Outpost::Note note, outpost_.await_note());
    waiting_.push_back(std::move(note));
  }
}

}  // namespace godwit::cuda
