--[[
Reads control records, each only where it is not known already.
KEYS  the records
ARGV  as in call.lua; for each record the version that is known, in 16 digits, empty where it is known that there is none, and
      anything else where nothing is known
Returns the clock, then for each record two values: 0 for the version that is known, 1 for another, 2 for a value that is too long to
      be read, 3 for one without a version, -1 for a value of a wrong type; and the record where the first is 1, empty where there is
      none
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local VERSION, LONGEST = 15, 1000000 -- the last byte of the version, and the bytes of the longest record
local reply = { now }
for i, key in ipairs(KEYS) do
  local length, isWrongType = runTyped("STRLEN", key)
  local status, text = 0, ""
  if isWrongType then
    status = -1
  elseif length > LONGEST then
    status = 2
  else
    local version = length > 0 and redis.call("GETRANGE", key, "0", VERSION) or ""
    if version ~= ARGV[i + 2] then
      status = (length == 0 or #version == VERSION + 1 and not string.find(version, "%D")) and 1 or 3
    end
    if status == 1 and length > 0 then
      text = redis.call("GET", key)
    end
  end
  reply[2 * i] = status
  reply[2 * i + 1] = text
end
return reply
