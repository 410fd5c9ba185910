--[[
Looks at counters, and changes nothing.

KEYS, ARGV  as in counter.lua; behind the number of looks: the cost
Returns for each look the clock, then the value of each counter or false
]]

--- @section answer
--- @counters look
answer = { now, REPORTED }

--- @section look
--- @include advance
--- @limits report
value = bytes
