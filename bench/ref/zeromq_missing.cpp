// In place of zeromq.cpp where there is no libzmq.
#include "base/fail.hpp"
#include "ref/zeromq.hpp"

namespace godwit::bench {
namespace {

tl::unexpected<Error> without_libzmq() {
  return fail(ErrorCode::not_found, "there was no libzmq when this was built (libzmq3-dev)");
}

}  // namespace

Result<std::unique_ptr<ZeromqSender>> make_zeromq_sender(ZeromqWay) {
  return without_libzmq();
}

Result<std::unique_ptr<ZeromqReceiver>> make_zeromq_receiver(const std::string&) {
  return without_libzmq();
}

}  // namespace godwit::bench
