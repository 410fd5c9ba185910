--[[
Sets how targets are doing, by hand.

KEYS  for each order: the key of the target's period, the key of its window
ARGV  as in call.lua; the arguments of an order: the policy; the kind of the period (see period.lua); microseconds that it
      lasts, or its ramp; how often it has opened in a row; 1 to empty the window, 0 to keep it
Returns as in call.lua; for each order the integers that contact.lua returns, with 0 for an answer
]]
--- @include "target"

local function order(target, kind, lasts, opened, empties)
  if not target then
    return addWrongType(NUMBERS)
  end
  local period, policy, id, counts = target.period, target.policy, target.id, target.window
  if kind == CLOSED then
    beginClosed(period, id, counts, lasts)
  elseif kind == OPEN then
    beginOpen(period, policy, id, counts, lasts)
  elseif kind == HALF_OPEN then
    beginHalfOpen(period, id)
  else
    beginByHand(period, kind, id, counts)
  end
  period.opened = opened
  if empties then
    emptyWindow(target)
  end
  writeTarget(target, 0)
end

return takeCalls(function()
  local target, at = nextTarget(), argumentAt
  argumentAt = at + 4
  order(target, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), ARGV[at + 4] == "1")
end)
