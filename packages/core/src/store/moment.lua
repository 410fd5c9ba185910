--[[
The moment of a call. It is put in where it is needed and not called: Redis runs all of a script at each call, and what takes
most of the time is to make its functions.

ARGV  as in call.lua
]]
local KEYS, ARGV = KEYS, ARGV
local generation = ARGV[2] -- text until it is needed: most calls create nothing
local argumentAt, keyAt, now = 2, 0 -- what was read last, and the clock in microseconds

if ARGV[1] == "" then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
else
  now = ARGV[1] + 0
end
