--[[
Looks at counters, and changes nothing.

KEYS  for each look, of each counter: its own, then that of each sliding log in it
ARGV  as in decide-batch.lua
Returns for each look the clock, then the value of each counter or false; -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
--- @include "calls"
return reply
