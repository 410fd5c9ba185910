--- @include "advance-counter"
--- @limits overcharge
if not bytes or isAhead then
  --- @digits generation
end
--- @include "keep-counter"
