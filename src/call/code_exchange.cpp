// Code on demand: asking for a bundle, giving one, and taking one in.
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {

// Asks one of the links that brought calls of the bundle; they have it, or know who does.
void Engine::want_code(const ContentId& bundle) {
  const auto it = parked_.find(bundle);
  if (it == parked_.end() || it->second.asked != nullptr) return;
  LinkState* link = nullptr;
  it->second.calls.for_each([&](IncomingCall& call) {
    if (link == nullptr) link = call.link;
  });
  if (link == nullptr) return;
  it->second.asked = link;
  ask_for_code(bundle, *link);
}

void Engine::ask_for_code(const ContentId& bundle, LinkState& link) {
  const code::TargetInfo& target = store_->target();
  wire::NeedCode need;
  need.bundle = bundle;
  need.target.machine = static_cast<std::uint8_t>(target.machine);
  need.target.has_jit = target.has_jit ? 1 : 0;
  need.target.llvm_major = target.llvm_major;
  wire::Header header;
  header.kind = wire::Kind::need_code;
  const Bytes body = bytes_of_value(need);
  ++stats_.need_code_sent;
  send_message(link, header, {&body, 1}, {}, nullptr);
}

code::Bundle Engine::bundle_for(const ContentId& id) {
  if (code::Bundle bundle = functions_.bundle(id)) return bundle;
  const code::Residence* residence = store_ != nullptr ? store_->residence(id) : nullptr;
  return residence != nullptr ? residence->bundle : code::Bundle{};
}

void Engine::on_need_code(LinkState& link, Bytes body) {
  const auto need = wire::parse_need_code(body);
  if (!need) {
    ++stats_.protocol_errors;
    return;
  }
  wire::Header header;
  header.kind = wire::Kind::code;
  wire::CodeHead head;
  head.bundle = need->bundle;
  const auto refuse = [&](const Error& error) {
    head.reason = static_cast<std::uint32_t>(error.code);
    head.manifest_size = static_cast<std::uint32_t>(error.message.size());
    const std::array<Bytes, 2> parts{bytes_of_value(head), bytes_of(error.message)};
    send_message(link, header, parts, {}, nullptr);
  };
  const code::Bundle bundle = bundle_for(need->bundle);
  if (!bundle) {
    return refuse({ErrorCode::unknown_code, fmt::format("{} does not have bundle {} any more",
                                                        options_.name, need->bundle.short_hex())});
  }
  code::TargetInfo target;
  target.machine = static_cast<code::Machine>(need->target.machine);
  target.has_jit = need->target.has_jit != 0;
  target.llvm_major = need->target.llvm_major;
  const auto slice = code::choose_slice(bundle, target);
  if (!slice) return refuse(slice.error());
  if ((*slice)->bytes.empty()) {
    return refuse(
        {ErrorCode::no_slice, fmt::format("{} has bundle '{}', but not its slice for {}",
                                          options_.name, bundle.name(), code::describe(target))});
  }

  struct Sending {
    code::Bundle bundle;
    wire::CodeHead head;
  };
  static constexpr std::array<std::byte, wire::kSliceAlignment> kPadding{};
  auto sending = std::make_shared<Sending>(Sending{bundle, head});
  sending->head.manifest_size = static_cast<std::uint32_t>(bundle.manifest_bytes().size());
  sending->head.slice_size = (*slice)->bytes.size();
  const std::array<Bytes, 4> parts{
      bytes_of_value(sending->head), bundle.manifest_bytes(),
      Bytes(kPadding).first(wire::code_padding(sending->head.manifest_size)), (*slice)->bytes};
  ++stats_.code_sent;
  for (const Bytes& part : parts) stats_.code_bytes_sent += part.size();
  send_message(link, header, parts, {}, sending);
}

void Engine::on_have_code(LinkState& link, Bytes body) {
  if (store_ == nullptr || body.size() != ContentId::kSize) return;
  ContentId bundle;
  std::memcpy(bundle.digest.data(), body.data(), body.size());
  if (store_->residence(bundle) == nullptr) ask_for_code(bundle, link);
}

Status Engine::spread(NodeId to, const ContentId& bundle) {
  if (!bundle_for(bundle)) {
    return fail(ErrorCode::unknown_code, "{} does not have bundle {}", options_.name,
                bundle.short_hex());
  }
  wire::Header header;
  header.kind = wire::Kind::have_code;
  send_or_queue(to, header, Buffer::copy_of({bundle.digest.data(), ContentId::kSize}));
  return {};
}

void Engine::on_code_message(LinkState& link, fabric::Message& message) {
  if (store_ == nullptr) return;
  const auto view = wire::parse_code(message.body());
  if (!view) {
    ++stats_.protocol_errors;
    observer_.on_warning(fmt::format("{} sent code that makes no sense: {}", link.peer->describe(),
                                     view.error().message));
    return;
  }
  const ContentId id = view->head.bundle;
  if (view->head.reason != 0) {
    code_arrived(id, tl::unexpected(Error{static_cast<ErrorCode>(view->head.reason),
                                          std::string(text_of(view->manifest))}));
    return;
  }
  // Hashing a large slice takes milliseconds: not here, where every link waits.
  struct Check {
    Buffer body;
    Result<code::Bundle> bundle;
  };
  auto check = std::make_shared<Check>();
  check->body = message.take_body();
  scheduler_.offload(
      [check, id] {
        const auto code = wire::parse_code(check->body.view());
        auto bundle = code::Bundle::from_manifest(code->manifest);
        if (bundle && bundle->id() != id) {
          check->bundle = fail(ErrorCode::corrupt_code,
                               "the manifest that arrived for bundle {} has the hash {}",
                               id.short_hex(), bundle->id().short_hex());
          return;
        }
        check->bundle = bundle ? bundle->with_slice(code->slice) : std::move(bundle);
      },
      [self = self_, check, id] {
        if (*self != nullptr) (*self)->code_arrived(id, std::move(check->bundle));
      });
}

void Engine::code_arrived(const ContentId& id, Result<code::Bundle> bundle) {
  if (const auto it = parked_.find(id); it != parked_.end()) it->second.asked = nullptr;
  if (!bundle) return fail_parked(id, bundle.error());
  if (const Status added = store_->add(*std::move(bundle)); !added) fail_parked(id, added.error());
}

void Engine::fail_parked(const ContentId& bundle, const Error& error) {
  const auto it = parked_.find(bundle);
  if (it == parked_.end()) return;
  std::vector<IncomingCall*> calls;
  it->second.calls.for_each([&](IncomingCall& call) { calls.push_back(&call); });
  for (IncomingCall* call : calls) {
    answer(*call, {Ending::rejected, false, error.code}, bytes_of(error.message), {});
  }
}

}  // namespace godwit::call
