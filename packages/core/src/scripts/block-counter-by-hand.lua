--- @include "advance-counter"
local blockEnds, levelEnds, level, wasBlocked = 0, 0, 0, false
if block then
  blockEnds, levelEnds, level = struct.unpack(">I7I7I1", block)
  wasBlocked = blockEnds > now
end
if span > 0 or wasBlocked then
  -- A block that is there is not made shorter.
  blockEnds, answer = span > 0 and math.max(blockEnds, now + span) or now, 1
  block = struct.pack(">I7I7I1I1", blockEnds, levelEnds, level, 0)
  if blockEnds <= now and levelEnds <= now then
    block, lives = nil, 0
  end
  if not bytes or isAhead then
    --- @digits generation
  end
  --- @include "keep-counter"
end
