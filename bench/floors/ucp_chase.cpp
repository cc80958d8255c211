// Following a list with code that was installed for that and nothing else: servers that follow
// their own elements and pass the chase on to the owner of the next, by raw ucp_am.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "base/fail.hpp"
#include "floors/floors.hpp"
#include "floors/ucp_member.hpp"

namespace godwit::floors {
namespace {

constexpr unsigned kChaseAm = 1;

struct Chase {
  std::uint64_t slot = 0;
  std::uint64_t at = 0;
  std::uint64_t left = 0;
};

// Which server has an element: equal runs, in order.
struct Owners {
  std::uint64_t elements;
  std::uint64_t nodes;
  [[nodiscard]] std::size_t operator()(std::uint64_t at) const noexcept {
    return static_cast<std::size_t>(at * nodes / elements);
  }
};

class Server {
 public:
  Server(Board& board, std::size_t seat, const UcpChaseOptions& options, const ChaseList& list)
      : options_(options),
        seat_(seat),
        owner_{options.elements, options.nodes},
        next_(list.next().data()),
        slots_(options.window),
        board_(board),
        member_(board, seat, options.nodes + 1) {}

  Status run() {
    touch_own();
    GODWIT_CHECK(member_.open(options_.tls, kChaseAm, &Server::on_chase, this));
    while (board_.over.load(std::memory_order_acquire) == 0) member_.progress();
    GODWIT_CHECK(member_.close());
    if (member_.failed()) return fail(ErrorCode::internal, "ucp_am chase: a server's send failed");
    return {};
  }

 private:
  // Page tables are this process's own, and filling them is no part of a chase.
  void touch_own() {
    std::uint64_t sum = 0;
    constexpr std::uint64_t kPage = 4096 / sizeof(std::uint64_t);
    const std::uint64_t begin = options_.elements * seat_ / options_.nodes;
    const std::uint64_t end = options_.elements * (seat_ + 1) / options_.nodes;
    for (std::uint64_t i = begin; i < end; i += kPage) sum += next_[i];
    touched_ = sum;
  }

  static ucs_status_t on_chase(void* self, const void* header, std::size_t size, void*, std::size_t,
                               const ucp_am_recv_param_t*) {
    auto& server = *static_cast<Server*>(self);
    Chase chase;
    if (size != sizeof chase) return UCS_OK;
    std::memcpy(&chase, header, sizeof chase);
    do {
      chase.at = server.next_[chase.at];
      --chase.left;
    } while (server.options_.travels && chase.left > 0 && server.owner_(chase.at) == server.seat_);
    Chase& kept = server.slots_[chase.slot];
    kept = chase;
    const bool back = chase.left == 0 || !server.options_.travels;
    server.member_.send(back ? server.options_.nodes : server.owner_(chase.at), &kept, sizeof kept);
    return UCS_OK;
  }

  const UcpChaseOptions options_;
  const std::size_t seat_;
  const Owners owner_;
  const std::uint64_t* const next_;
  std::vector<Chase> slots_;
  volatile std::uint64_t touched_ = 0;
  Board& board_;
  UcpMember member_;
};

class Client {
 public:
  Client(Board& board, const UcpChaseOptions& options)
      : options_(options),
        owner_{options.elements, options.nodes},
        leap_(ChaseOrder(options.elements).leap(options.depth)),
        starts_(options.elements),
        flights_(options.window),
        times_(options.run.rounds),
        member_(board, options.nodes, options.nodes + 1) {
    arrived_.reserve(options.window);
  }

  Result<Sample> run(Board& board) {
    GODWIT_CHECK(member_.open(options_.tls, kChaseAm, &Client::on_answer, this));
    const Status chased = chase_all();
    const std::uint64_t end_ns = now_ns();
    board.over.store(1, std::memory_order_release);
    GODWIT_CHECK(member_.close());
    GODWIT_CHECK(chased);
    return times_.summarise(end_ns - begin_ns_);
  }

 private:
  struct Flight {
    Chase chase;
    std::uint64_t start = 0;
    std::uint64_t began_ns = 0;
  };

  static ucs_status_t on_answer(void* self, const void* header, std::size_t size, void*,
                                std::size_t, const ucp_am_recv_param_t*) {
    auto& client = *static_cast<Client*>(self);
    Chase chase;
    if (size != sizeof chase) return UCS_OK;
    std::memcpy(&chase, header, sizeof chase);
    client.arrived_.push_back(chase);
    return UCS_OK;
  }

  void send(Flight& flight) {
    member_.send(owner_(flight.chase.at), &flight.chase, sizeof flight.chase);
  }
  void start(std::size_t slot) {
    Flight& flight = flights_[slot];
    flight.start = starts_.next();
    flight.began_ns = now_ns();
    flight.chase = {slot, flight.start, options_.depth};
    send(flight);
  }

