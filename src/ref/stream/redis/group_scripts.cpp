// Scripts of consumers.
#include "ref/stream/redis/scripts.hpp"

namespace godwit::ref::stream {
namespace {

constexpr std::string_view kJoin = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
local group, consumer, kind, offset = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local key, equals = group_key(group), ARGV[7] == '1' and ARGV[8]
local known = redis.call('HMGET', key, 'prefix', 'equals', 'one_in')
if known[1] then
  if known[1] ~= ARGV[6] or known[2] ~= equals or known[3] ~= ARGV[9] then return {'filter'} end
else
  local last, first = number('end'), oldest()
  if kind == 2 and offset > last then return {'beyond', text(last)} end
  if kind == 2 and offset < first then return {'gone', text(first)} end
  if #groups() >= 1024 then return {'groups'} end
  local from = kind == 0 and first or kind == 1 and last or offset
  redis.call('XGROUP', 'CREATE', stream, group, text(from) .. '-0', 'MKSTREAM')
  redis.call('HSET', key, 'prefix', ARGV[6], 'one_in', ARGV[9], 'lasting', ARGV[10])
  if equals then redis.call('HSET', key, 'equals', equals) end
  local made = redis.call('HINCRBY', meta, 'groups_made', 1)
  if made == number('groups_awaited') and from > first then sweep() end
end
-- Those that died, once others have taken what they had.
for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  if flat[4] == 0 and flat[6] > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, flat[2])
  end
end
redis.call('XGROUP', 'CREATECONSUMER', stream, group, consumer)
return {'ok', gone}
)lua";

