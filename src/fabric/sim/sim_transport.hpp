// The Transport a simulated process sees: each verb goes to the network with the process's name.
#pragma once

#include "fabric/sim/network.hpp"

namespace godwit::fabric::sim {

class SimTransport final : public Transport {
 public:
  SimTransport(Network& network, Process& process, const Options& options)
      : network_(network), process_(process), options_(options) {}
  ~SimTransport() override {
    if (process_.alive()) network_.forget_process(process_);
  }

  Result<Address> listen(const Address& address) override {
    return network_.listen(process_, address);
  }
  Result<LinkId> connect(const Address& address) override {
    return network_.connect(process_, address);
  }
  Sent send(LinkId link, const wire::Header& header, std::span<const Bytes> parts,
            std::uint64_t tag) override {
    return network_.send(process_, link, header, parts, tag);
  }
  std::size_t small_limit() const override { return options_.small_limit_bytes; }
  void close(LinkId link) override { network_.close(process_, link); }

  // The world delivers events as their time comes: there is nothing to poll and nobody to wake.
  std::size_t poll(std::size_t /*budget*/) override { return 0; }
  bool prepare_to_sleep() override { return true; }
  int wake_fd() const override { return -1; }

 private:
  Network& network_;
  Process& process_;
  const Options& options_;
};

}  // namespace godwit::fabric::sim
