--[[
Looks at counters, and changes nothing.

KEYS  for each look, of each counter: its own, then that of each sliding log in it
ARGV  [1] the clock, or nothing; then for each run of looks that are alike, as digits: the numbers of the limits, how many looks they
      are, the cost
Returns for each look the clock, then the value of each counter or false; -1 when a key holds something else
]]

--- @section answer
--- @counters look
answer = { now, REPORTED }

--- @section look
--- @include advance
--- @limits report
value = bytes
