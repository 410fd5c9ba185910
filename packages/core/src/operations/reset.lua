--[[
Resets counters, except for manual blocks.

KEYS  the keys of the counters, each followed by those of its logs and marks
ARGV  as in call.lua; the arguments of each call: the number of counters, then for each the number of its keys, and a digit for each
      byte of its states: 1 for the bytes that stay if the counter is blocked, because they are times and not amounts
Returns as in call.lua; for each call one integer: 1 if there was anything to reset, otherwise 0
]]
--- @include "call" calls
local HEADER_BYTES, BLOCK_BYTES = 15, 16 -- bytes before and after the states: see counter.lua
local YEAR = 31622400000000 -- microseconds of 366 days, the longest block

-- The value of a counter that keeps nothing but its manual block; nil if it has none.
local function manualBlock(bytes, digits)
  local width = HEADER_BYTES + #digits
  if not bytes or #bytes ~= width + BLOCK_BYTES then
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
    states = states .. (string.sub(digits, i, i) == "1" and string.sub(bytes, HEADER_BYTES + i, HEADER_BYTES + i) or "\0")
  end
  return string.sub(bytes, 1, 7)
    .. struct.pack(">I4", (generation + 1) % 4294967296)
    .. string.sub(bytes, 12, HEADER_BYTES)
    .. states
    .. struct.pack(">I7I7I1I1", blockEnds, 0, 0, 0)
end

return takeCalls(function()
  local deleted, counters = 0, tonumber(ARGV[argumentAt + 1])
  argumentAt = argumentAt + 1
  for _ = 1, counters do
    local key, keys, digits = KEYS[keyAt + 1], tonumber(ARGV[argumentAt + 1]), ARGV[argumentAt + 2]
    local remainder = manualBlock(runTyped("GET", key), digits)
    if remainder then
      redis.call("SETRANGE", key, "0", remainder)
      deleted = 1
    end
    for i = remainder and 2 or 1, keys do
      deleted = math.max(deleted, redis.call("DEL", KEYS[keyAt + i]))
    end
    keyAt, argumentAt = keyAt + keys, argumentAt + 2
  end
  add(deleted)
end)
