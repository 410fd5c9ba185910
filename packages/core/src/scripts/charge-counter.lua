--- @include "advance-counter"
--- @limits overcharge
if not isKnown or isAhead then
  --- @digits generation
end
--- @include "keep-counter"
