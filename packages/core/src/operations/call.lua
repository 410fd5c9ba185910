--[[
The sections shared by the scripts that are not composed. Each script includes the sections that it needs.

ARGV  [1] the clock in microseconds, empty for the server's own (passed by tests and replays)
      [2] a random number below 2^48: the generation of what the script creates
      then, for scripts with the section `calls`, for each run of consecutive calls with equal arguments: the number of calls, and the
      arguments of one. These scripts return one array of integers: the clock, then the integers of each call, in order
]]

--- @section moment
-- The clock of a call. Not a function: Redis runs the whole script at each call, and creating functions takes most of that time.
local KEYS, ARGV = KEYS, ARGV
local generation = ARGV[2] -- text until it is needed: most calls create nothing
local argumentAt, keyAt, now = 2, 0 -- the last argument read, and the clock in microseconds

if ARGV[1] == "" then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
else
  now = ARGV[1] + 0
end

--- @section typed
-- Runs a command on a key. Returns its reply, or nil and true when the key holds a value of another type.
local function runTyped(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= "table" or not reply.err then
    return reply, false
  end
  if string.sub(reply.err, 1, 9) == "WRONGTYPE" then
    return nil, true
  end
  return redis.call(command, key, ...), false -- any other error fails the script, with the server's own error
end

--- @section calls
--- @include "call" moment
local reply, length = { now }, 1
local DAY = 86400000 -- in milliseconds

-- Adds an integer to the reply.
local function add(integer)
  length = length + 1
  reply[length] = integer
end

-- Adds the integers of a call that does nothing because one of its keys holds a value of the wrong type.
local function addWrongType(count)
  add(-1)
  for _ = 2, count do
    add(0)
  end
end

-- Runs each call, starting at its first argument. Returns the reply.
local function takeCalls(take)
  while argumentAt < #ARGV do
    local calls, from = tonumber(ARGV[argumentAt + 1]), argumentAt + 1
    for _ = 1, calls do
      argumentAt = from
      take()
    end
  end
  return reply
end

--- @include "call" typed

-- The PX of a key whose value becomes equivalent to an absent one after some microseconds. Expiry is garbage collection only. With a
-- supplied clock, which may stand still, a key lives for at least a day.
local function expiryAfter(microseconds)
  local milliseconds = math.ceil(microseconds / 1000) + 1
  if ARGV[1] ~= "" then
    milliseconds = math.max(milliseconds, DAY)
  end
  return string.format("%d", milliseconds)
end
