--[[
The moment of a call, and its reply. Put in where it is needed rather than called: to make functions is what takes the time of
a script, since Redis runs all of it at each call.

ARGV  as in call.lua
]]
local DAY = 86400000 -- in milliseconds
local birth = ARGV[2] -- text until it is needed: most calls create nothing
local now

-- The server's clock in microseconds, or the one given to tests and replays.
if ARGV[1] == "" then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
else
  now = ARGV[1] + 0
end
local reply, told = { now }, 1 -- how many integers of the reply are there
local argumentAt, keyAt = 2, 0 -- what was read last
