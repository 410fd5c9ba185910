value = isKnown and bytes or false
if isAllowed or isAhead then
  if not isKnown or isAhead then
    --- @digits generation
  end
  --- @include "keep-counter"
end
