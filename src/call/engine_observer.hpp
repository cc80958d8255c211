// What the engine tells those who look after it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "call/status.hpp"
#include "code/bundle/bundle.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"
#include "wire/header.hpp"
#include "wire/hello.hpp"

namespace godwit::call {

// Told about things that happen, by the owning thread; for the fleet, the log and the tests.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void on_peer_up(NodeId /*node*/, const wire::PeerHello& /*hello*/) {}
  virtual void on_peer_down(NodeId /*node*/, const Error& /*why*/) {}
  // No link to the node could be made.
  virtual void on_unreachable(NodeId /*node*/, const Error& /*why*/) {}
  // A link that the engine did not dial, and that never came up, is gone.
  virtual void on_stray_down(LinkId /*link*/, const Error& /*why*/) {}
  // A message of a kind the engine does not handle itself (the fleet's table).
  virtual void on_other(NodeId /*from*/, const wire::Header& /*header*/, Bytes /*body*/) {}
  // A message that came with open descriptors; those not moved out are closed when this returns.
  virtual void on_descriptors(NodeId /*from*/, const wire::Header& /*header*/, Bytes /*body*/,
                              std::span<fabric::Fd> /*descriptors*/) {}
  // An inline function kept the polling thread for longer than it should.
  virtual void on_overrun(const code::Bundle& /*bundle*/, std::uint32_t /*function*/,
                          Duration /*took*/) {}
  // A function on the executor still runs although its deadline has passed; noticed within a
  // second. Once for each such call, and once more when it ends.
  virtual void on_overdue(const OverdueFunction& /*function*/) {}
  virtual void on_overdue_ended(const OverdueFunction& /*function*/) {}
  // Somebody asks for the status: each adds fields of its own to the object that is being written,
  // the status itself and its counters.
  virtual void on_status(trace::Json& /*status*/) {}
  virtual void on_status_counters(trace::Json& /*counters*/) {}
  virtual void on_warning(const std::string& /*text*/) {}
  // Mobile code logs. Any thread.
  virtual void on_log(int /*level*/, const std::string& /*bundle*/, std::string_view /*text*/) {}
};

}  // namespace godwit::call
