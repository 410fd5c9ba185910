--[[
How a step reads and keeps strings, and how its calls are taken.

ARGV  [1] the clock in microseconds, empty for the server's own (a seam for tests and replays)
      [2] a random number below 2^48: the generation of what is created now
      then for each run of calls that follow each other with equal arguments: how many they are, and the arguments of one
The script returns one array of integers: the clock, then those of each call, in order
]]
--- @include "moment"
local reply, length = { now }, 1
local DAY = 86400000 -- in milliseconds

-- Adds an integer to the reply.
local function add(integer)
  length = length + 1
  reply[length] = integer
end

-- Adds the integers of a call that was not done, because one of its keys holds a value of a wrong type.
local function addWrongType(count)
  add(-1)
  for _ = 2, count do
    add(0)
  end
end

-- Takes each call, from its first argument on. Returns the reply.
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

--- @include "run-typed"

-- The PX of a key that is as good as absent some microseconds from now. Expiry is garbage collection only; on a clock that
-- was given, which may stand still, a key lives for a day at least.
local function expiryAfter(microseconds)
  local milliseconds = math.ceil(microseconds / 1000) + 1
  if ARGV[1] ~= "" then
    milliseconds = math.max(milliseconds, DAY)
  end
  return string.format("%d", milliseconds)
end
