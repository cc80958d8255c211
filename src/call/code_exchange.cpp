// Code on demand: giving a bundle, or saying who may have it, and taking one in.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

// The bundle in a code body, once its bytes have proved to be it, with what the target runs.
Result<code::Bundle> checked_bundle(Bytes body, const ContentId& wanted,
                                    const code::TargetInfo& target) {
  GODWIT_TRY(const wire::CodeView code, wire::parse_code(body));
  GODWIT_TRY(const code::Bundle bundle, code::Bundle::from_manifest(code.manifest));
  if (bundle.id() != wanted) {
    return fail(ErrorCode::corrupt_code, "the manifest that arrived for bundle {} has the hash {}",
                wanted.short_hex(), bundle.id().short_hex());
  }
  GODWIT_TRY(code::Bundle held, bundle.with_slice(code.slice));
  // A sound slice of this bundle, but kept it would stand for the one that can run.
  if (const auto slice = code::choose_slice(held, target); slice && (*slice)->bytes.empty()) {
    return fail(ErrorCode::protocol_violation,
                "the slice that arrived for bundle '{}' is not the one for {}", held.name(),
                code::describe(target));
  }
  return held;
}

wire::CodeTarget wire_target(const code::TargetInfo& own) {
  wire::CodeTarget target;
  target.machine = static_cast<std::uint8_t>(own.machine);
  target.has_jit = own.has_jit ? 1 : 0;
  target.llvm_major = own.llvm_major;
  return target;
}

}  // namespace

void Engine::send_question(LinkState& link, std::uint64_t id, const Question& question) {
  wire::NeedCode need;
  need.bundle = question.bundle;
  need.target = question.relay ? question.relay->target : wire_target(store_->target());
  need.intake_call = question.source.intake_call;
  wire::Header header;
  header.kind = wire::Kind::need_code;
  header.flags = question.relay ? wire::kRelayed : std::uint8_t{0};
  header.id = id;
  const Bytes body = bytes_of_value(need);
  ++stats_.need_code_sent;
  send_message(link, header, {&body, 1}, {}, nullptr);
}

code::Bundle Engine::bundle_for(const ContentId& id) {
  if (code::Bundle bundle = functions_.bundle(id)) return bundle;
  const code::Residence* residence = store_ != nullptr ? store_->residence(id) : nullptr;
  return residence != nullptr ? residence->bundle : code::Bundle{};
}

void Engine::on_need_code(LinkState& link, const wire::Header& header, Bytes body) {
  const auto need = wire::parse_need_code(body);
  if (!need) {
    ++stats_.protocol_errors;
    return refuse_code(link, header.id, {}, need.error(), {});
  }
  std::string lacking =
      fmt::format("{} does not have bundle {} any more", options_.name, need->bundle.short_hex());
  if (const code::Bundle bundle = bundle_for(need->bundle)) {
    code::TargetInfo target;
    target.machine = static_cast<code::Machine>(need->target.machine);
    target.has_jit = need->target.has_jit != 0;
    target.llvm_major = need->target.llvm_major;
    const auto slice = code::choose_slice(bundle, target);
    if (!slice) return refuse_code(link, header.id, need->bundle, slice.error(), {});
    if (!(*slice)->bytes.empty()) {
      return give_code(link, header.id, bundle, (*slice)->bytes);
    }
    lacking = fmt::format("{} has bundle '{}', but not its slice for {}", options_.name,
                          bundle.name(), code::describe(target));
  }
  if ((header.flags & wire::kRelayed) == 0 && relay_question(link, header.id, *need)) return;
  refuse_code(link, header.id, need->bundle, {ErrorCode::unknown_code, std::move(lacking)},
              referral_for(need->bundle, link));
}

void Engine::give_code(LinkState& link, std::uint64_t question, const code::Bundle& bundle,
                       Bytes slice) {
  struct Sending {
    code::Bundle bundle;
    wire::CodeHead head;
  };
  static constexpr std::array<std::byte, wire::kSliceAlignment> kPadding{};
  auto sending = std::make_shared<Sending>();
  sending->bundle = bundle;
  sending->head.bundle = bundle.id();
  sending->head.manifest_size = static_cast<std::uint32_t>(bundle.manifest_bytes().size());
  sending->head.slice_size = slice.size();
  const std::array<Bytes, 4> parts{
      bytes_of_value(sending->head), bundle.manifest_bytes(),
      Bytes(kPadding).first(wire::code_padding(sending->head.manifest_size)), slice};
  ++stats_.code_sent;
  for (const Bytes& part : parts) stats_.code_bytes_sent += part.size();
  holders_.note(bundle.id(), link.peer->id);
  wire::Header header;
  header.kind = wire::Kind::code;
  header.id = question;
  send_message(link, header, parts, {}, sending);
}

void Engine::refuse_code(LinkState& link, std::uint64_t question, const ContentId& bundle,
                         const Error& why, NodeId referral) {
  wire::CodeHead head;
  head.bundle = bundle;
  head.reason = static_cast<std::uint32_t>(why.code);
  head.manifest_size = static_cast<std::uint32_t>(why.message.size());
  head.referral = referral.value;
  if (referral) ++stats_.referrals_given;
  const std::array<Bytes, 2> parts{bytes_of_value(head), bytes_of(why.message)};
  wire::Header header;
  header.kind = wire::Kind::code;
  header.id = question;
  send_message(link, header, parts, {}, nullptr);
}

