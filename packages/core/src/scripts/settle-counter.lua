value = bytes
-- A debt that takes longer to drain than the key lives, since its refill was larger when it was spent, is kept by a denial too.
if isAllowed or isAhead or bytes and (ANY("outlives")) then
  if not bytes or isAhead then
    --- @digits generation
  end
  --- @include "keep-counter"
end
