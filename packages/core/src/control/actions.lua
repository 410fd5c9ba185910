--[[
Reads the log of actions.
KEYS  [1] the log
ARGV  as in call.lua
Returns the clock; 1, or -1 where the key holds a value of a wrong type; and the entries, the last action first, a line each. A line is
      empty for an entry that is too long to be sent
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local MOST, TOGETHER = 1000, 20 -- entries that are read, and how many at a time
local LONGEST, READ, SENT = 131072, 64000000, 8000000 -- bytes of an entry, of all that are looked at, and of all that are sent
local entries, read, sent = {}, 0, 0
for from = 0, MOST - 1, TOGETHER do
  local some, isWrongType = runTyped("LRANGE", KEYS[1], from, from + TOGETHER - 1)
  if isWrongType then
    return { now, -1, "" }
  end
  for _, entry in ipairs(some) do
    local isSent = #entry <= LONGEST and sent + #entry <= SENT
    read, sent = read + #entry, sent + (isSent and #entry or 0)
    entries[#entries + 1] = isSent and entry or ""
  end
  if #some < TOGETHER or read > READ then
    break
  end
end
return { now, 1, table.concat(entries, "\n") }
