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
local givesBack, refunds = true, {} -- of each limit, by its `report`
local reply, told = { now, 0 }, 1
local policy, births, opened = { false }, { 0 }, { false } -- of a refund: its units' limits, their births then, the units
local waits, allowed, waitsTold = {}, true, 0 -- nobody waits: the units are only opened

while argumentAt < #ARGV do
  local calls, given, charged, count = ARGV[argumentAt + 1] + 0, ARGV[argumentAt + 2] + 0, ARGV[argumentAt + 3] + 0, ARGV[argumentAt + 4] + 0
  argumentAt = argumentAt + 4
  for u = 1, count do
    argumentAt = argumentAt + 1
    births[u] = ARGV[argumentAt] + 0
    --- @include "read-limits"
    policy[u] = limits
  end

  for _ = 1, calls do
    local answer, cost = 0, 0
    for u = 1, count do
      local limits = policy[u]
      --- @include "ask-unit"
      opened[u] = unit
      if not unit then
        answer = -1
      end
    end
    for u = 1, answer < 0 and 0 or count do
      local unit, limits, longest, isGiven = opened[u], policy[u], 0, false
      if unit[BIRTH] == births[u] and charged <= now then
        for i = 2, #limits, 2 do
          isGiven = refunds[limits[i]](unit, given, now - charged) or isGiven
          local _, reset = limits[i](unit, 0)
          longest = math.max(longest, reset)
        end
      end
      if isGiven then
        answer = 1
        --- @include "mark-unit"
      end
    end
    told = told + 1
    reply[told] = answer
  end
end
--- @include "write-units"
return reply
