// Operations of a user's own, for the tests: what docs/ops.md shows.
#include <godwit/mobile.hpp>
#include <godwit/mobile/fold.hpp>
#include <godwit/mobile/update.hpp>

#include <stdexcept>

namespace data_ops {

using godwit::Here;
using godwit::ops::Element;
using godwit::ops::TreePart;

// How many elements are larger than `bound`.
std::uint64_t count_above(Here& here, TreePart part, std::uint64_t bound) {
  return godwit::ops::fold<count_above, std::uint64_t>(
      here, part,
      [&](const auto& region) {
        std::uint64_t count = 0;
        godwit::ops::each(region, [&](std::uint64_t, std::uint64_t x) { count += x > bound; });
        return count;
      },
      [](std::uint64_t& total, std::uint64_t below) { total += below; }, bound);
}
GODWIT_EXPORT(count_above);

// The same, asked for by mobile code at whatever node.
std::uint64_t count_above_in(Here& here, std::string_view name, std::uint64_t bound) {
  return godwit::ops::fold_all<count_above>(here, here.region<std::uint64_t>(name), bound);
}
GODWIT_EXPORT(count_above_in);

// Fails at one shard.
std::uint64_t fail_at(Here& here, TreePart part, std::uint32_t shard) {
  return godwit::ops::fold<fail_at, std::uint64_t>(
      here, part,
      [&](const auto& region) {
        if (region.shard() == shard) throw std::runtime_error("no wish to");
        return std::uint64_t{1};
      },
      [](std::uint64_t& total, std::uint64_t below) { total += below; }, shard);
}
GODWIT_EXPORT(fail_at);

struct Account {
  std::int64_t balance = 0;
  std::uint64_t version = 0;
  std::uint64_t check = 0;  // always balance ^ version
};
GODWIT_STRUCT(Account, balance, version, check);

// Adds to an account; what it had before.
std::int64_t deposit(Here& here, Element at, std::int64_t amount) {
  return godwit::ops::update<Account>(
             here, at,
             [&](Account account) {
               account.balance += amount;
               ++account.version;
               account.check = static_cast<std::uint64_t>(account.balance) ^ account.version;
               return account;
             })
      .balance;
}
GODWIT_EXPORT(deposit, inline_);

std::int64_t deposit_on_worker(Here& here, Element at, std::int64_t amount) {
  return deposit(here, at, amount);
}
GODWIT_EXPORT(deposit_on_worker);

// Not inline_, which a word does not need. What was there before.
std::uint64_t set_bit(Here& here, Element at, std::uint32_t bit) {
  return godwit::ops::update<std::uint64_t>(
      here, at, [&](std::uint64_t bits) { return bits | std::uint64_t{1} << (bit % 64); });
}
GODWIT_EXPORT(set_bit);

}  // namespace data_ops
