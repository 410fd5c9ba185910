--[[
Charges counters regardless of how much of their limits is left.

KEYS, ARGV  as in counter.lua; after the number of charges: the units, a random number
Returns for each charge the units that every limit could hold, or with a cost by name the units of each limit; then, for each counter
        with limits that notify, its value and, for each of those limits, how many thresholds were reached and the units used
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
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
--- @include save