// Only to nodes: nobody else can reach a client.
NodeId Engine::referral_for(const ContentId& bundle, const LinkState& asker) {
  for (const NodeId holder : holders_.of(bundle)) {
    const auto peer = peers_.find(holder);
    const bool known = peer != peers_.end() && peer->second->serves;
    if (known && holder != options_.self && holder != asker.peer->id) return holder;
  }
  return {};
}

// A client has code that only the nodes it is linked with can ask it for. Such a node passes the
// question on: to the origin of the travelling call it was asked for, else to a client that had it.
bool Engine::relay_question(LinkState& asker, std::uint64_t question, const wire::NeedCode& need) {
  LinkState* source = origin_link(need.intake_call);
  for (const NodeId holder : holders_.of(need.bundle)) {
    if (source != nullptr) break;
    const auto peer = peers_.find(holder);
    if (peer != peers_.end() && !peer->second->serves) source = peer->second->link();
  }
  if (source == nullptr || source->peer == asker.peer) return false;
  const Question::Relay relay{asker.port, asker.id, question, need.target};
  if (!search_.ask_for_other(need.bundle, *source, relay)) return false;
  ++asker.owed;
  ++stats_.code_relayed;
  return true;
}

void Engine::relay_code(const Question& question, Buffer code) {
  LinkState* asker = question.relay->port->find(question.relay->link);
  if (asker == nullptr) return;
  --asker->owed;
  wire::Header header;
  header.kind = wire::Kind::code;
  header.id = question.relay->question;
  const Bytes view = code.view();
  send_message(*asker, header, {&view, 1}, std::move(code), nullptr);
  if (asker->leaving) farewell(*asker);
}

void Engine::refuse_relayed(const Question& question, const Error& why, NodeId referral) {
  LinkState* asker = question.relay->port->find(question.relay->link);
  if (asker == nullptr) return;
  --asker->owed;
  refuse_code(*asker, question.relay->question, question.bundle, why,
              referral ? referral : referral_for(question.bundle, *asker));
  if (asker->leaving) farewell(*asker);
}

void Engine::on_have_code(LinkState& link, Bytes body) {
  if (store_ == nullptr || body.size() != ContentId::kSize) return;
  ContentId bundle;
  std::memcpy(bundle.digest.data(), body.data(), body.size());
  holders_.note(bundle, link.peer->id);
  if (store_->residence(bundle) == nullptr) search_.ask_for_offer(bundle, link);
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

void Engine::spread_later(NodeId to, const ContentId& bundle) {
  scheduler_.post([self = self_, to, bundle] {
    if (*self == nullptr) return;
    if (const Status spread = (*self)->spread(to, bundle); !spread)
      (*self)->observer_.on_warning("spread: " + spread.error().message);
  });
}

void Engine::on_code_message(LinkState& link, fabric::Message& message) {
  const std::uint64_t id = message.header().id;
  const Question* asked = search_.find(id, link);
  if (asked == nullptr) {
    ++stats_.late_replies;
    return;
  }
  if (message.body_discarded()) {
    search_.refused(id, {ErrorCode::too_large, "the code is larger than a node on its way accepts"},
                    {});
    return;
  }
  const auto view = wire::parse_code(message.body());
  if (!view || view->head.bundle != asked->bundle) {
    ++stats_.protocol_errors;
    const std::string why = view ? "it is not what was asked for" : view.error().message;
    const std::string text =
        fmt::format("{} sent code that makes no sense: {}", link.peer->describe(), why);
    observer_.on_warning(text);
    search_.refused(id, {ErrorCode::protocol_violation, text}, {});
    return;
  }
  if (view->head.reason != 0) {
    holders_.drop(asked->bundle, link.peer->id);
    const Error why{static_cast<ErrorCode>(view->head.reason),
                    std::string(text_of(view->manifest))};
    if (search_.refused(id, why, NodeId{view->head.referral})) ++stats_.referrals_followed;
    return;
  }
  holders_.note(asked->bundle, link.peer->id);
  const Question question = search_.answered(id);
  if (question.relay) {
    relay_code(question, message.take_body());
  } else {
    check_code(id, question.bundle, message.take_body());
  }
}

// Hashing a large slice takes milliseconds: not on the thread every link waits for.
void Engine::check_code(std::uint64_t id, const ContentId& bundle, Buffer body) {
  struct Check {
    Buffer body;
    Result<code::Bundle> bundle;
  };
  auto check = std::make_shared<Check>();
  check->body = std::move(body);
  scheduler_.offload(
      [check, bundle, target = store_->target()] {
        check->bundle = checked_bundle(check->body.view(), bundle, target);
      },
      [self = self_, check, id, bundle] {
        if (*self != nullptr) (*self)->code_arrived(bundle, id, std::move(check->bundle));
      });
}

void Engine::code_arrived(const ContentId& id, std::uint64_t question,
                          Result<code::Bundle> bundle) {
  if (!bundle) return search_.unsound(question, id, bundle.error());
  search_.arrived(id);
  if (const Status added = store_->add(*std::move(bundle)); !added) {
    search_.give_up(id, added.error());
  }
}

}  // namespace godwit::call
