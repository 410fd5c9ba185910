-- Finds the `answer` to a call: -1, and nothing is done, when one of its keys holds something else. The script ends with the clock
-- as its answer, and nothing is done, where the times that a call brings are not around it.
local isWrongType, isBlocked
--- @declare
--- @limits present
--- @counters "read-counter"
local answer = -1
if not isWrongType then
  --- @answer
end
