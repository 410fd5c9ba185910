--[[
Checks whether a server can take decisions: it runs a script, reads the clock and writes. The key is deleted at once, so that the
number of keys stays right while an application starts.

KEYS  for each probe, a key that nothing else uses
ARGV  as in call.lua; a probe has no arguments
Returns as in call.lua; for each probe the integer 1
]]
--- @include "call" calls

return takeCalls(function()
  keyAt = keyAt + 1
  redis.call("SET", KEYS[keyAt], "", "PX", 1000)
  redis.call("DEL", KEYS[keyAt])
  add(1)
end)
