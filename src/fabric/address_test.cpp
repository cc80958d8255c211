#include "fabric/address.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit::fabric {
namespace {

TEST(Address, TextFormsRoundTrip) {
  for (const char* text :
       {"shm:/run/godwit/n1.sock", "tcp:127.0.0.1:7400", "tcp:[::1]:0", "tcp:node-3.example:65535",
        "sim:17", "relay:example.org:7443", "relay:[::1]:7443/00c0ffee00c0ffee"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(address->to_string(), text);
  }
}

TEST(Address, PartsAreWhereTheyBelong) {
  const Address address = Address::parse("tcp:[fe80::1]:7400").value();
  EXPECT_EQ(address.scheme, Address::Scheme::tcp);
  EXPECT_EQ(address.host, "fe80::1");
  EXPECT_EQ(address.port, 7400);
  const Address relayed = Address::parse("relay:example.org:7443/00c0ffee00c0ffee").value();
  EXPECT_EQ(relayed.scheme, Address::Scheme::relay);
  EXPECT_EQ(relayed.host, "example.org");
  EXPECT_EQ(relayed.port, 7443);
  EXPECT_EQ(relayed.index, 0x00c0ffee00c0ffeeU);
}

TEST(Address, WrongTextIsRefusedWithTheFormsThatWork) {
  for (const char* text : {"",
                           "n1",
                           "udp:1:2",
                           "tcp:host",
                           "tcp::1",
                           "tcp:host:",
                           "tcp:host:65536",
                           "tcp:host:-1",
                           "tcp:host:1x",
                           "tcp:::1:80",
                           "tcp:a b:1",
                           "shm:",
                           "shm:relative.sock",
                           "sim:",
                           "sim:x",
                           "relay:host",
                           "relay:host:1/",
                           "relay:host:1/xyz",
                           "relay:host:1/0000000000000000",
                           "relay:/00c0ffee00c0ffee"}) {
    const auto address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::bad_address);
    EXPECT_NE(address.error().message.find("tcp:host:port"), std::string::npos);
  }
}

TEST(Address, LoopbackIsOnlyWhatThisHostAloneCanReach) {
  for (const char* text :
       {"shm:/a", "sim:1", "tcp:127.0.0.1:1", "tcp:127.9.9.9:1", "tcp:[::1]:1", "tcp:localhost:1"})
    EXPECT_TRUE(Address::parse(text).value().is_loopback()) << text;
  for (const char* text : {"tcp:0.0.0.0:1", "tcp:[::]:1", "tcp:10.0.0.1:1", "tcp:example.org:1",
                           "tcp:127.example.org:1", "relay:127.0.0.1:1"})
    EXPECT_FALSE(Address::parse(text).value().is_loopback()) << text;
}

}  // namespace
}  // namespace godwit::fabric