// In the image of a batch (batch.hpp), and what each run of it is: first offset, items, deliveries,
// kind. The bytes of large ones come on their own (kind 2), which saves copying them.
constexpr std::string_view kTake = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
local group, consumer, cursor = ARGV[2], ARGV[3], ARGV[7]
local want, room, own = tonumber(ARGV[4]), tonumber(ARGV[5]), group_key(group)
local filter = redis.call('HMGET', own, 'prefix', 'equals', 'one_in')
if not filter[1] then return {'no_group'} end
local prefix, equals, one_in = filter[1], filter[2], tonumber(filter[3])
local accepts_all = prefix == '' and not equals and one_in == 1
local function accepts(offset, key)
  return offset % one_in == 0 and string.sub(key, 1, #prefix) == prefix and
         (not equals or key == equals)
end

local n, bytes, largest = 0, 0, math.max(number('largest'), 1)
local offsets, kinds, deliveries, keys, values = {}, {}, {}, {}, {}
local function fit()
  return math.max(1, math.min(want - n, math.floor((room - bytes) / largest)))
end
local function pick(entry, offset, size, kind, times)
  n = n + 1
  offsets[n], kinds[n], deliveries[n] = offset, kind, times
  keys[n], values[n] = entry[2][2], entry[2][4]
  bytes = bytes + size
end
-- What others had for too long, or gave back.
local claimed = redis.call('XAUTOCLAIM', stream, group, consumer, ARGV[6], cursor, 'COUNT', fit())
local again = #claimed[2]
for _, entry in ipairs(claimed[2]) do
  local pending = redis.call('XPENDING', stream, group, entry[1], entry[1], 1)[1]
  local offset, size, kind = split(entry[1])
  pick(entry, offset, size, kind, pending and pending[4] or 2)
end
local unwanted, scanned, dry = {}, 0, false
while n < want and (bytes < room or n == 0) and scanned < 10000 do
  local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', fit(), 'STREAMS', stream,
                          '>')
  if not read then
    dry = true
    break
  end
  for _, entry in ipairs(read[1][2]) do
    local offset, size, kind = split(entry[1])
    scanned = scanned + 1
    if accepts_all or accepts(offset, entry[2][2]) then
      pick(entry, offset, size, kind, 1)
    else
      unwanted[#unwanted + 1] = entry[1]
    end
  end
end
for from = 1, #unwanted, 1000 do
  redis.call('XACK', stream, group, unpack(unwanted, from, math.min(from + 999, #unwanted)))
end
settle(unwanted, group)
if #unwanted > 0 then redis.call('HINCRBY', own, 'filtered', #unwanted) end

if n == 0 then
  if not dry then return {'again', claimed[1], gone} end
  local sole = not ended() and get('sole')
  if sole then
    local known, now = redis.call('HGET', producers, sole), now_ms()
    local beat = known and tonumber(string.match(known, ' (%d+)')) or 0
    local since = get('suspected')
    if now - beat < kSilentMs then
      redis.call('HDEL', meta, 'suspected')
    elseif not since then
      redis.call('HSET', meta, 'suspected', text(now))
    elseif now - tonumber(since) > kSuspectedMs then
      end_topic(kNodeLost, 'its only producer died or left without closing it')
    end
  end
  if ended() then
    local pending, mine = redis.call('XPENDING', stream, group), 0
    for _, one in ipairs(pending[4] or {}) do
      if one[1] == consumer then mine = tonumber(one[2]) end
    end
    if pending[1] == mine and mine <= tonumber(ARGV[8]) then return ended() end
  end
  return {'none', claimed[1], await('items'), gone}
end
redis.call('HINCRBY', own, 'delivered', n)
if again > 0 then redis.call('HINCRBY', own, 'redelivered', again) end

local zeros, large = {}, {}
for i = 1, 15 do zeros[i] = string.rep('\0', i) end
local runs, index, body, at = {}, {struct.pack('<I4I4', n, 0)}, {}, 8 + 8 * n
for i = 1, n do
  local offset, kind, key, value = offsets[i], kinds[i], keys[i], values[i]
  if kind == 0 and #value > 16384 then
    kind = 2
    large[#large + 1] = value
    value = ''
  end
  local gap, last = (-at) % 16, #runs
  if gap > 0 then body[#body + 1] = zeros[gap] end
  local middle = at + gap + #value
  at = middle + #key
  index[i + 1] = struct.pack('<I4I4', middle, at)
  body[#body + 1] = value
  if #key > 0 then body[#body + 1] = key end
  if last > 0 and kind == 0 and runs[last] == 0 and runs[last - 1] == deliveries[i] and
     runs[last - 3] + runs[last - 2] == offset then
    runs[last - 2] = runs[last - 2] + 1
  else
    runs[last + 1], runs[last + 2], runs[last + 3], runs[last + 4] = offset, 1, deliveries[i], kind
  end
end
return {'items', claimed[1], runs, table.concat(index) .. table.concat(body), gone, large}
)lua";

constexpr std::string_view kOwn = R"lua(
-- Entries of those ranges that this consumer has still.
local function of_ranges(group, consumer, ranges)
  local ids = {}
  for at = 1, #ranges, 16 do
    local first, last = struct.unpack('<I8I8', ranges, at)
    local from, to = text(first) .. '-0', text(last - 1) .. '-18446744073709551615'
    while true do
      local some = redis.call('XPENDING', stream, group, from, to, 1000, consumer)
      for _, one in ipairs(some) do ids[#ids + 1] = one[1] end
      if #some < 1000 then break end
      from = '(' .. some[1000][1]
    end
  end
  return ids
end
local function claim(group, ids, consumer, idle)
  for from = 1, #ids, 1000 do
    local words = {'XCLAIM', stream, group, consumer, 0}
    for i = from, math.min(from + 999, #ids) do words[#words + 1] = ids[i] end
    words[#words + 1] = 'IDLE'
    words[#words + 1] = idle
    words[#words + 1] = 'JUSTID'
    redis.call(unpack(words))
  end
end
-- To nobody, as if that had had them for long.
local function give_back(group, ids)
  claim(group, ids, '-', 4000000000)
  if #ids > 0 then ring('items') end
end
if get('id') ~= ARGV[1] then return {'lost'} end
local group, consumer = ARGV[2], ARGV[3]
if redis.call('EXISTS', group_key(group)) == 0 then return {'no_group'} end
)lua";

constexpr std::string_view kAcked = R"lua(
local done = of_ranges(group, consumer, ARGV[4])
for from = 1, #done, 1000 do
  redis.call('XACK', stream, group, unpack(done, from, math.min(from + 999, #done)))
end
settle(done, group)
local rest = of_ranges(group, consumer, ARGV[5])
if ARGV[6] == 'anew' then claim(group, rest, consumer, 0) end
if ARGV[6] == 'back' then give_back(group, rest) end
return {'ok', gone}
)lua";

constexpr std::string_view kLeave = R"lua(
give_back(group, of_ranges(group, consumer, struct.pack('<I8I8', 0, 9007199254740991)))
redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer)
if redis.call('HGET', group_key(group), 'lasting') == '1' then return {'ok', gone} end
for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  if flat[2] ~= '-' then return {'ok', gone} end
end
redis.call('XGROUP', 'DESTROY', stream, group)
redis.call('DEL', group_key(group))
sweep()
return {'ok', gone}
)lua";

// What consumers have is theirs no more: a group that is made anew has nothing pending.
constexpr std::string_view kSeek = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
local group, kind, offset = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('EXISTS', group_key(group)) == 0 then return {'no_group'} end
local last, first = number('end'), oldest()
if kind == 2 and offset > last then return {'beyond', text(last)} end
if kind == 2 and offset < first then return {'gone', text(first)} end
local from = kind == 0 and first or kind == 1 and last or offset
redis.call('XGROUP', 'DESTROY', stream, group)
redis.call('XGROUP', 'CREATE', stream, group, text(from) .. '-0')
sweep()
ring('items')
return {'ok', gone}
)lua";

constexpr std::string_view kRemoveGroup = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
if redis.call('DEL', group_key(ARGV[2])) == 0 then return {'no_group'} end
redis.call('XGROUP', 'DESTROY', stream, ARGV[2])
sweep()
ring('items')
return {'ok', gone}
)lua";

}  // namespace

std::string_view group_lua(Script script) noexcept {
  static const std::string kAckedWhole = std::string(kOwn) + std::string(kAcked);
  static const std::string kLeaveWhole = std::string(kOwn) + std::string(kLeave);
  switch (script) {
    case Script::join: return kJoin;
    case Script::take: return kTake;
    case Script::acked: return kAckedWhole;
    case Script::seek: return kSeek;
    case Script::leave: return kLeaveWhole;
    case Script::remove_group: return kRemoveGroup;
    default: return {};
  }
}

}  // namespace godwit::ref::stream
