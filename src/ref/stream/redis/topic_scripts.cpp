// Scripts of producers, and of operators.
#include "ref/stream/redis/scripts.hpp"

namespace godwit::ref::stream {
namespace {

constexpr std::string_view kOpen = R"lua(
local producer, sole, now = ARGV[9], ARGV[10], now_ms()
if not get('id') then
  redis.call('HSET', meta, 'id', ARGV[1], 'type', '0', 'configured', 0, 'end', 0, 'kept', 0,
             'max', ARGV[4], 'groups_awaited', ARGV[8])
end
if ARGV[2] ~= '0' then
  local type = get('type')
  if type ~= '0' and type ~= ARGV[2] then return {'type'} end
  redis.call('HSET', meta, 'type', ARGV[2])
end
if producer ~= '' then
  if ended() then return ended() end
  local current = get('sole')
  local known = redis.call('HGETALL', producers)
  for i = 1, #known, 2 do
    local silent = now - tonumber(string.match(known[i + 1], ' (%d+)'))
    if known[i] ~= producer and silent < kSilentMs and (sole == '1' or known[i] == current) then
      return {'second'}
    end
    if silent > 3600000 then redis.call('HDEL', producers, known[i]) end
  end
  if current and current ~= producer then
    end_topic(kNodeLost, 'its only producer died or left without closing it')
    return ended()
  end
  if sole == '1' then redis.call('HSET', meta, 'sole', producer) end
  redis.call('HSET', producers, producer, '0 ' .. text(now))
end
if ARGV[3] == '1' and get('configured') == '0' then
  redis.call('HSET', meta, 'configured', 1, 'max', ARGV[4], 'replay_items', ARGV[5],
             'replay_bytes', ARGV[6], 'replay_ms', ARGV[7], 'groups_awaited', ARGV[8])
  sweep()
end
return {'ok', get('id'), get('max')}
)lua";

constexpr std::string_view kAppend = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
if ended() then return ended() end
local sequence, image, kind, now = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5]), now_ms()
local known = redis.call('HGET', producers, ARGV[2])
if known and sequence <= tonumber(string.match(known, '^%d+')) then return {'ok', gone} end
local lone_key, lone_value = ARGV[6], ARGV[7]
local count = lone_key and 1 or struct.unpack('<I4', image)
local bytes = lone_key and #lone_key + #lone_value or #image
local first, max, needed = number('end'), number('max'), bytes + 48 * count
if needed > max then return {'too_large', get('max')} end
if number('kept') + needed > max and replays() then trim(needed) end
if number('kept') + needed > max then
  redis.call('HINCRBY', meta, 'refused', 1)
  return {'full', await('room'), get('kept'), get('max'), gone}
end
local timed = number('replay_ms') > 0
local for_nobody = not keeps_all() and not replays() and #groups() == 0
local kept, largest = 0, number('largest')
local function store(offset, key, value)
  local size = #key + #value + 48
  if size > largest then largest = size end
  if for_nobody then
    if kind == 1 then gone[#gone + 1] = value end
    return
  end
  kept = kept + size
  local id = text(offset) .. '-' .. text(2 * size + kind)
  if timed then
    redis.call('XADD', stream, id, 'k', key, 'v', value, 't', text(now))
  else
    redis.call('XADD', stream, id, 'k', key, 'v', value)
  end
end
if lone_key then
  store(first, lone_key, lone_value)
else
  local at = 8 + 8 * count
  for i = 1, count do
    at = at + (-at) % 16
    local middle, last = struct.unpack('<I4I4', image, 1 + 8 * i)
    store(first + i - 1, string.sub(image, middle + 1, last), string.sub(image, at + 1, middle))
    at = last
  end
end
redis.call('HSET', producers, ARGV[2], ARGV[3] .. ' ' .. text(now))
redis.call('HSET', meta, 'end', text(first + count), 'largest', text(largest),
           'kept', text(number('kept') + kept), 'bytes', text(number('bytes') + bytes))
ring('items')
return {'ok', gone}
)lua";

constexpr std::string_view kBeat = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
local known = redis.call('HGET', producers, ARGV[2])
redis.call('HSET', producers, ARGV[2],
           (known and string.match(known, '^%d+') or '0') .. ' ' .. text(now_ms()))
return {'ok'}
)lua";

constexpr std::string_view kResign = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
redis.call('HDEL', producers, ARGV[2])
if get('sole') == ARGV[2] and not ended() then
  end_topic(kNodeLost, 'its only producer left without closing it')
end
return {'ok'}
)lua";

constexpr std::string_view kClose = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
local before = ended()
if before and before[2] ~= 0 then return before end
if not before then end_topic(ARGV[2], ARGV[3]) end
return {'ok'}
)lua";

constexpr std::string_view kStatus = R"lua(
if not get('id') then return {'lost'} end
local alive, now, known = 0, now_ms(), redis.call('HVALS', producers)
for _, one in ipairs(known) do
  if now - tonumber(string.match(one, ' (%d+)')) < kSilentMs then alive = alive + 1 end
end
local facts, last = {}, number('end')
for _, group in ipairs(groups()) do
  local consumers, leased = 0, 0
  for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group.name)) do
    if flat[2] ~= '-' then
      consumers = consumers + 1
      leased = leased + flat[4]
    end
  end
  local counts = redis.call('HMGET', group_key(group.name), 'delivered', 'redelivered', 'filtered')
  facts[#facts + 1] = {group.name, group.next, group.low, last - group.next + group.pending, leased,
                       tonumber(counts[1] or 0), tonumber(counts[2] or 0), tonumber(counts[3] or 0),
                       consumers}
end
return {'ok', oldest(), last, number('bytes'), number('kept'), number('refused'), alive,
        number('ended'), number('error'), facts, get('id')}
)lua";

// Whoever waits is woken, and finds nothing.
constexpr std::string_view kRemove = R"lua(
if get('id') ~= ARGV[1] then return {'lost'} end
local keys = {stream, meta, producers}
for _, group in ipairs(groups()) do
  keys[#keys + 1] = group_key(group.name)
  redis.call('XGROUP', 'DESTROY', stream, group.name)
end
redis.call('HSET', meta, 'groups_awaited', 0, 'replay_items', 0, 'replay_bytes', 0, 'replay_ms', 0)
sweep()
for _, bell in ipairs({'items', 'room'}) do
  ring(bell)
  redis.call('PEXPIRE', stream .. ':' .. bell, kEndedKeptMs)
end
redis.call('UNLINK', unpack(keys))
return {'ok', gone}
)lua";

}  // namespace

std::string_view topic_lua(Script script) noexcept {
  switch (script) {
    case Script::open: return kOpen;
    case Script::append: return kAppend;
    case Script::beat: return kBeat;
    case Script::resign: return kResign;
    case Script::close: return kClose;
    case Script::status: return kStatus;
    case Script::remove: return kRemove;
    default: return {};
  }
}

}  // namespace godwit::ref::stream
