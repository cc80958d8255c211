#include "ref/stream/redis/scripts.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

namespace godwit::ref::stream {
namespace {

ScriptText make(Script script) {
  // Whoever takes away may do so when the server's memory is full, too.
  const bool grows = script == Script::open || script == Script::append || script == Script::join;
  const std::string_view topic = topic_lua(script);
  ScriptText made;
  made.text = fmt::format("#!lua{}\n{}{}", grows ? "" : " flags=allow-oom", common_lua(),
                          topic.empty() ? group_lua(script) : topic);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  ::SHA1(reinterpret_cast<const unsigned char*>(made.text.data()), made.text.size(), digest.data());
  for (const unsigned char byte : digest) made.sha += fmt::format("{:02x}", byte);
  return made;
}

}  // namespace

const ScriptText& script_text(Script script) {
  static const auto kTexts = [] {
    std::array<ScriptText, static_cast<std::size_t>(Script::remove_group) + 1> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = make(static_cast<Script>(i));
    return texts;
  }();
  return kTexts[static_cast<std::size_t>(script)];
}

std::string_view common_lua() noexcept {
  return R"lua(
local stream = KEYS[1]
local meta = stream .. ':meta'
local producers = stream .. ':producers'
local kSilentMs, kSuspectedMs, kEndedKeptMs = 6000, 4000, 60000
local kNodeLost = 300

local function get(field) return redis.call('HGET', meta, field) end
local function number(field) return tonumber(get(field) or 0) end
local function text(value) return string.format('%.0f', value) end
local function group_key(name) return stream .. ':group:' .. name end
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
-- Offset, size and kind.
local function split(id)
  local offset, rest = string.match(id, '^(%d+)%-(%d+)$')
  rest = tonumber(rest)
  return tonumber(offset), math.floor(rest / 2), rest % 2
end

-- Whoever finds nothing says so, and waits for an entry after the one that is named here.
local function await(which)
  redis.call('HSET', meta, which .. '_awaited', 1)
  return get(which .. '_rung') or '0-0'
end
local function ring(which)
  if redis.call('HDEL', meta, which .. '_awaited') == 0 then return end
  local id = redis.call('XADD', stream .. ':' .. which, 'MAXLEN', 1, '*', 'x', '')
  redis.call('HSET', meta, which .. '_rung', id)
end

-- The stream's groups: next is the first offset that was given to nobody, low the first not acked.
local function groups()
  local all = {}
  if redis.call('EXISTS', stream) == 0 then return all end
  for _, flat in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local group = {}
    for i = 1, #flat, 2 do group[flat[i]] = flat[i + 1] end
    local offset, size, kind = split(group['last-delivered-id'])
    group.next = size + kind == 0 and offset or offset + 1
    group.low = group.next
    if group.pending > 0 then group.low = split(redis.call('XPENDING', stream, group.name)[2]) end
    all[#all + 1] = group
  end
  return all
end

local function ended()
  if get('ended') ~= '1' then return nil end
  return {'ended', number('error'), get('why') or '', number('end')}
end
-- When nothing is left of a topic that has ended, it goes after a while.
local function finish()
  if not ended() then return end
  ring('items')
  if number('kept') > 0 then return end
  local keys = {stream, meta, producers, stream .. ':items', stream .. ':room'}
  for _, group in ipairs(groups()) do keys[#keys + 1] = group_key(group.name) end
  for _, key in ipairs(keys) do redis.call('PEXPIRE', key, kEndedKeptMs) end
end
local function end_topic(code, why)
  redis.call('HSET', meta, 'ended', 1, 'error', code, 'why', why)
  ring('items')
  ring('room')
  finish()
end

-- --- What goes ---

local gone = {}  -- handles of items that went
-- All that are older than `low`, if that is known, go with them: nobody wants any of those.
local function drop(ids, low)
  if #ids == 0 then return end
  local bytes, single = 0, {}
  for _, id in ipairs(ids) do
    local offset, size, kind = split(id)
    bytes = bytes + size
    if kind == 1 then
      local entry = redis.call('XRANGE', stream, id, id)[1]
      if entry then gone[#gone + 1] = entry[2][4] end
    end
    if not low or offset >= low then single[#single + 1] = id end
  end
  if #single < #ids then redis.call('XTRIM', stream, 'MINID', '=', text(low) .. '-0') end
  for from = 1, #single, 1000 do
    redis.call('XDEL', stream, unpack(single, from, math.min(from + 999, #single)))
  end
  redis.call('HINCRBY', meta, 'kept', text(-bytes))
  ring('room')
end
local function keeps_all() return number('groups_made') < number('groups_awaited') end
local function replays()
  return number('replay_items') + number('replay_bytes') + number('replay_ms') > 0
end

-- With replay, the oldest go first: those that everybody has acked, and that are not to be kept or
-- stand in the way of so many bytes.
local function trim(needed)
  if keeps_all() then return end
  local last, max, low = number('end'), number('max'), number('end')
  local items, bytes, ms = number('replay_items'), number('replay_bytes'), number('replay_ms')
  for _, group in ipairs(groups()) do low = math.min(low, group.low) end
  local now = now_ms()
  while true do
    local kept, ids = number('kept'), {}
    local some = redis.call('XRANGE', stream, '-', '+', 'COUNT', 16)
    for _, entry in ipairs(some) do
      local offset, size = split(entry[1])
      local stays = last - offset <= items or kept - size < bytes or
                    (ms > 0 and now - tonumber(entry[2][6]) < ms)
      if offset >= low or (stays and kept + needed <= max) then break end
      ids[#ids + 1] = entry[1]
      kept = kept - size
    end
    drop(ids)
    if #ids < 16 then return end
  end
end
local function wanted(all, but, id, offset)
  for _, group in ipairs(all) do
    if group.name ~= but then
      if offset >= group.next then return true end
      if group.pending > 0 and offset >= group.low and
         #redis.call('XPENDING', stream, group.name, id, id, 1) > 0 then return true end
    end
  end
  return false
end
-- That group is done with these.
local function settle(ids, group)
  if #ids > 0 and not keeps_all() then
    if replays() then
      trim(0)
    else
      local all, free, low = groups(), {}, number('end')
      for _, one in ipairs(all) do low = math.min(low, one.low) end
      if #all == 1 then
        free = ids
      else
        for _, id in ipairs(ids) do
          local offset = split(id)
          if not wanted(all, group, id, offset) then free[#free + 1] = id end
        end
      end
      drop(free, low)
    end
  end
  finish()
end
-- Something else has changed: all of it is looked at.
local function sweep()
  if keeps_all() then return end
  if replays() then return trim(0) end
  local all, free, from = groups(), {}, '-'
  while true do
    local some = redis.call('XRANGE', stream, from, '+', 'COUNT', 16)
    for _, entry in ipairs(some) do
      local offset = split(entry[1])
      if not wanted(all, nil, entry[1], offset) then free[#free + 1] = entry[1] end
    end
    if #some < 16 then break end
    from = '(' .. some[16][1]
  end
  drop(free)
  finish()
end
local function oldest()
  local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  return first and split(first[1]) or number('end')
end
)lua";
}

}  // namespace godwit::ref::stream
