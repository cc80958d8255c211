// Small messages between the ranks of an exchange on GPUs: for meeting, not for speed.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>

#include "base/fail.hpp"
#include "forward/outpost.hpp"

namespace godwit::cuda {

// Belongs to one rank, as its outpost does.
class Mail {
 public:
  explicit Mail(forward::Outpost& outpost) : outpost_(outpost) {}

  template <class T>
  void send(Rank to, const T& message) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::string bytes(sizeof T::kTag + sizeof message, '\0');
    std::memcpy(bytes.data(), &T::kTag, sizeof T::kTag);
    std::memcpy(bytes.data() + sizeof T::kTag, &message, sizeof message);
    outpost_.send_note(to, bytes);
  }
  // The next message of this type, with its sender. deadline, node_lost: none came.
  template <class T>
  struct Letter {
    Rank from = 0;
    T message;
  };
  template <class T>
  [[nodiscard]] Result<Letter<T>> receive() {
    GODWIT_TRY(const forward::Outpost::Note note, take(T::kTag, sizeof(T)));
    Letter<T> letter;
    letter.from = note.from;
    std::memcpy(&letter.message, note.bytes.data() + sizeof T::kTag, sizeof(T));
    return letter;
  }

 private:
  [[nodiscard]] Result<forward::Outpost::Note> take(std::uint16_t tag, std::size_t bytes);

  forward::Outpost& outpost_;
  std::deque<forward::Outpost::Note> waiting_;  // arrived, and not asked for yet
};

}  // namespace godwit::cuda
