--[[
Charges counters, whatever is left of their limits.

KEYS, ARGV  as in counter.lua; behind the number of charges: the units, a random number
Returns for each charge the units that all limits could hold, by name those of each; then, of each counter that notifies, its value
        and, for each limit that does, how many thresholds are told, and the units used
]]

--- @section answer
local counted = cost
--- @counters charge
answer = COUNTED

--- @section answer-by-name
--- @counters charge
answer = { COUNTED }

--- @section charge
--- @include advance
--- @limits overcharge
--- @include renew
--- @include keep
