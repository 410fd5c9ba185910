--[[
Reads counters, and changes nothing.

KEYS, ARGV  as in counter.lua; after the number of calls: the cost
Returns for each call the clock, then the value of each counter, false for an absent one
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
]]

--- @section answer
--- @counters peek
answer = { now, REPORTED }

--- @section peek
--- @include advance
--- @limits report
value = bytes
