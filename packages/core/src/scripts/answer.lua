-- Finds the `answer` to a call: -1, and nothing is done, when one of its keys holds something else.
local isWrongType, isBlocked
--- @declare
--- @counters "read-counter"
local answer = -1
if not isWrongType then
  --- @answer
end
