--[[
Looks at counters, and changes nothing.

KEYS  for each look, of each counter: its own, then that of each sliding log in it
ARGV  as in decide-batch.lua
Returns for each look the clock, then the value of each counter or false; -1 when a key holds something else
]]
local call = redis.call
--- @include "moment"
local reply, done, keyAt = {}, 0, 0
for run = 2, #ARGV do
  --- @numbers
  for _ = 1, requests do
    local isWrongType = false
    --- @declare
    --- @counters "read-counter"
    local answer = -1
    if not isWrongType then
      --- @counters "look-counter"
      answer = { now, REPORTED }
    end
    done, keyAt = done + 1, keyAt + KEY_COUNT
    reply[done] = answer
  end
end
return reply
