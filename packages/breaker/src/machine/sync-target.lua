--[[
Contacts targets: reports how calls ended, asks for one more, and learns how the target is doing, all at once.

KEYS  for each contact: the key of the target's period, the key of its window
ARGV  as in call.lua; the arguments of a contact: the policy; the period in which the calls were admitted, -1 for any; how
      they ended, as the window counts it, or nothing; the lease of a trial call, 0 for none; how that ended: 0, and 1 more
      for a failure, 2 more for a slow call, -1 for a call that says nothing; 1 to ask for a call, 0 not to
Returns as in call.lua; for each contact twelve integers:
      the kind of the period (see period.lua); its number; microseconds until it changes by time alone; how often it opened
      in a row; calls, failures, slow calls that caused it; calls, failures, slow calls in the window; the answer: 0 no, -1
      yes, or the lease of a trial call; 1 when this contact began the period
      The first is -1, and the others are 0, when a key holds a value of a wrong type: nothing of that contact is done
]]
--- @include "target"

local function contact(target, admitted, outcomes, lease, outcome, asks)
  if not target then
    return addWrongType(NUMBERS)
  end
  local period, policy = target.period, target.policy
  if outcomes ~= "" and isCounted(period, admitted) then
    policy.window.add(target.window, outcomes, now, policy.size)
    target.window.dirty = true
    judge(period, policy, target.id, target.window)
  end
  if lease ~= 0 and settle(period, policy, target.id, lease, outcome) then
    emptyWindow(target)
  end
  writeTarget(target, asks and ask(period, policy, target.id) or 0)
end

return takeCalls(function()
  local target, at = nextTarget(), argumentAt
  argumentAt = at + 5
  contact(
    target, tonumber(ARGV[at + 1]), ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), ARGV[at + 5] == "1"
  )
end)
