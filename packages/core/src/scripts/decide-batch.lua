--[[
Decides requests one after the other: each sees what the earlier ones did. A key is written once, at the end.

KEYS  for each request, of each counter: its own, then that of each sliding log in it
ARGV  [1] the clock, or nothing; then for each run of requests that are alike, as digits: the numbers of the limits, how many
      requests they are, the cost, a random number
Returns for each request an answer, as decide.lua says; -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
local values, lifetimes = {}, {}
--- @include "calls"
--- @include "put-all"
return reply
