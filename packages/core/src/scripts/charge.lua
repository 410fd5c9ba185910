--[[
Charges counters, whatever is left of their limits.

KEYS, ARGV  as in counter.lua; behind the number of charges: the units, a random number
Returns for each charge the units that all limits could hold, by name those of each
]]

--- @section answer
local counted = cost
--- @counters charge
answer = counted

--- @section answer-by-name
--- @counters charge
answer = { COUNTED }

--- @section charge
--- @include advance
--- @limits overcharge
--- @include renew
--- @include keep
