// A node's side of streams: what peers ask for is done to the node's topics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "ref/home/service.hpp"
#include "ref/stream/stream_store.hpp"
#include "wire/stream.hpp"

namespace godwit::ref {
class Answers;
}

namespace godwit::ref::stream {

// Any thread. The stores outlive it and every answer that it has written.
class StreamService final : public StreamAnswers {
 public:
  // Up to here items come in the answer, also where the asker could map them.
  static constexpr std::size_t kSmall = std::size_t{16} << 10;
  // Of small slices, into one answer for those that cannot.
  static constexpr std::size_t kMaxCopied = std::size_t{64} << 10;
  static constexpr std::size_t kMaxListed = 4096;

  // `rooms` has what producers have written; `on_use` is called after each request, by any thread:
  // times may have changed.
  StreamService(StreamStore& topics, ObjectStore& rooms, std::function<void()> on_use)
      : topics_(topics), rooms_(rooms), on_use_(std::move(on_use)) {}

  Result<bool> answer(const call::Objects::Asker& asker, Bytes request,
                      call::ReplyBuffer& reply) override;
  void stop_waiting(std::uint64_t waiter) override { topics_.stop_waiting(waiter); }
  void renew(Holder holder) override { topics_.renew(holder); }
  void leave(Holder holder) override { topics_.leave(holder); }

 private:
  struct Request;
  // False: there is no answer yet.
  [[nodiscard]] Result<bool> act(const Request& request, Answers& answers);
  [[nodiscard]] Status open(const Request& request, Answers& answers);
  [[nodiscard]] Result<bool> append(const Request& request, Answers& answers);
  using Add = std::function<Result<bool>(Batch&)>;
  [[nodiscard]] Result<bool> append_copy(const Request& request, const Add& add);
  [[nodiscard]] Result<bool> append_room(const Request& request, const Add& add);
  [[nodiscard]] Status join(const Request& request, Answers& answers);
  [[nodiscard]] Result<bool> fetch(const Request& request, Answers& answers);
  void write(const Request& request, Delivery& delivery, Answers& answers);
  [[nodiscard]] Status ack(const Request& request, Answers& answers);
  [[nodiscard]] Status close(const Request& request);
  [[nodiscard]] Status describe(const Request& request, Answers& answers) const;
  void list(const Request& request, Answers& answers) const;

  StreamStore& topics_;
  ObjectStore& rooms_;
  const std::function<void()> on_use_;
};

}  // namespace godwit::ref::stream
