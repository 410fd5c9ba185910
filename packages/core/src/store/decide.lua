--[[
Decides requests: all limits of a decision allow, or nothing of it is charged.

KEYS  for each decision, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  [1] the clock in microseconds, empty for the server's own (a seam for tests and replays)
      [2] a random number below 2^48: the birth of units that are created now
      then for each decision: its cost, negative to only look and not charge; the number of its units, negative to tell
      the limits as they are also when the decision is allowed; then for each unit the description of its limits
Returns for each decision an array of integers:
      1 allowed, 0 denied; the clock; then for each unit its birth; then for each of its limits: microseconds to wait
      (0 allowed, -1 never), remaining units, microseconds until unused, microseconds until remaining grows
      or the single integer -1 when a key of it holds something foreign; nothing of that decision is charged

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

local function decide(cost, charge, count, asTheyAre)
  local asked, foreign = {}, false
  for u = 1, count do
    asked[u] = nextUnit()
    foreign = foreign or not asked[u]
  end
  if foreign then
    return { -1 }
  end
  local allowed, waits = ask(asked, cost)
  local reply, limitAt, size = { allowed and 1 or 0, now }, 0, 2
  for u = 1, #asked do
    local unit = asked[u]
    local limits, states = unit.limits, unit.states
    unit.dirty, unit.reset = unit.dirty or (allowed and charge), 0
    size = size + 1
    reply[size] = unit.birth
    for i = 1, #limits do
      local algorithm, quota, state = limits[i].algorithm, limits[i].quota, states[i]
      if allowed and not asTheyAre then
        state = charge and state or algorithm.copy(state)
        algorithm.spend(state, quota, cost)
      end
      local remaining, reset, growth = algorithm.report(state, quota)
      limitAt = limitAt + 1
      reply[size + 1], reply[size + 2], reply[size + 3], reply[size + 4] = waits[limitAt], remaining, reset, growth
      size = size + 4
      unit.reset = math.max(unit.reset, reset)
    end
  end
  return reply
end

local replies = {}
while argumentAt < #ARGV do
  local cost, count = tonumber(ARGV[argumentAt + 1]), tonumber(ARGV[argumentAt + 2])
  argumentAt = argumentAt + 2
  replies[#replies + 1] = decide(math.abs(cost), cost > 0, math.abs(count), count < 0)
end
writeChanged()
return replies
