local isHere, since = bytes and generation == charged and stamp >= moment and stamp <= now, now - moment
--- @include "advance-counter"
local isVoid
if block then
  -- What is kept of a charge from before a block that a limit has set counts no more.
  local blockEnds, _, _, setBy = struct.unpack(">I7I7I1I1", block)
  isVoid = setBy > 0 and blockEnds > moment
end
if not isVoid then
  local isSet
  --- @limits judge
  if not bytes or isAhead then
    --- @digits generation
  end
  --- @include "block-counter"
  --- @include "keep-counter"
  if isSet then
    answer = 1
  end
end
