--[[
Forgets counters.

KEYS  the keys of the counters and of their logs
ARGV  as in call.lua; the argument of each call: the number of its keys
Returns as in call.lua; for each call one integer: 1 when there was anything to forget, 0 when not
]]
--- @include "call"

return takeCalls(function()
  local deleted = 0
  argumentAt = argumentAt + 1
  for _ = 1, tonumber(ARGV[argumentAt]) do
    keyAt = keyAt + 1
    deleted = math.max(deleted, redis.call("DEL", KEYS[keyAt]))
  end
  add(deleted)
end)
