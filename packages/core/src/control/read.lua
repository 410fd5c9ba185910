--[[
Reads control records, each only where it is not known already.

KEYS  the records
ARGV  as in moment.lua; for each record the version that is known, in 16 digits, empty where it is known that there is none, and
      anything else where nothing is known
Returns the clock, then for each record two values: 0 for the version that is known, 1 for another, -1 for a value of a wrong type;
      and the record where it is another version, empty where there is none
]]
--- @include "../store/moment"
local VERSION = 15 -- the last byte of the version

-- The version of a record; nil where the key holds something else.
local function readVersion(key)
  local version = redis.pcall("GETRANGE", key, "0", VERSION)
  if type(version) ~= "table" then
    return version
  end
  if string.sub(version.err, 1, 9) == "WRONGTYPE" then
    return nil
  end
  return redis.call("GETRANGE", key, "0", VERSION) -- any other error ends the script, in the server's own words
end

local reply = { now }
for i, key in ipairs(KEYS) do
  local version, status, text = readVersion(key), 0, ""
  if not version then
    status = -1
  elseif version ~= ARGV[i + 2] then
    status, text = 1, redis.call("GET", key) or ""
  end
  reply[2 * i] = status
  reply[2 * i + 1] = text
end
return reply
