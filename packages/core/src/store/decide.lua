--[[
Decides requests: all limits of a decision allow, or nothing of it is charged.

KEYS  for each decision, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  as in call.lua; the arguments of a decision: its cost, negative or 0 to only look and not charge; the number of its units,
      negative to tell the limits as they are also when the decision is allowed; then for each unit the description of its
      limits
Returns as in call.lua; for each unit of a decision its birth, then for each of its limits: microseconds to wait (0 allowed,
      -1 never), remaining units, microseconds until unused, microseconds until remaining grows
      The first is -1, and the others are 0, when a key of the decision holds something foreign: nothing of it is charged

Decisions are taken in order, each sees what the earlier ones did, and each changed unit is written once at the end.
]]
--- @include "moment"
--- @include "unit"
--- @include "../algorithms/exact"
local givesBack, refunds = false, nil
local reply, told = { now, 0, 0, 0, 0, 0 }, 1 -- room for one limit; and how many integers are there
local policy, opened, waits = { false }, { false }, { 0 } -- of a decision: its units' limits, the units, the limits' waits

while argumentAt < #ARGV do
  local calls, cost, count = ARGV[argumentAt + 1] + 0, ARGV[argumentAt + 2] + 0, ARGV[argumentAt + 3] + 0
  local charges, asTheyAre = cost > 0, count < 0
  if not charges then
    cost = -cost
  end
  if asTheyAre then
    count = -count
  end
  local spends = asTheyAre and 0 or cost -- by a decision that is allowed
  argumentAt = argumentAt + 3
  for u = 1, count do
    --- @include "read-limits"
    policy[u] = limits
  end

  for _ = 1, calls do
    local allowed, isForeign, waitsTold, decisionAt = true, false, 0, told + 1
    if count == 1 then
      -- As below, without the loops and the tables of several units.
      local limits = policy[1]
      --- @include "ask-unit"
      isForeign, waitsTold = not unit, 0
      --- @include "tell-unit"
    else
      for u = 1, count do
        local limits = policy[u]
        --- @include "ask-unit"
        opened[u] = unit
        isForeign = isForeign or not unit
      end
      waitsTold = 0
      for u = 1, count do
        local limits, unit = policy[u], opened[u]
        --- @include "tell-unit"
      end
    end
  end
end
--- @include "write-units"
return reply
