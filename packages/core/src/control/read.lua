--[[
Reads control records, each only where it is not known already.

KEYS  the records
ARGV  as in moment.lua; for each record the version that is known, in 16 digits, empty where it is known that there is none, and
      anything else where nothing is known
Returns the clock, then for each record two values: 0 for the version that is known, 1 for another, -1 for a value of a wrong type;
      and the record where it is another version, empty where there is none
]]
--- @include "../store/moment"
--- @include "../store/run-typed"
local VERSION = 15 -- the last byte of the version

local reply = { now }
for i, key in ipairs(KEYS) do
  local version, isWrongType = runTyped("GETRANGE", key, "0", VERSION)
  local status, text = 0, ""
  if isWrongType then
    status = -1
  elseif version ~= ARGV[i + 2] then
    status, text = 1, redis.call("GET", key) or ""
  end
  reply[2 * i] = status
  reply[2 * i + 1] = text
end
return reply
