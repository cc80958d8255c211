// The pieces the transport is made of.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/ucx/cells.hpp"
#include "fabric/ucx/devices.hpp"
#include "fabric/ucx/idle_backoff.hpp"
#include "fabric/ucx/link_table.hpp"
#include "fabric/ucx/signals.hpp"

namespace godwit::fabric::ucx {
namespace {

Address tcp(std::string host) {
  return {.scheme = Address::Scheme::tcp, .host = std::move(host)};
}

TEST(UcxDevices, LoopbackAddressesMeanTheLoopbackInterfaceAlone) {
  for (const char* host : {"127.0.0.1", "127.0.0.5", "::1", "localhost"}) {
    const auto devices = devices_for(tcp(host));
    ASSERT_TRUE(devices) << devices.error().message;
    EXPECT_EQ(devices->net, "lo");
    EXPECT_EQ(devices->tls, "tcp");
  }
}

TEST(UcxDevices, TheAnyAddressMeansAllAndAnUnknownHostIsRefused) {
  const auto all = devices_for(tcp("0.0.0.0"));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->net, "all");
  const auto unknown = devices_for(tcp("host.invalid"));  // a name that never resolves
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unreachable);
}

TEST(UcxDevices, AnAddressOfAnotherMachineMeansTheInterfaceThatLeadsThere) {
  const auto devices = devices_for(tcp("192.0.2.1"));  // reserved for documentation
  if (!devices) {
    EXPECT_EQ(devices.error().code, ErrorCode::bad_address) << "no route: the machine is offline";
    return;
  }
  EXPECT_NE(devices->net, "lo");
  EXPECT_NE(devices->net, "all");
}

TEST(UcxSignals, UcxKeepsNoSignalAndTheProgramsHandlerStays) {
  const auto handler_of = [](int number) {
    struct sigaction current{};
    ::sigaction(number, nullptr, &current);
    return current.sa_handler;
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto own = +[](int) {};
    ::signal(SIGFPE, own);
    give_back_signals();
    const auto of_bus = handler_of(SIGBUS);
    give_back_signals();  // nothing left to give
    ::_exit(handler_of(SIGFPE) == own && handler_of(SIGBUS) == of_bus ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(UcxCells, AQueueIsFirstInFirstOut) {
  struct Cell {
    Cell* next = nullptr;
    int value = 0;
  };
  Cell cells[3] = {{nullptr, 0}, {nullptr, 1}, {nullptr, 2}};
  CellQueue<Cell> queue;
  EXPECT_EQ(queue.pop(), nullptr);
  for (int round = 0; round < 2; ++round) {
    for (Cell& cell : cells) queue.push(&cell);
    EXPECT_EQ(queue.size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.pop()->value, i);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop(), nullptr);
  }
}

TEST(UcxCells, APoolReusesItsCells) {
  CellPool<SendCell> pool;
  SendCell* const first = pool.acquire();
  pool.release(first);
  EXPECT_EQ(pool.acquire(), first);
  pool.release(first);
}

TEST(UcxLinkTable, AnOldIdOfAReusedSlotMisses) {
  LinkTable table(2);
  Link* const first = table.add();
  const LinkId old = first->id;
  EXPECT_TRUE(table.set_token(*first, 11));
  EXPECT_EQ(table.find_token(11), first);
  EXPECT_EQ(table.find_token(11), first);
  table.remove(*first);
  EXPECT_EQ(table.find_token(11), nullptr);
  Link* const second = table.add();
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.find(second->id), second);
  EXPECT_NE(table.add(), nullptr);
  EXPECT_EQ(table.add(), nullptr) << "two links are allowed";
}

TEST(UcxLinkTable, ATokenBelongsToOneLink) {
  LinkTable table(2);
  Link* const first = table.add();
  Link* const second = table.add();
  EXPECT_TRUE(table.set_token(*first, 5));
  EXPECT_FALSE(table.set_token(*second, 5));
  EXPECT_FALSE(table.set_token(*second, 0)) << "zero is no token";
  EXPECT_EQ(table.find_token(0), nullptr);
  table.clear_token(*first);
  EXPECT_TRUE(table.set_token(*second, 5));
  EXPECT_EQ(table.find_token(5), second);
}

TEST(UcxIdleBackoff, AsksEveryTurnUntilIdleForAWhileAndAgainAfterTraffic) {
  IdleBackoff backoff;
  for (std::uint32_t i = 0; i < IdleBackoff::kPatience; ++i) {
    ASSERT_TRUE(backoff.should_ask());
    backoff.found_nothing();
  }
  std::uint32_t asked = 0;
  for (std::uint32_t i = 0; i < 10 * IdleBackoff::kStride; ++i) {
    if (!backoff.should_ask()) continue;
    backoff.found_nothing();
    ++asked;
  }
  EXPECT_EQ(asked, 10U);
  backoff.found_something();
  EXPECT_TRUE(backoff.should_ask());
  EXPECT_TRUE(backoff.should_ask());
}

}  // namespace
}  // namespace godwit::fabric::ucx
