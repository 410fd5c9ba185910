--[[
Replaces entries of the log of actions.

KEYS  [1] the log
ARGV  as in call.lua; then two for each entry to replace: the stored entry, and its replacement
Returns the clock, and the number of replaced entries, or -1 if the key holds another type
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local log, replacements, replaced = KEYS[1], {}, 0
local TTL = 7776000000 -- milliseconds: 90 days

local MAX_ENTRIES = 1000
local entries, isWrongType = runTyped("LRANGE", log, "0", MAX_ENTRIES - 1)
if isWrongType then
  return { now, -1 }
end
for i = 3, #ARGV, 2 do
  replacements[ARGV[i]] = ARGV[i + 1]
end
for _, entry in ipairs(entries) do
  replaced = replaced + (replacements[entry] and 1 or 0)
end
if replaced == 0 then
  return { now, 0 }
end
-- Changes nothing, but fails without permission to trim, so that no entry is duplicated. The new entries come first: a script
-- that fails is not rolled back.
redis.call("LTRIM", log, "0", "-1")
for i = #entries, 1, -1 do
  redis.call("LPUSH", log, replacements[entries[i]] or entries[i])
end
redis.call("LTRIM", log, "0", #entries - 1)
redis.call("PEXPIRE", log, TTL)
return { now, replaced }
