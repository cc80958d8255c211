// What a peer over shared memory can write: its part of the set-up, and then anything at all into
// the ring that it was given.
//
// Input: one byte chooses; odd: the set-up's bytes; even: the ring's memory from its first record.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "fabric/shm/transport.hpp"

namespace {

using namespace godwit;
using namespace godwit::fabric;
using namespace godwit::fabric::shm;

// Half of a ring: a record that starts here ends where the memory is still zero, so that what was
// read is not read again.
constexpr std::size_t kMaxImage = kMinRingSize / 2;
constexpr std::size_t kIdlePolls = 16;  // the transport looks at cold links less often

void require(bool condition) {
  if (!condition) std::abort();
}

struct Node final : TransportEvents {
  void on_up(LinkId, const Hello&) override { ++ups; }
  void on_down(LinkId, const Error&) override { ++downs; }
  void on_message(LinkId, Message& message) override {
    // Reads every byte, for the sanitizer to see.
    for (const std::byte byte : message.body()) sum += static_cast<std::uint8_t>(byte);
  }
  void on_sent(LinkId, std::uint64_t) override {}

  std::size_t ups = 0;
  std::size_t downs = 0;
  std::size_t sum = 0;
};

// One node for all inputs, and where it listens. The directory goes when the process exits.
struct Fixture {
  Fixture() {
    std::string name = (std::filesystem::temp_directory_path() / "godwit-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    directory = name;
    reactor = Reactor::create({.spin_us = 0}).value();
    ShmTransport::Options options;
    options.ring_size = kMinRingSize;
    options.inbound_budget = std::size_t{1} << 20;
    transport = ShmTransport::create(*reactor, node, std::move(options)).value();
    require(reactor->add(*transport).has_value());
    address = transport->listen(Address::parse("shm:" + name + "/n.sock").value()).value();
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() {
    reactor->remove(*transport);
    transport.reset();
    std::filesystem::remove_all(directory);
  }
  template <class Condition>
  void poll_until(Condition condition) {
    const Time deadline = reactor->now() + std::chrono::seconds(8);
    while (!condition()) {
      reactor->run_once();
      require(reactor->now() < deadline);
    }
  }

  std::filesystem::path directory;
  Node node;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<ShmTransport> transport;
  Address address;
};

struct SetupBytes {
  std::array<char, 4> magic{'s', 'h', 'm', '1'};
  std::uint32_t slot = 0;
  std::uint64_t ring_size = kMinRingSize;
};

class HostilePeer {
 public:
  // Linked only if the node took the set-up's bytes.
  HostilePeer(Fixture& fixture, std::string setup_bytes)
      : ring_(RingConsumer::create(kMinRingSize).value()), doorbell_(Doorbell::create().value()) {
    SetupPayload payload{.data = std::move(setup_bytes), .fds = doorbell_.share().value()};
    payload.fds.insert(payload.fds.begin(), ring_.share().value());
    std::optional<Result<Established>> result;
    const auto setup =
        LinkSetup::as_client(*fixture.reactor, fixture.address, {}, std::move(payload),
                             [&](Result<Established> link) { result.emplace(std::move(link)); });
    require(setup.has_value());
    fixture.poll_until([&] { return result.has_value(); });
    if (*result) link_.emplace(**std::move(result));
  }
  [[nodiscard]] bool is_linked() const { return link_.has_value(); }

  void write(Bytes image) {
    SetupBytes theirs;
    std::memcpy(&theirs, link_->payload.data.data(), sizeof theirs);
    std::vector<Fd>& fds = link_->payload.fds;
    const Mapping memory = map_ring(fds[0].get(), theirs.ring_size, Access::write).value();
    std::vector<Fd> bell(std::make_move_iterator(fds.begin() + 1),
                         std::make_move_iterator(fds.end()));
    PeerDoorbell peer = PeerDoorbell::open(std::move(bell), theirs.slot).value();
    std::memcpy(memory.data() + kPageSize, image.data(), image.size());
    peer.summon();
  }

 private:
  RingConsumer ring_;
  Doorbell doorbell_;
  std::optional<Established> link_;
};

void set_up(Fixture& fixture, Bytes bytes) {
  const HostilePeer peer(fixture, std::string(text_of(bytes)));
}

void write_ring(Fixture& fixture, Bytes image) {
  const std::size_t ups_before = fixture.node.ups;
  HostilePeer peer(fixture, std::string(text_of(bytes_of_value(SetupBytes{}))));
  require(peer.is_linked());
  fixture.poll_until([&] { return fixture.node.ups > ups_before; });
  peer.write(image);
  for (std::size_t idle = 0; idle < kIdlePolls;) {
    idle = fixture.reactor->run_once() == 0 ? idle + 1 : 0;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxImage) return 0;
  static Fixture fixture;
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
  (data[0] % 2 == 1 ? set_up : write_ring)(fixture, bytes);
  fixture.poll_until([] { return fixture.node.downs == fixture.node.ups; });
  return 0;
}
