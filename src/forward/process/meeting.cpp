#include "forward/process/meeting.hpp"

#include <map>
#include <utility>

#include "base/fail.hpp"
#include "fabric/control/acceptor.hpp"
#include "fabric/control/link_setup.hpp"
#include "godwit/group.hpp"

namespace godwit::forward {
namespace {

using fabric::ControlSocket;
using fabric::Established;
using fabric::LinkSetup;
using fabric::SetupPayload;

// Rank 0 may start later than the others.
constexpr Duration kTryAgainAfter = std::chrono::milliseconds(20);
// Frames begin with one of these.
constexpr char kCardFrame = 'c';
constexpr char kErrorFrame = 'e';

fabric::Hello hello_of(const MemberCard& card) {
  return {card.node, Epoch{1}, to_line(card)};
}

std::string error_frame(const Error& why) {
  return fmt::format("{}{}\t{}", kErrorFrame, static_cast<unsigned>(why.code), why.message);
}

class Host final : public Meeting {
 public:
  Host(Options options, Done done) : options_(std::move(options)), done_(std::move(done)) {}

  [[nodiscard]] Status listen(fabric::Reactor& reactor) {
    fabric::LinkAcceptor::Options options;
    options.setup.self = hello_of(options_.self);
    options.setup.key = options_.key;
    options.max_pending = static_cast<std::size_t>(Group::kMaxRanks);
    GODWIT_TRY(acceptor_, fabric::LinkAcceptor::listen(
                              reactor, options_.place, std::move(options),
                              [](Established&) -> Result<SetupPayload> { return SetupPayload{}; },
                              [this](Established guest) { welcome(std::move(guest)); }));
    reactor.post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) finish_if_complete();
    });
    return {};
  }

  std::vector<Rank> missing() const override {
    std::vector<Rank> ranks;
    for (Rank rank = 1; rank < options_.self.ranks; ++rank) {
      if (!guests_.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
  }

  void call_off(const Error& why) override {
    const std::string frame = error_frame(why);
    for (auto& [rank, guest] : guests_) guest->socket->send(bytes_of(frame));
  }

 private:
  struct Guest final : fabric::ControlEvents {
    Guest(Host& host_, MemberCard card_) : host(host_), card(std::move(card_)) {}
    void on_frame(Bytes, std::vector<fabric::Fd>&) override {}
    // One that died while it waited may be started again. Destroys this.
    void on_closed(const Error&) override { host.guests_.erase(card.rank); }
    Host& host;
    MemberCard card;
    std::unique_ptr<ControlSocket> socket;
  };

  [[nodiscard]] Status check(const MemberCard& card) const {
    if (card.ranks != options_.self.ranks) {
      return fail(ErrorCode::invalid_argument,
                  "rank {} expects {} ranks, rank 0 at {} expects {}: give all the same number",
                  card.rank, card.ranks, options_.place.to_string(), options_.self.ranks);
    }
    if (card.rank == 0 || guests_.contains(card.rank)) {
      return fail(ErrorCode::invalid_argument,
                  "there is a rank {} at {} already: each process needs a rank of its own",
                  card.rank, options_.place.to_string());
    }
    return {};
  }

  // A guest that cannot stay is told why: here, since a handshake would not pass every error on.
  void welcome(Established guest) {
    const auto card = parse_card(guest.peer.blob);
    const Status fits = card ? check(*card) : Status(tl::unexpected(card.error()));
    if (!fits) {
      guest.socket->send(bytes_of(error_frame(fits.error())));
      guest.socket->close();
      return;
    }
    auto welcomed = std::make_unique<Guest>(*this, *card);
    welcomed->socket = std::move(guest.socket);
    welcomed->socket->set_events(welcomed.get());
    guests_.emplace(card->rank, std::move(welcomed));
    finish_if_complete();
  }

  void finish_if_complete() {
    if (static_cast<Rank>(guests_.size()) + 1 < options_.self.ranks || !done_) return;
    std::vector<MemberCard> cards{options_.self};
    for (const auto& [rank, guest] : guests_) cards.push_back(guest->card);
    for (const auto& [rank, guest] : guests_) {
      for (const MemberCard& card : cards) {
        guest->socket->send(bytes_of(kCardFrame + to_line(card)));
      }
    }
    std::exchange(done_, Done{})(std::move(cards));
  }

  const Options options_;
  Done done_;
  std::map<Rank, std::unique_ptr<Guest>> guests_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::unique_ptr<fabric::LinkAcceptor> acceptor_;
};

class Visitor final : public Meeting, private fabric::ControlEvents {
 public:
  Visitor(fabric::Reactor& reactor, Options options, Done done)
      : reactor_(reactor), options_(std::move(options)), done_(std::move(done)) {}
  ~Visitor() override { reactor_.cancel(again_); }

  [[nodiscard]] Status go() {
    LinkSetup::Options options;
    options.self = hello_of(options_.self);
    options.key = options_.key;
    GODWIT_TRY(setup_, LinkSetup::as_client(
                           reactor_, options_.place, std::move(options), {},
                           [this](Result<Established> place) { arrived(std::move(place)); }));
    return {};
  }

  // Only rank 0 knows of others.
  std::vector<Rank> missing() const override {
    return socket_ == nullptr ? std::vector<Rank>{0} : std::vector<Rank>{};
  }
  std::string obstacle() const override { return obstacle_; }
  void call_off(const Error&) override {}

 private:
  void arrived(Result<Established> place) {
    if (!place && place.error().code == ErrorCode::unreachable) {
      obstacle_ = place.error().message;
      again_ = reactor_.post_at(reactor_.now() + kTryAgainAfter, [this] {
        if (const Status gone = go(); !gone) end(tl::unexpected(gone.error()));
      });
      return;
    }
    if (!place) {
      end(tl::unexpected(std::move(place).error()));
      return;
    }
    socket_ = std::move(place->socket);
    socket_->set_events(this);
  }

  void on_frame(Bytes frame, std::vector<fabric::Fd>&) override {
    const std::string_view text = godwit::text_of(frame);
    if (text.front() == kErrorFrame) {
      end(tl::unexpected(error_of(text.substr(1))));
      return;
    }
    auto card = parse_card(text.substr(1));
    if (!card || card->rank != static_cast<Rank>(cards_.size()) ||
        card->ranks != options_.self.ranks) {
      end(fail(ErrorCode::protocol_violation, "rank 0 at {} sent a list of ranks that is none",
               options_.place.to_string()));
      return;
    }
    cards_.push_back(*std::move(card));
    if (static_cast<Rank>(cards_.size()) == options_.self.ranks) end(std::move(cards_));
  }
  void on_closed(const Error& why) override {
    end(fail(ErrorCode::node_lost, "rank 0 left before all ranks had met: {}", why.message));
  }

  [[nodiscard]] static Error error_of(std::string_view text) {
    const std::size_t tab = text.find('\t');
    unsigned code = 0;
    for (const char digit : text.substr(0, tab)) {
      if (digit < '0' || digit > '9' || code > 999) continue;
      code = code * 10 + static_cast<unsigned>(digit - '0');
    }
    return {static_cast<ErrorCode>(code),
            std::string(tab == std::string_view::npos ? text : text.substr(tab + 1))};
  }

  void end(Result<std::vector<MemberCard>> result) {
    if (done_) std::exchange(done_, Done{})(std::move(result));
  }

  fabric::Reactor& reactor_;
  const Options options_;
  Done done_;
  std::string obstacle_;
  TimerId again_;
  std::unique_ptr<LinkSetup> setup_;
  std::unique_ptr<ControlSocket> socket_;
  std::vector<MemberCard> cards_;
};

}  // namespace

Result<std::unique_ptr<Meeting>> Meeting::begin(fabric::Reactor& reactor, Options options,
                                                Done done) {
  if (options.self.rank == 0) {
    auto host = std::make_unique<Host>(std::move(options), std::move(done));
    GODWIT_CHECK(host->listen(reactor));
    return host;
  }
  auto visitor = std::make_unique<Visitor>(reactor, std::move(options), std::move(done));
  GODWIT_CHECK(visitor->go());
  return visitor;
}

}  // namespace godwit::forward
