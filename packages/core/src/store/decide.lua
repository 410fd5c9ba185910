--[[
Decides requests: all limits of a decision allow, or nothing of it is charged.

KEYS  for each decision, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  as in call.lua; the arguments of a decision: its cost, negative to only look and not charge; the number of its units,
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
local givesBack = false
local asked, opened, waits = {}, {}, {} -- of one decision: the limits of its units, the units, the waits for their limits

while argumentAt < #ARGV do
  local calls, cost, count = ARGV[argumentAt + 1] + 0, ARGV[argumentAt + 2] + 0, ARGV[argumentAt + 3] + 0
  local charges, asTheyAre = cost > 0, count < 0
  cost, count = charges and cost or -cost, asTheyAre and -count or count
  argumentAt = argumentAt + 3
  for u = 1, count do
    --- @include "read-limits"
    asked[u] = limits
  end

  for _ = 1, calls do
    local allowed, isForeign, limitAt = true, false, 0
    for u = 1, count do
      local limits = asked[u]
      --- @include "open-unit"
      opened[u] = unit
      isForeign = isForeign or not unit
      for i = 1, unit and #limits or 0 do
        local limit = limits[i]
        local wait = limit.algorithm.wait(unit, limit.at, limit, cost)
        limitAt = limitAt + 1
        waits[limitAt] = wait
        allowed = allowed and wait == 0
      end
    end

    limitAt = 0
    for u = 1, count do
      local limits, unit = asked[u], opened[u]
      told = told + 1
      if isForeign then
        reply[told] = u == 1 and -1 or 0
        for _ = 1, 4 * #limits do
          told = told + 1
          reply[told] = 0
        end
      else
        reply[told] = unit[BIRTH]
        if allowed and not charges and not asTheyAre then
          --- @include "copy-unit"
        end
        local longest = 0
        for i = 1, #limits do
          local limit = limits[i]
          local algorithm, at = limit.algorithm, limit.at
          if allowed and not asTheyAre then
            algorithm.spend(unit, at, limit, cost)
          end
          local remaining, reset, growth = algorithm.report(unit, at, limit)
          limitAt = limitAt + 1
          reply[told + 1] = waits[limitAt]
          reply[told + 2] = remaining
          reply[told + 3] = reset
          reply[told + 4] = growth
          told = told + 4
          longest = reset > longest and reset or longest
        end
        if allowed and charges then
          if not unit[RESET] then
            changes = changes + 1
            changed[changes] = unit
          end
          unit[RESET] = longest
        end
      end
    end
  end
end
--- @include "write-units"
return reply
