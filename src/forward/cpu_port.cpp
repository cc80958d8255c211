#include "forward/cpu_port.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/fail.hpp"
#include "forward/waiting.hpp"

namespace godwit::forward {
namespace {

constexpr std::uint64_t kStillThere = ~std::uint64_t{0};
constexpr std::size_t kMaxWorkers = 1024;
static_assert(kMaxWorkers <= Outbox::kMaxWorker);

Status check(const ExchangeOptions& options) {
  if (options.chunk_bytes < 1024 || options.chunk_bytes > (std::size_t{16} << 20)) {
    return fail(ErrorCode::invalid_argument,
                "ExchangeOptions::chunk_bytes is {}; it must be 1 KiB to 16 MiB",
                options.chunk_bytes);
  }
  if (options.workers < 1 || options.workers > kMaxWorkers) {
    return fail(ErrorCode::invalid_argument, "ExchangeOptions::workers is {}; it must be 1 to {}",
                options.workers, kMaxWorkers);
  }
  if (options.patience.count() <= 0) {
    return fail(ErrorCode::invalid_argument, "ExchangeOptions::patience must be more than nothing");
  }
  return {};
}

}  // namespace

CpuPort::CpuPort(Rank rank, Rank ranks, std::unique_ptr<Carrier> carrier,
                 std::span<const detail::ItemType> types, const ExchangeOptions& options, Site site)
    : rank_(rank),
      ranks_(ranks),
      options_(options),
      types_(types.begin(), types.end()),
      carrier_(std::move(carrier)),
      pool_(new ChunkPool(options.chunk_bytes, options.queue_bytes, std::move(site.arena))),
      workers_(options.workers),
      folds_(types.size()),
      trace_(options.trace_events),
      spill_(options.spill_folder, options.spill_bytes),
      chunks_sent_(static_cast<std::size_t>(ranks)),
      arrivals_{Arrivals(ranks), Arrivals(ranks)},
      introductions_(static_cast<std::size_t>(ranks)),
      left_after_(static_cast<std::size_t>(ranks), kStillThere),
      elsewhere_(static_cast<std::size_t>(ranks)),
      agreements_{Agreement(ranks), Agreement(ranks)} {
  for (std::size_t worker = 0; worker < options.workers; ++worker) {
    outboxes_.emplace_back(types_, ranks, worker);
  }
  elsewhere_[static_cast<std::size_t>(rank)] = site.is_elsewhere;
}

CpuPort::~CpuPort() {
  const Control leaving{.kind = ControlKind::over, .why = over_ ? over_->code : ErrorCode::none};
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) tell(rank, leaving, over_ ? over_->message : "");
  }
  release_incoming();
  for (Outbox& outbox : outboxes_) outbox.drop_all();
  for (Chunk* const chunk : stayed_) give_back(chunk);
  for (Chunk* const chunk : early_) give_back(chunk);
  for (Arrivals& arrivals : arrivals_) {
    for (Chunk* const chunk : arrivals.chunks()) give_back(chunk);
  }
  for (auto& queue : ready_) {
    for (Chunk* const chunk : queue) give_back(chunk);
  }
}

std::string CpuPort::introduction() const {
  std::string text;
  for (const detail::ItemType& type : types_) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", type.name);
    if (type.form == detail::ItemForm::reduced) text += " (reduced)";
    text += fmt::format(" of {} bytes", type.size);
    if (type.form == detail::ItemForm::tailed) {
      text += fmt::format(" with elements of {} bytes", type.tail_size);
    }
  }
  if (options_.deterministic) text += "; deterministic";
  return text;
}

Status CpuPort::meet() {
  const std::string mine = introduction();
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    tell(rank,
         {.kind = ControlKind::introduction,
          .chunks = options_.shares_work,
          .emitted = is_elsewhere(rank_) ? 1U : 0U},
         mine);
  }
  const auto unheard = [this](Rank rank) {
    return rank != rank_ && introductions_[static_cast<std::size_t>(rank)].empty();
  };
  GODWIT_CHECK(wait_until([this] { return introduced_ == ranks_ - 1; }, unheard));
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const std::string& theirs = introductions_[static_cast<std::size_t>(rank)];
    if (rank != rank_ && theirs != mine) {
      return give_up(
          {ErrorCode::type_mismatch,
           fmt::format("ranks of one exchange name different items: rank {} has {}; rank "
                       "{} has {}",
                       rank_, mine, rank, theirs)});
    }
  }
  met_ = true;
  return {};
}

void CpuPort::tell(Rank to, Control control, std::string_view text) {
  const std::size_t bytes = sizeof control + text.size();
  Chunk* const chunk = pool_->take_beyond(bytes);
  if (chunk == nullptr) throw std::bad_alloc();
  new (chunk->items()) Control(control);
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(chunk->items()) + sizeof control);
  chunk->used = static_cast<std::uint32_t>(bytes);
  chunk->kind = kControlKind;
  chunk->source = rank_;
  chunk->destination = to;
  chunk->round = control.kind == ControlKind::over ? current_ : current_ + 1;
  carrier_->send(chunk);
}

void CpuPort::send(Rank to, const TerminationMessage& message) {
  tell(to, {.kind = ControlKind::termination, .termination = message});
}

bool CpuPort::accept_arrivals() {
  Chunk* chunk = carrier_->receive();
  const bool any = chunk != nullptr;
  while (chunk != nullptr) {
    Chunk* const one = std::exchange(chunk, chunk->next);
    if (one->kind == kControlKind) {
      accept_control(one);
    } else {
      arrivals_[one->round & 1U].add(one);
    }
  }
  return any;
}

