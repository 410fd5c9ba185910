--[[
Reads strings.

KEYS  where they are
ARGV  [1] the bytes of the longest one that is read
Returns for each key its string, or an integer: 0 when there is none, -1 when it holds something else, -2 when it is too long
]]
--- @include "call" typed
local texts, longest = {}, tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  local length, isWrongType = runTyped("STRLEN", key)
  if isWrongType then
    texts[i] = -1
  elseif length > longest then
    texts[i] = -2
  else
    texts[i] = redis.call("GET", key) or 0
  end
end
return texts
