--[[
What every step reads first, and how it reads and keeps strings.
]]
local DAY = 86400000
local now, clock, birth = nil, ARGV[1], tonumber(ARGV[2])
local argumentAt, keyAt = 2, 0 -- what was read last

-- The server's clock in microseconds, or the one given to tests and replays.
if clock == "" then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
else
  now = tonumber(clock)
end

-- Runs a command that reads a string. Returns its reply, or nil and true when the key holds something else.
local function readString(command, key)
  local reply = redis.pcall(command, key)
  if type(reply) ~= "table" then
    return reply, false
  end
  if string.sub(reply.err, 1, 9) == "WRONGTYPE" then
    return nil, true
  end
  return redis.call(command, key), false -- any other error ends the script, in the server's own words
end

-- The PX of a key that is as good as absent some microseconds from now. Expiry is garbage collection only; on a clock that
-- was given, which may stand still, a key lives for a day at least.
local function expiryAfter(microseconds)
  local milliseconds = math.ceil(microseconds / 1000) + 1
  if clock ~= "" then
    milliseconds = math.max(milliseconds, DAY)
  end
  return string.format("%d", milliseconds)
end
