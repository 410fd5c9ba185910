--[[
Reads strings.

KEYS  where they are
ARGV  none
Returns for each key its string, or an integer: 0 when there is none, -1 when it holds something else
]]
--- @include "run-typed"
local texts = {}
for i, key in ipairs(KEYS) do
  local text, isWrongType = runTyped("GET", key)
  texts[i] = isWrongType and -1 or text or 0
end
return texts
