--[[
Reads the log of actions.

KEYS  [1] the log
ARGV  as in moment.lua
Returns the clock; 1, or -1 where the key holds a value of a wrong type; and the entries, the last action first, a line each
]]
--- @include "../store/moment"
local entries = redis.pcall("LRANGE", KEYS[1], "0", "-1")
if entries.err and string.sub(entries.err, 1, 9) == "WRONGTYPE" then
  return { now, -1, "" }
end
if entries.err then
  entries = redis.call("LRANGE", KEYS[1], "0", "-1") -- any other error ends the script, in the server's own words
end
return { now, 1, table.concat(entries, "\n") }
