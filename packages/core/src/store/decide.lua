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
local algorithms = {}
--- @include "log-entries"
--- @include "../algorithms/exact"
--- @include "../algorithms/token-bucket"
--- @include "../algorithms/fixed-window"
--- @include "../algorithms/sliding-window"
--- @include "../algorithms/sliding-log"
--- @include "unit"

-- Whether all limits of these units allow a cost, and how long each would have to be waited for.
local function ask(asked, cost)
  local allowed, waits = true, {}
  for u = 1, #asked do
    local limits, states = asked[u].limits, asked[u].states
    for i = 1, #limits do
      local wait = limits[i].algorithm.wait(states[i], limits[i].quota, cost)
      waits[#waits + 1] = wait
      allowed = allowed and wait == 0
    end
  end
  return allowed, waits
end

local function decide()
  local cost, count = tonumber(ARGV[argumentAt + 1]), tonumber(ARGV[argumentAt + 2])
  local charge, asTheyAre = cost > 0, count < 0
  argumentAt, cost, count = argumentAt + 2, math.abs(cost), math.abs(count)
  local asked, foreign, size = {}, false, 0
  for u = 1, count do
    local unit, limits = nextUnit()
    asked[u] = unit
    foreign = foreign or not unit
    size = size + 1 + 4 * #limits
  end
  if foreign then
    return tellForeign(size)
  end
  local allowed, waits = ask(asked, cost)
  local limitAt = 0
  for u = 1, #asked do
    local unit = asked[u]
    local limits, states = unit.limits, unit.states
    unit.dirty, unit.reset = unit.dirty or (allowed and charge), 0
    tell(unit.birth)
    for i = 1, #limits do
      local algorithm, quota, state = limits[i].algorithm, limits[i].quota, states[i]
      if allowed and not asTheyAre then
        state = charge and state or algorithm.copy(state)
        algorithm.spend(state, quota, cost)
      end
      local remaining, reset, growth = algorithm.report(state, quota)
      limitAt = limitAt + 1
      tell(waits[limitAt])
      tell(remaining)
      tell(reset)
      tell(growth)
      unit.reset = math.max(unit.reset, reset)
    end
  end
end

takeCalls(decide)
writeChanged()
return reply
