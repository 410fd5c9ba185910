--[[
Blocks counters by hand, or ends their blocks.

KEYS, ARGV  as in counter.lua; behind the number of blocks: the microseconds of each, 0 to end it, a random number
Returns for each block 1 when a counter was blocked, or was until now, 0 when none was
]]

--- @section answer
answer = 0
--- @counters block-by-hand

--- @section block-by-hand
--- @include advance
local blockEnds, levelEnds, level, wasBlocked = 0, 0, 0, false
if block then
  blockEnds, levelEnds, level = struct.unpack(">I7I7I1", block)
  wasBlocked = blockEnds > now
end
if span > 0 or wasBlocked then
  -- An existing block never becomes shorter.
  blockEnds, answer = span > 0 and math.max(blockEnds, now + span) or now, 1
  block = struct.pack(">I7I7I1I1", blockEnds, levelEnds, level, 0)
  if blockEnds <= now and levelEnds <= now then
    block, lives = nil, 0
  end
  --- @include renew
  --- @include keep
end
