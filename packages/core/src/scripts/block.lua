--[[
Blocks counters on an operator's order, or ends their blocks.

KEYS, ARGV  as in counter.lua; after the number of calls: the microseconds of the block, 0 to end the existing one; a random number
Returns for each call 1 if a counter was blocked by it or before, otherwise 0
SCRIPTS.md explains the directives (--- @...) and the names in capitals.
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
    block, keyExpires = nil, 0
  end
  --- @include save
end
