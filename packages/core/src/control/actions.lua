--[[
Reads the log of actions.

KEYS  [1] the log
ARGV  as in moment.lua
Returns the clock; 1, or -1 where the key holds a value of a wrong type; and the entries, the last action first, a line each
]]
--- @include "../store/moment"
--- @include "../store/run-typed"
local entries, isWrongType = runTyped("LRANGE", KEYS[1], "0", "-1")
if isWrongType then
  return { now, -1, "" }
end
return { now, 1, table.concat(entries, "\n") }
