#include "node/machine.hpp"

#include <gtest/gtest.h>

#include "fleet/limits.hpp"

namespace godwit::node {
namespace {

TEST(Machine, ReadsTheCpusNameWhereTheSystemHasOne) {
  EXPECT_EQ(cpu_name_in("processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast CPU @ 3 GHz\n"
                        "processor\t: 1\nmodel name\t: Slow CPU\n"),
            "Fast CPU @ 3 GHz");
  EXPECT_EQ(cpu_name_in("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"),
            "Arm implementer 0x41 part 0xd40");
  EXPECT_EQ(cpu_name_in(""), "");
  EXPECT_EQ(cpu_name_in("model name without a value"), "");
}

TEST(Machine, ANameAlwaysFitsIntoANodeRecord) {
  fleet::NodeRecord record;
  record.id = NodeId{1};
  record.epoch = Epoch{1};
  record.name = "n";
  record.target.cpu = cpu_name_in("model name\t: caf\xC3\xA9\x1B[31m" + std::string(500, 'x'));
  EXPECT_TRUE(fleet::validate(record)) << fleet::validate(record).error().message;
  EXPECT_EQ(record.target.cpu.size(), fleet::kMaxTargetFieldBytes);
  record.target.cpu = cpu_name();
  EXPECT_TRUE(fleet::validate(record));
}

TEST(Machine, HasCoresAndMemory) {
  EXPECT_GT(capacities().cores, 0U);
  EXPECT_GT(capacities().memory_bytes, 0U);
}

}  // namespace
}  // namespace godwit::node