  Status chase_all() {
    std::size_t last = options_.run.warm_up_rounds + options_.run.rounds;
    std::size_t started = 0;
    begin_ns_ = now_ns();
    const std::uint64_t first_ns = begin_ns_;
    for (std::size_t slot = 0; slot < flights_.size() && started < last; ++slot, ++started) {
      start(slot);
    }
    for (std::size_t done = 0; done < last;) {
      member_.progress();
      if (member_.failed()) return fail(ErrorCode::internal, "ucp_am chase: a send failed");
      for (const Chase& chase : arrived_) {
        Flight& flight = flights_[chase.slot];
        flight.chase = chase;
        if (chase.left > 0) {
          send(flight);
          continue;
        }
        if (chase.at != leap_.from(flight.start)) {
          return fail(ErrorCode::internal, "ucp_am chase: a chase ended in the wrong place");
        }
        const std::uint64_t ended_ns = now_ns();
        if (++done > options_.run.warm_up_rounds) times_.add(ended_ns - flight.began_ns);
        if (done == options_.run.warm_up_rounds) begin_ns_ = ended_ns;
        if (done > options_.run.warm_up_rounds && ended_ns - first_ns > options_.enough_ns) {
          last = std::min(last, started);
        }
        if (started == last) continue;
        ++started;
        start(chase.slot);
      }
      arrived_.clear();
    }
    return {};
  }

  const UcpChaseOptions options_;
  const Owners owner_;
  const ChaseOrder::Leap leap_;
  ChaseStarts starts_;
  std::vector<Flight> flights_;
  std::vector<Chase> arrived_;
  RoundTrips times_;
  std::uint64_t begin_ns_ = 0;
  UcpMember member_;
};

Status check_options(const UcpChaseOptions& options, const ChaseList& list) {
  const bool good = options.nodes >= 1 && options.nodes <= UcpChaseOptions::kMaxNodes &&
                    options.window >= 1 && options.window <= UcpChaseOptions::kMaxWindow &&
                    options.depth >= 1 && options.elements >= options.nodes &&
                    list.next().size() == options.elements;
  if (good) return {};
  return fail(
      ErrorCode::invalid_argument,
      "ucp_am chase: 1 to {} nodes, 1 to {} in flight, a step or more, and a list of as many "
      "elements as asked for",
      UcpChaseOptions::kMaxNodes, UcpChaseOptions::kMaxWindow);
}

template <class Body>
Result<pid_t> fork_member(const RunOptions& run, const Body& body) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorCode::resource_exhausted, "ucp_am chase: fork: {}", errno_text(errno));
  }
  if (child == 0) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(run.limit_s);
    ::_exit(body());
  }
  return child;
}

// Ends the members that are left, and waits for all.
bool reap(const std::vector<pid_t>& members, bool kill) {
  bool good = true;
  for (const pid_t member : members) {
    if (kill) ::kill(member, SIGKILL);
    int status = 0;
    while (::waitpid(member, &status, 0) < 0 && errno == EINTR) {
    }
    const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!well) kill = true;  // the others would wait for it
    good = good && well;
  }
  return good;
}

Result<Sample> run_members(Board& board, const UcpChaseOptions& options, const ChaseList& list) {
  std::fflush(nullptr);
  std::vector<pid_t> members;
  // The client first: it is the one that says what went wrong.
  const auto client = fork_member(options.run, [&] {
    board.report = Report::of(Client(board, options).run(board));
    return 0;
  });
  if (!client) return tl::unexpected(client.error());
  members.push_back(*client);
  for (std::size_t seat = 0; seat < options.nodes; ++seat) {
    const auto server = fork_member(options.run, [&] {
      const Status served = Server(board, seat, options, list).run();
      if (!served) std::fprintf(stderr, "floors: %s\n", served.error().message.c_str());
      return served ? 0 : 1;
    });
    if (!server) {
      (void)reap(members, true);
      return tl::unexpected(server.error());
    }
    members.push_back(*server);
  }
  if (!reap(members, false)) {
    return fail(ErrorCode::internal,
                "ucp_am chase: a process failed or ran past its limit of {} s; run it alone, with "
                "more time",
                options.run.limit_s);
  }
  return board.report.result();
}

}  // namespace

Result<Sample> measure_ucp_chase(const UcpChaseOptions& options, const ChaseList& list) {
  GODWIT_CHECK(check_options(options, list));
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::out_of_memory, "ucp_am chase: mmap: {}", errno_text(errno));
  }
  auto& board = *::new (memory) Board{};
  auto sample = run_members(board, options, list);
  ::munmap(memory, sizeof(Board));
  return sample;
}

}  // namespace godwit::floors
