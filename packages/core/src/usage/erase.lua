--[[
Erases subjects from the list of blocks that blocks.lua keeps.

KEYS  for each call the list
ARGV  as in call.lua; the arguments of each call: the number of subjects to erase, and each as a line has it after the time
Returns as in call.lua; for each call 1 if a subject was erased, 0 if none was listed
]]
--- @include "../operations/call" calls
local MAX_BLOCKS_BYTES = 524288
local start = "headgate usage 1\n"

return takeCalls(function()
  local key, count, erased = KEYS[keyAt + 1], tonumber(ARGV[argumentAt + 1]), {}
  for i = 1, count do
    erased[ARGV[argumentAt + 1 + i]] = true
  end
  keyAt, argumentAt = keyAt + 1, argumentAt + 1 + count
  local length, isWrongType = runTyped("STRLEN", key)
  local text = not isWrongType and length > 0 and length <= MAX_BLOCKS_BYTES and redis.call("GET", key) or ""
  local kept, latest, isErased = {}, 0, false
  if string.sub(text, 1, #start) == start then
    for line, ends, blockedSubject in string.gmatch(string.sub(text, #start + 1), "((%d+) ([^\n]+))") do
      if erased[blockedSubject] then
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
