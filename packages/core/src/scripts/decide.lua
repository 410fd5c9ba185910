-- Decides one request. The answer is the value of each counter; when it is denied, the clock first, and false for a counter that
-- is absent.
--- @counters "advance-counter"
local isAllowed = not isBlocked and ALL("allows")
if isAllowed then
  --- @limits charge
else
  --- @limits report
  --- @blocking "block-counter"
end
--- @counters "settle-counter"
answer = isAllowed and CHARGED or { now, REPORTED }
