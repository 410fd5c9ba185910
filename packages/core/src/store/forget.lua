--[[
Forgets counters, but not that they are blocked by hand.

KEYS  the keys of the counters, each followed by those of its logs
ARGV  as in call.lua; the arguments of each call: how many counters it is of, then for each the number of its keys, and the
      length of its value without a block
Returns as in call.lua; for each call one integer: 1 when there was anything to forget, 0 when not
]]
--- @include "call"
local BLOCK = 16 -- bytes of a block: see read-blocked.lua
local YEAR = 31622400000000 -- microseconds of 366 days, the longest block
local LAST_SECOND = 4294967295 -- 2^32 - 1

-- What stays of a counter, and the PX of its key; nil when nothing does.
local function blockByHand(bytes, width)
  if not bytes or #bytes ~= width + BLOCK then
    return nil
  end
  local stamp, generation = struct.unpack(">I7I4", bytes)
  local blockEnds, _, _, setBy = struct.unpack(">I7I7I1I1", bytes, width + 1)
  -- Where the clock stepped back, nobody waits longer than before.
  local left = blockEnds - math.max(stamp, now)
  if setBy ~= 0 or left <= 0 or left > YEAR then
    return nil
  end
  local life = expiryAfter(left)
  local lives = math.floor(math.min((now / 1000 + life) / 1000, LAST_SECOND))
  local header = struct.pack(">I7I4I4", now, (generation + 1) % 4294967296, lives)
  return header .. string.rep("\0", width - #header) .. struct.pack(">I7I7I1I1", now + left, 0, 0, 0), life
end

return takeCalls(function()
  local deleted, counters = 0, tonumber(ARGV[argumentAt + 1])
  argumentAt = argumentAt + 1
  for _ = 1, counters do
    local key, keys, width = KEYS[keyAt + 1], tonumber(ARGV[argumentAt + 1]), tonumber(ARGV[argumentAt + 2])
    local kept, life = blockByHand(readString("GET", key), width)
    for _ = 1, keys do
      keyAt = keyAt + 1
      deleted = math.max(deleted, redis.call("DEL", KEYS[keyAt]))
    end
    if kept then
      redis.call("SET", key, kept, "PX", life)
    end
    argumentAt = argumentAt + 2
  end
  add(deleted)
end)
