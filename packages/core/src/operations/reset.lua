--[[
Forgets counters, but not that they are blocked by hand.

KEYS  the keys of the counters, each followed by those of its logs and marks
ARGV  as in call.lua; the arguments of each call: how many counters it is of, then for each the number of its keys, and a digit for
      each byte of its states: 1 for those that are kept where it is blocked, since they say when something is, and not how much
Returns as in call.lua; for each call one integer: 1 when there was anything to forget, 0 when not
]]
--- @include "call" calls
local HEADER, BLOCK = 15, 16 -- bytes in front of the states, and behind them: see counter.lua
local YEAR = 31622400000000 -- microseconds of 366 days, the longest block

-- The remainder of a counter; nil if nothing is left.
local function blockByHand(bytes, digits)
  local width = HEADER + #digits
  if not bytes or #bytes ~= width + BLOCK then
    return nil
  end
  local stamp, generation = struct.unpack(">I7I4", bytes)
  local blockEnds, _, _, setBy = struct.unpack(">I7I7I1I1", bytes, width + 1)
  local left = blockEnds - math.max(stamp, now)
  if setBy ~= 0 or left <= 0 or left > YEAR then
    return nil
  end
  local states = ""
  for i = 1, #digits do
    states = states .. (string.sub(digits, i, i) == "1" and string.sub(bytes, HEADER + i, HEADER + i) or "\0")
  end
  return string.sub(bytes, 1, 7)
    .. struct.pack(">I4", (generation + 1) % 4294967296)
    .. string.sub(bytes, 12, HEADER)
    .. states
    .. struct.pack(">I7I7I1I1", blockEnds, 0, 0, 0)
end

return takeCalls(function()
  local deleted, counters = 0, tonumber(ARGV[argumentAt + 1])
  argumentAt = argumentAt + 1
  for _ = 1, counters do
    local key, keys, digits = KEYS[keyAt + 1], tonumber(ARGV[argumentAt + 1]), ARGV[argumentAt + 2]
    local kept = blockByHand(runTyped("GET", key), digits)
    if kept then
      redis.call("SETRANGE", key, "0", kept)
      deleted = 1
    end
    for i = kept and 2 or 1, keys do
      deleted = math.max(deleted, redis.call("DEL", KEYS[keyAt + i]))
    end
    keyAt, argumentAt = keyAt + keys, argumentAt + 2
  end
  add(deleted)
end)
