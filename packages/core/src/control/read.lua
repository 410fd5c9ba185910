--[[
Reads control records; a record that the caller has already is not sent again.
KEYS  the records
ARGV  as in call.lua; for each record the version that the caller has, in 16 digits; empty if the caller knows that there is no
      record; anything else if it has read none yet
Returns the clock, then for each record two values: its state, 0 for an unchanged version, 1 for another version, 2 for a value that
      is too long, 3 for a value without a version, -1 for another type; and the record if the state is 1, empty if there is no
      record
]]
--- @include "../operations/call" moment
--- @include "../operations/call" typed
local VERSION_END, MAX_BYTES = 15, 1000000 -- the last byte of the version, and bytes of a record
local reply = { now }
for i, key in ipairs(KEYS) do
  local length, isWrongType = runTyped("STRLEN", key)
  local status, text = 0, ""
  if isWrongType then
    status = -1
  elseif length > MAX_BYTES then
    status = 2
  else
    local version = length > 0 and redis.call("GETRANGE", key, "0", VERSION_END) or ""
    if version ~= ARGV[i + 2] then
      status = (length == 0 or #version == VERSION_END + 1 and not string.find(version, "%D")) and 1 or 3
    end
    if status == 1 and length > 0 then
      text = redis.call("GET", key)
    end
  end
  reply[2 * i] = status
  reply[2 * i + 1] = text
end
return reply
