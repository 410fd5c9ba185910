--[[
Sets how targets are doing, by hand.

KEYS  for each order: the key of the target's period, the key of its window
ARGV  [1] the clock in microseconds, empty for the server's own (a seam for tests and replays)
      [2] a random number below 2^48: what begins now is told from what was before by it
      then for each order: the policy; the kind of the period (see period.lua); microseconds that it lasts, or its ramp;
      how often it has opened in a row; 1 to empty the window, 0 to keep it
Returns for each order the array that contact.lua returns, with 0 for an answer
]]
--- @include "target"

local function order(target, kind, lasts, opened, empties)
  if not target then
    return { -1 }
  end
  local period, policy, id, counts = target.period, target.policy, target.id, target.window
  if kind == CLOSED then
    beginClosed(period, id, counts, lasts)
  elseif kind == OPEN then
    beginOpenFor(period, policy, id, counts, lasts)
  elseif kind == HALF_OPEN then
    beginHalfOpen(period, id)
  else
    beginByHand(period, kind, id, counts)
  end
  period.opened = opened
  if empties then
    emptyWindow(target)
  end
  return writeTarget(target, 0)
end

local replies = {}
while argumentAt < #ARGV do
  local target, at = nextTarget(), argumentAt
  argumentAt = at + 4
  replies[#replies + 1] =
    order(target, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), ARGV[at + 4] == "1")
end
return replies
