--[[
Forgets units.

KEYS  the keys of the units and of their logs
ARGV  [1] and [2] are not used; then for each call the number of its keys
Returns for each call an array of one integer: 1 when there was anything to forget, 0 when not
]]
local replies, position = {}, 0
for i = 3, #ARGV do
  local deleted = 0
  for _ = 1, tonumber(ARGV[i]) do
    position = position + 1
    deleted = math.max(deleted, redis.call("DEL", KEYS[position]))
  end
  replies[#replies + 1] = { deleted }
end
return replies
