--[[
Gives back what is left of charges, each only into the life of the unit that was charged.

KEYS  for each refund, for each of its units: the unit's key, then the key of each sliding log in it
ARGV  as in call.lua; the arguments of a refund: the cost; the clock at which it was charged; the number of its units; then
      for each unit its birth at that time and the description of its limits
Returns as in call.lua; for each refund one integer: 1 when something was given back, 0 when nothing was left, -1 when a key
      of it holds something foreign; nothing of that refund is given back
]]
--- @include "moment"
--- @include "unit"
--- @include "../algorithms/exact"
local givesBack = true
local asked, births, opened = {}, {}, {} -- of one refund: the limits of its units, their births then, the units

while argumentAt < #ARGV do
  local calls, cost, charged, count = ARGV[argumentAt + 1] + 0, ARGV[argumentAt + 2] + 0, ARGV[argumentAt + 3] + 0, ARGV[argumentAt + 4] + 0
  argumentAt = argumentAt + 4
  for u = 1, count do
    argumentAt = argumentAt + 1
    births[u] = ARGV[argumentAt] + 0
    --- @include "read-limits"
    asked[u] = limits
  end

  for _ = 1, calls do
    local isForeign, given = false, 0
    for u = 1, count do
      local limits = asked[u]
      --- @include "open-unit"
      opened[u] = unit
      isForeign = isForeign or not unit
    end
    for u = 1, isForeign and 0 or count do
      local unit, limits, longest, isGiven = opened[u], asked[u], 0, false
      if unit[BIRTH] == births[u] and charged <= now then
        for i = 1, #limits do
          local limit = limits[i]
          isGiven = limit.algorithm.refund(unit, limit.at, limit, cost, now - charged) or isGiven
          local _, reset = limit.algorithm.report(unit, limit.at, limit)
          longest = reset > longest and reset or longest
        end
      end
      if isGiven then
        given = 1
        if not unit[RESET] then
          changes = changes + 1
          changed[changes] = unit
        end
        unit[RESET] = longest
      end
    end
    told = told + 1
    reply[told] = isForeign and -1 or given
  end
end
--- @include "write-units"
return reply
