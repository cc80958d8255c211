// Small messages between the ranks of a group, over its Carrier: for meeting, not for speed.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "base/fail.hpp"
#include "forward/carrier.hpp"

namespace godwit::cuda {

// Belongs to one rank.
class Mail {
 public:
  Mail(std::unique_ptr<forward::Carrier> carrier, Rank rank)
      : carrier_(std::move(carrier)), rank_(rank) {}
  ~Mail();
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  template <class T>
  void send(Rank to, const T& message) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(to, T::kTag, {reinterpret_cast<const std::byte*>(&message), sizeof message});
  }
  // The next message of this type, with its sender.
  template <class T>
  struct Letter {
    Rank from = 0;
    T message;
  };
  template <class T>
  [[nodiscard]] Result<Letter<T>> receive(forward::Deadline deadline) {
    GODWIT_TRY(forward::Chunk* const chunk, take(T::kTag, sizeof(T), deadline));
    Letter<T> letter;
    letter.from = chunk->source;
    std::memcpy(&letter.message, chunk->items(), sizeof(T));
    godwit::detail::give_back(chunk);
    return letter;
  }

 private:
  void send_bytes(Rank to, std::uint16_t tag, std::span<const std::byte> bytes);
  [[nodiscard]] Result<forward::Chunk*> take(std::uint16_t tag, std::size_t bytes,
                                             forward::Deadline deadline);

  std::unique_ptr<forward::Carrier> carrier_;
  Rank rank_;
  forward::Chunk* waiting_ = nullptr;  // arrived, and not asked for yet
};

}  // namespace godwit::cuda
