--[[
Charges counters, whatever is left of their limits.

KEYS  for each charge, of each counter: its own, then that of each sliding log in it
ARGV  [1] the clock, or nothing; then for each run of charges that are alike, as digits: the numbers of the limits, how many
      charges they are, the units, a random number
Returns for each charge the units that all limits could hold, by name those of each; -1 when a key holds something else
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
