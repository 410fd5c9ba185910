--[[
Looks at counters, and changes nothing.

KEYS, ARGV  as in counter.lua; behind the number of looks: the cost
Returns for each look the clock, then the value of each counter or false
]]

--- @section answer
--- @counters peek
answer = { now, REPORTED }

--- @section peek
--- @include advance
--- @limits report
value = bytes
