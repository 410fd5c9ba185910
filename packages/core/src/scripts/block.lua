--[[
Blocks counters by hand, or ends their blocks.

KEYS  for each block, of each counter: its own, then that of each sliding log in it
ARGV  [1] the clock, or nothing; then for each run of blocks that are alike, as digits: the numbers of the limits, how many blocks
      they are, the microseconds of each, 0 to end it, a random number
Returns for each block 1 when a counter was blocked, or was until now, 0 when none was, -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
--- @include "calls"
return reply
