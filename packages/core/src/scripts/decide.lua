-- Decides one request. Its `answer` is the value of each counter; when it is denied, the clock first, and false for a counter
-- that is absent; -1 when a key holds something else, and nothing is charged.
--- @counters "read-counter"
local answer = -1
if not isWrongType then
  --- @counters "advance-counter"
  local isAllowed = ALL("allows")
  if isAllowed then
    --- @limits charge
  else
    --- @limits report
  end
  --- @counters "settle-counter"
  answer = isAllowed and CHARGED or { now, REPORTED }
end
