--[[
Erases subjects from the list of blocks that blocks.lua keeps.

KEYS  for each call the list
ARGV  as in call.lua; the arguments of each call: how many there are to be erased, and each as a line has it behind its time
Returns as in call.lua; for each call 1 when one was erased, 0 when none was there
]]
--- @include "../operations/call" calls
local LONGEST_BLOCKS = 524288 -- bytes of the list that is read
local start = "headgate usage 1\n"

return takeCalls(function()
  local key, count, erased = KEYS[keyAt + 1], tonumber(ARGV[argumentAt + 1]), {}
  for i = 1, count do
    erased[ARGV[argumentAt + 1 + i]] = true
  end
  keyAt, argumentAt = keyAt + 1, argumentAt + 1 + count
  local length, isWrongType = runTyped("STRLEN", key)
  local text = not isWrongType and length > 0 and length <= LONGEST_BLOCKS and redis.call("GET", key) or ""
  local kept, latest, isErased = {}, 0, false
  if string.sub(text, 1, #start) == start then
    for line, ends, who in string.gmatch(string.sub(text, #start + 1), "((%d+) ([^\n]+))") do
      if erased[who] then
        isErased = true
      else
        kept[#kept + 1] = line
        latest = math.max(latest, tonumber(ends))
      end
    end
  end
  if isErased and #kept == 0 then
    redis.call("DEL", key)
  elseif isErased then
    local rest = math.max(0, latest * 1000000 - now)
    redis.call("SET", key, start .. table.concat(kept, "\n"), "PX", expiryAfter(rest))
  end
  add(isErased and 1 or 0)
end)
