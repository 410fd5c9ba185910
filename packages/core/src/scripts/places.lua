--[[
Renews places, or gives them back. A place that is not on record stays off it.

KEYS  for each call, of its counter: its own, then that of its places
ARGV  [1] the clock, or nothing; then for each run of calls that are alike, as digits: the numbers of the limit, how many calls they
      are, 1 to renew and 0 to give back; then the holders of the places
Returns for each call whether the place of each holder was there, 1 or 0; -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
--- @include "calls"
return reply
