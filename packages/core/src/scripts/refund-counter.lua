if bytes and generation == charged and stamp >= moment and stamp <= now then
  local since, isGiven = now - moment, false
  elapsed = now - stamp
  --- @limits advance
  --- @limits refund
  if isGiven then
    answer = 1
    --- @include "keep-counter"
  end
end
