--[[
Gives back what is left of charges, each only into the life of the unit that was charged.

KEYS  for each refund, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  as in call.lua; the arguments of a refund: the cost; the clock at which it was charged; the number of its units; then
      for each unit its birth at that time and the description of its limits
Returns as in call.lua; for each refund one integer: 1 when something was given back, 0 when nothing was left, -1 when a key
      of it holds something foreign; nothing of that refund is given back
]]
local algorithms = {}
--- @include "log-entries"
--- @include "../algorithms/exact"
--- @include "../algorithms/token-bucket"
--- @include "../algorithms/fixed-window"
--- @include "../algorithms/sliding-window"
--- @include "../algorithms/sliding-log"
--- @include "unit"

-- Gives back to one unit. Returns whether there was anything left to give.
local function giveBack(unit, cost, charged, born)
  local given = false
  if unit.birth ~= born or charged > now then
    return given
  end
  unit.reset = 0
  for i, limit in ipairs(unit.limits) do
    given = limit.algorithm.refund(unit.states[i], limit.quota, cost, now - charged) or given
    local _, reset = limit.algorithm.report(unit.states[i], limit.quota)
    unit.reset = math.max(unit.reset, reset)
  end
  unit.dirty = unit.dirty or given
  return given
end

local function refund()
  local cost, charged, count = tonumber(ARGV[argumentAt + 1]), tonumber(ARGV[argumentAt + 2]), tonumber(ARGV[argumentAt + 3])
  local asked, births, foreign, given = {}, {}, false, false
  argumentAt = argumentAt + 3
  for u = 1, count do
    argumentAt = argumentAt + 1
    births[u] = tonumber(ARGV[argumentAt])
    asked[u] = nextUnit()
    foreign = foreign or not asked[u]
  end
  if foreign then
    return tell(-1)
  end
  for u = 1, count do
    given = giveBack(asked[u], cost, charged, births[u]) or given
  end
  tell(given and 1 or 0)
end

takeCalls(refund)
writeChanged()
return reply
