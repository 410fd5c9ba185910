--[[
Reads the clock.

KEYS  for each call one key, whose server is asked
ARGV  as in call.lua; no arguments
Returns as in call.lua; for each call 0
]]
--- @include "../operations/call" calls
return takeCalls(function()
  add(0)
  keyAt = keyAt + 1
end)
