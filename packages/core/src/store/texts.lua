--[[
Reads strings.

KEYS  where they are
ARGV  none
Returns for each key its string, or an integer: 0 when there is none, -1 when it holds something else
]]
local texts = {}
for i, key in ipairs(KEYS) do
  local text = redis.pcall("GET", key)
  if type(text) ~= "table" then
    texts[i] = text or 0
  elseif string.sub(text.err, 1, 9) == "WRONGTYPE" then
    texts[i] = -1
  else
    return text
  end
end
return texts
