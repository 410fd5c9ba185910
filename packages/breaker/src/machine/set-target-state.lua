--[[
Sets the states of targets by hand.

KEYS  for each change: the key of the target's period, the key of its window
ARGV  as in call.lua; the arguments of a change: the policy (see target.lua); the state (see period.lua); microseconds that an
      open period lasts, or the ramp of a closed one; openings in a row; 1 to empty the window, 0 to keep it
Returns as in call.lua; for each change the integers that sync-target.lua returns, with 0 as the decision
]]
--- @include "target"

local function setTargetState(target, state, durationMicros, openings, emptiesWindow)
  if not target then
    return addWrongType(REPLY_SIZE)
  end
  local period, policy, id, counts = target.period, target.policy, target.id, target.window
  if state == CLOSED then
    beginClosed(period, id, counts, durationMicros)
  elseif state == OPEN then
    beginOpen(period, policy, id, counts, durationMicros)
  elseif state == HALF_OPEN then
    beginHalfOpen(period, id)
  else
    beginManualState(period, state, id, counts)
  end
  period.openings = openings
  if emptiesWindow then
    emptyWindow(target)
  end
  saveTarget(target, 0)
end

return takeCalls(function()
  local target, at = loadTarget(), argumentAt
  argumentAt = at + 4
  setTargetState(target, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), ARGV[at + 4] == "1")
end)