void CpuPort::accept_control(Chunk* chunk) {
  const Control& control = control_of(*chunk);
  switch (control.kind) {
    case ControlKind::introduction:
      introductions_[static_cast<std::size_t>(chunk->source)] = text_of(*chunk);
      ++introduced_;
      elsewhere_[static_cast<std::size_t>(chunk->source)] = control.emitted != 0;
      if (options_.shares_work != 0 && control.chunks == options_.shares_work) {
        sharers_.push_back(chunk->source);
      }
      break;
    case ControlKind::round_end: arrivals_[chunk->round & 1U].end(chunk->source, control); break;
    case ControlKind::termination:
      if (termination_ == nullptr || chunk->round != current_ + 1) {
        early_.push_back(chunk);
        return;
      }
      termination_->receive(control.termination);
      break;
    case ControlKind::over: hear_of_end(*chunk); break;
    case ControlKind::work_wanted: give_work(chunk->source, chunk->round); break;
    case ControlKind::work_given:
      work_asked_ = false;
      taken_over_ += control.emitted;
      asked_sharers_ = control.chunks > 0 ? 0 : asked_sharers_ + 1;
      break;
    case ControlKind::note:
      notes_.push_back({.from = chunk->source, .bytes = std::string(text_of(*chunk))});
      break;
    case ControlKind::agreed:
      agreements_[control.chunks & 1U].hear(chunk->source, control.why, text_of(*chunk));
      break;
    case ControlKind::busy: break;  // who waits does so anew for anything that comes
  }
  give_back(chunk);
}

void CpuPort::hear_of_end(const Chunk& chunk) {
  const Control& control = control_of(chunk);
  left_after_[static_cast<std::size_t>(chunk.source)] = chunk.round;
  if (control.why != ErrorCode::none && !over_)
    over_ = Error{control.why, std::string(text_of(chunk))};
}

std::optional<Rank> CpuPort::out_of_step() {
  if (!met_) return std::nullopt;  // others may have, and go on
  if (termination_ == nullptr) {
    // In an agreement, one that has agreed may have heard from all, and gone on.
    const std::vector<bool>& heard = agreements_[agreed_ & 1U].heard;
    const bool agrees = heard[static_cast<std::size_t>(rank_)];
    for (const Chunk* const chunk : early_) {
      if (agrees && heard[static_cast<std::size_t>(chunk->source)]) continue;
      if (chunk->round == current_ + 1) return chunk->source;
    }
    return std::nullopt;
  }
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (filling().has_ended(rank)) return rank;
  }
  return std::nullopt;
}

tl::unexpected<Error> CpuPort::give_up(Error why) {
  if (!over_) {
    over_ = std::move(why);
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (rank != rank_)
        tell(rank, {.kind = ControlKind::over, .why = over_->code}, over_->message);
    }
  }
  return tl::unexpected(*over_);
}

Status CpuPort::check_usable() {
  if (over_) return tl::unexpected(*over_);
  for (std::size_t kind = 0; kind < types_.size() && !is_elsewhere(rank_); ++kind) {
    if (types_[kind].form == detail::ItemForm::reduced && !folds_[kind]) {
      return give_up({ErrorCode::invalid_argument,
                      fmt::format("rank {} did not say how a {} is reduced: call "
                                  "reduce<{}>(fold) before the first advance() or run()",
                                  rank_, types_[kind].name, types_[kind].name)});
    }
  }
  std::optional<Error> refusal;
  {
    const std::lock_guard lock(lock_);
    refusal = refusal_;
  }
  if (refusal) return give_up(*std::move(refusal));
  return {};
}

std::uint64_t CpuPort::total_emitted() const noexcept {
  std::uint64_t items = adopted_;
  for (const Outbox& outbox : outboxes_) items += outbox.emissions();
  return items;
}

std::uint64_t CpuPort::items_open() const noexcept {
  std::uint64_t items = 0;
  for (const Outbox& outbox : outboxes_) items += outbox.items_open();
  return items;
}

ExchangeStatus CpuPort::status() const {
  ExchangeStatus status;
  status.emitted_to.resize(static_cast<std::size_t>(ranks_));
  status.sent_back_to.resize(static_cast<std::size_t>(ranks_));
  for (const Outbox& outbox : outboxes_) {
    outbox.count(status.emitted_to);
    outbox.count_sent_back(status.sent_back_to);
  }
  for (const std::uint64_t items : status.emitted_to) status.emitted += items;
  status.stayed = status.emitted_to[static_cast<std::size_t>(rank_)];
  status.arrived = arrived_;
  status.chunks_sent = all_chunks_sent_;
  status.taken_over = taken_over_;
  status.spilled = spilled_;
  status.queue_bytes = pool_->used_bytes();
  status.queue_high_bytes = pool_->high_bytes();
  return status;
}

}  // namespace godwit::forward

namespace godwit::detail {

Result<std::unique_ptr<Port>> Port::create(Group& group, std::span<const ItemType> types,
                                           const ExchangeOptions& options) {
  GODWIT_CHECK(forward::check(options));
  GODWIT_TRY(std::unique_ptr<forward::Carrier> carrier, group.core().open({types, options}));
  std::shared_ptr<forward::ChunkArena> arena = carrier->arena();
  auto port = std::make_unique<forward::CpuPort>(
      group.rank(), group.ranks(), std::move(carrier), types, options,
      forward::CpuPort::Site{.is_elsewhere = false, .arena = std::move(arena)});
  GODWIT_CHECK(port->meet());
  // Ranks on GPUs have more to settle, which may fail: then on all.
  if (port->first_elsewhere()) GODWIT_CHECK(port->agree({}));
  return port;
}

}  // namespace godwit::detail
