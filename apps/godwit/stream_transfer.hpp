// Items between streams and the files and pipes of a command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "exit.hpp"
#include "godwit/stream.hpp"

namespace godwit::cli {

struct SendOrder {
  std::string topic;
  std::string file = "-";
  std::string key{};
  bool whole = false;  // the file is one item, not each of its lines
  bool close = false;
  ProducerOptions options{};
};

struct ReceiveOrder {
  std::string topic;
  std::string group;
  std::optional<std::uint64_t> count{};
  std::chrono::nanoseconds wait{};  // for the next one; 0: until the topic ends
  bool raw = false;                 // no line ends
  bool json = false;
  ConsumerOptions options{};
};

// What went through, for whoever asked.
struct Transferred {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  bool ended = false;  // the topic
};

// Items are the type `str` in both: what C++ knows as std::string.
[[nodiscard]] tl::expected<Transferred, Failed> send_items(const Broker& broker,
                                                           const SendOrder& order);
// Items of any type, as bytes, to standard output; each is acked when it has been written.
[[nodiscard]] tl::expected<Transferred, Failed> receive_items(const Broker& broker,
                                                              const ReceiveOrder& order);

}  // namespace godwit::cli
