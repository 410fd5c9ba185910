--[[
Decides one request: all of its limits allow, or nothing of it is charged.

KEYS  of each counter: its own, then that of each sliding log in it
ARGV  [1] as digits: the numbers of the limits, a random number, the cost if it is not 1 [2] the clock, if one is given
Returns an answer, as decide.lua says; -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
--- @numbers
local cost = 1
if #DIGITS > COST_AT then
  --- @digits cost
end
--- @include "answer"
return answer
