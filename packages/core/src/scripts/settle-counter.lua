value = isKnown and bytes or false
-- A debt that takes longer to drain than the key lives, since its refill was larger when it was spent, is kept by a denial too.
if isAllowed or isAhead or isKnown and (ANY("outlives")) then
  if not isKnown or isAhead then
    --- @digits generation
  end
  --- @include "keep-counter"
end
