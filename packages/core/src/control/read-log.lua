--[[
Reads the log of actions.
KEYS  [1] the log
ARGV  as in call.lua
Returns the clock; 1, or -1 if the key holds another type; and the entries, newest first, one on each line. The line of an entry
      that is too long to be sent is empty
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local MAX_ENTRIES, BATCH = 1000, 20 -- entries that are read, and how many at a time
local MAX_ENTRY_BYTES, MAX_READ_BYTES, MAX_SENT_BYTES = 131072, 64000000, 8000000
local entries, read, sent = {}, 0, 0
for from = 0, MAX_ENTRIES - 1, BATCH do
  local some, isWrongType = runTyped("LRANGE", KEYS[1], from, from + BATCH - 1)
  if isWrongType then
    return { now, -1, "" }
  end
  for _, entry in ipairs(some) do
    local isSent = #entry <= MAX_ENTRY_BYTES and sent + #entry <= MAX_SENT_BYTES
    read, sent = read + #entry, sent + (isSent and #entry or 0)
    entries[#entries + 1] = isSent and entry or ""
  end
  if #some < BATCH or read > MAX_READ_BYTES then
    break
  end
end
return { now, 1, table.concat(entries, "\n") }
