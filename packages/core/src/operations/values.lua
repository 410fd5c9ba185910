--[[
Reads the values of keys.

KEYS  the keys
ARGV  [1] the command for the size of a value, STRLEN, HLEN or ZCARD; [2] the largest size to read; [3] the most bytes; [4] the
      command that reads a value, and its further arguments
Returns for each key its string, or its list of strings as JSON, which a client reads several times as fast as a list; or an
      integer: 0 if it is absent, -1 if it holds a value of another type, -2 if it is too long
]]
--- @include "call" typed
local values, largest, longest = {}, tonumber(ARGV[2]), tonumber(ARGV[3])
for i, key in ipairs(KEYS) do
  local size, isWrongType = runTyped(ARGV[1], key)
  if isWrongType then
    values[i] = -1
  elseif size == 0 then
    values[i] = 0
  else
    local value = size <= largest and redis.call(ARGV[4], key, unpack(ARGV, 5))
    local text = type(value) == "table" and cjson.encode(value) or value
    values[i] = text and #text <= longest and text or -2
  end
end
return values
