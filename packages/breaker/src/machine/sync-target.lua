--[[
Syncs targets: each sync reports how calls ended, requests a call, and reads the state of the target.

KEYS  for each sync: the key of the target's period, the key of its window
ARGV  as in call.lua; the arguments of a sync: the policy (see target.lua); the id of the period in which the calls were
      admitted, -1 for any; their outcomes, encoded for the window, empty for none; the lease id of a trial call that has
      ended, 0 for none; its outcome: 0, plus 1 for a failure, plus 2 for a slow call, or -1 to ignore it; 1 to request a
      call, 0 not to
Returns as in call.lua; for each sync 12 integers:
      the state (see period.lua); the id of the period; microseconds until the state changes by time alone; openings in a
      row; calls, failures and slow calls that caused the state; calls, failures and slow calls in the window; the decision:
      0 rejected, -1 allowed, or the lease id of a trial call; 1 if this sync began the period, else 0
      If a key holds a value of the wrong type, the sync changes nothing, and returns -1 followed by zeros
]]
--- @include "target"

local function syncTarget(target, admittedIn, outcomes, leaseId, outcome, requestsCall)
  if not target then
    return addWrongType(REPLY_SIZE)
  end
  local period, policy = target.period, target.policy
  if outcomes ~= "" and acceptsOutcomes(period, admittedIn) then
    policy.window.add(target.window, outcomes, now, policy.windowSize)
    target.window.isDirty = true
    openIfThresholdsExceeded(period, policy, target.id, target.window)
  end
  if leaseId ~= 0 and endTrialCall(period, policy, target.id, leaseId, outcome) then
    emptyWindow(target)
  end
  saveTarget(target, requestsCall and requestCall(period, policy, target.id) or 0)
end

return takeCalls(function()
  local target, at = loadTarget(), argumentAt
  argumentAt = at + 5
  syncTarget(
    target, tonumber(ARGV[at + 1]), ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), ARGV[at + 5] == "1"
  )
end)
