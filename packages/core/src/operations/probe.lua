--[[
Finds out whether a server can take decisions: it runs scripts, reads its clock and writes. Nothing of it stays, so that a count of
keys is right also while an application starts.

KEYS  for each probe, a key that nobody else uses
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
