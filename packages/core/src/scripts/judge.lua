--[[
Counts what is kept of charges that were settled, and blocks counters of which as much is kept as a limit grants.

KEYS  for each charge, of each counter: its own, then that of each sliding log in it
ARGV  [1] the clock, or nothing; then for each run of charges that are alike, as digits: the numbers of the limits, how many
      charges they are, the units that are kept, those that were charged, the clock at which they were, the generation of each
      counter then, the rules of the limits that block, a random number
Returns for each charge 1 when a block was set, 0 when none was, -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
--- @include "calls"
return reply
