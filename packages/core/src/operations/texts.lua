--[[
Reads strings.

KEYS  the keys of the strings
ARGV  [1] the longest string to read, in bytes
Returns for each key its string, or an integer: 0 if it is absent, -1 if it holds a value of another type, -2 if it is too long
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
