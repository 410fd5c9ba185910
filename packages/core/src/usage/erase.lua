--[[
Erases subjects from the lists of usage that usage.lua keeps, or only counts the lists. All other counts stay, because they name
no subject.

KEYS  for each call the blocks; and for each ten minutes the most frequent subjects, the most denied ones, and the hash of both
ARGV  as in call.lua; the argument of each call is JSON: `spans`, the number of ten minutes; `members` of the subjects; `blocked`,
      members of the blocks; and `isDryRun`
Returns as in call.lua; for each call the number of lists with a subject: ten minutes, and the blocks
]]
--- @include "../operations/call" calls

-- Erases members from a sorted set, unless it is a dry run. Returns whether any was in it; false if the key holds another type.
local function erase(key, members, isDryRun)
  local isFound = false
  for _, score in ipairs(runTyped("ZMSCORE", key, unpack(members)) or {}) do
    isFound = isFound or score ~= false
  end
  if isFound and not isDryRun then
    redis.call("ZREM", key, unpack(members))
  end
  return isFound
end

return takeCalls(function()
  local call = cjson.decode(ARGV[argumentAt + 1])
  local count, fields = erase(KEYS[keyAt + 1], call.blocked, call.isDryRun) and 1 or 0, {}
  for _, member in ipairs(call.members) do
    fields[#fields + 1] = "used " .. member
    fields[#fields + 1] = "denied " .. member
  end
  for at = keyAt + 2, keyAt + 3 * call.spans, 3 do
    local isUsed = erase(KEYS[at], call.members, call.isDryRun)
    local isDenied = erase(KEYS[at + 1], call.members, call.isDryRun)
    if (isUsed or isDenied) and not call.isDryRun then
      runTyped("HDEL", KEYS[at + 2], unpack(fields))
    end
    count = count + ((isUsed or isDenied) and 1 or 0)
  end
  keyAt, argumentAt = keyAt + 1 + 3 * call.spans, argumentAt + 1
  add(count)
end)
